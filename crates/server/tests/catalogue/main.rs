//! The catalogue: one contract, kept by a file and by PostgreSQL, and the promises to a fleet.

#![allow(clippy::disallowed_macros)]

mod contract;
mod figures;
mod fleet;
mod outage;
#[path = "../support/postgres.rs"]
mod postgres;
mod pushed;

use std::time::Duration;

use hprof_server::catalogue::{
    Added, Catalogue, Claim, Job, JobError, NewDump, PostgresCatalogue, SqliteCatalogue,
};
use hprof_server::ids::{ContentHash, DumpId, JobId};

/// A lease that no test outlives.
const LONG: Duration = Duration::from_secs(600);

fn error() -> JobError {
    JobError {
        title: "a".to_owned(),
        detail: "b".to_owned(),
        can_retry: true,
    }
}

fn new_dump(number: u16) -> NewDump {
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&number.to_be_bytes());
    let sha256 = ContentHash::of_bytes(bytes);
    NewDump {
        id: DumpId::of_hash(&sha256),
        name: format!("{number}.hprof"),
        bytes: u64::from(number),
        sha256,
        stripped: false,
        strippings: Vec::new(),
        note: String::new(),
    }
}

/// Adds a dump, and gives its job.
fn add(catalogue: &dyn Catalogue, dump: &NewDump) -> JobId {
    match catalogue.add_dump(dump).unwrap() {
        Added::New(job) => job,
        Added::Known => panic!("{} was there", dump.name),
    }
}

/// Claims the next job.
fn claim(catalogue: &dyn Catalogue) -> Option<Job> {
    claim_as(catalogue, "test:1", LONG)
}

fn claim_as(catalogue: &dyn Catalogue, worker: &str, lease: Duration) -> Option<Job> {
    let room = u64::MAX;
    let claim = Claim {
        worker,
        room,
        lease,
    };
    catalogue.claim(&claim).unwrap()
}

fn open(address: &str) -> PostgresCatalogue {
    let opened = PostgresCatalogue::open(address.parse().unwrap()).unwrap();
    opened.with_back_off(Duration::ZERO)
}

#[test]
fn a_file_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    for (name, promise) in contract::ALL {
        let path = folder.path().join(format!("{name}.db"));
        println!("{name}");
        promise(&SqliteCatalogue::open(&path).unwrap());
    }
}

#[test]
fn postgresql_keeps_the_contract() {
    let Some(cluster) = postgres::Cluster::start() else {
        return;
    };
    for (name, promise) in contract::ALL {
        println!("{name}");
        promise(&open(&cluster.database(name)));
    }
}
