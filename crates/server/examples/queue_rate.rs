//! How fast the queue of PostgreSQL is: `queue_rate URL JOBS WORKERS` adds jobs without work to an empty
//! database, has workers claim and end them, and prints both rates.

#![allow(clippy::disallowed_macros)]

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hprof_server::catalogue::{
    Catalogue, CatalogueError, Claim, DumpKind, Ending, NewDump, Outcome, PostgresCatalogue, Queue,
};
use hprof_server::ids::{ContentHash, DumpId};

/// Threads of each process that is played.
const THREADS: u64 = 8;
/// The lease of a job.
const LEASE: Duration = Duration::from_secs(30);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: queue_rate URL JOBS WORKERS");
    let (url, jobs, workers) = (next()?, next()?.parse::<u64>()?, next()?.parse::<u64>()?);
    let open = || {
        PostgresCatalogue::open(
            url.parse()
                .map_err(|_| CatalogueError::Failed(url.clone()))?,
        )
    };
    let catalogues: Vec<_> = (0..workers).map(|_| open()).collect::<Result<_, _>>()?;
    let (added, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    everywhere(&catalogues, |catalogue| {
        loop {
            let number = added.fetch_add(1, Ordering::Relaxed);
            if number >= jobs {
                return Ok(());
            }
            catalogue.add_dump(&dump(number))?;
        }
    })?;
    println!(
        "added_per_second {:.0}",
        jobs as f64 / began.elapsed().as_secs_f64()
    );
    let began = Instant::now();
    everywhere(&catalogues, |catalogue| {
        let claim = Claim {
            worker: "queue_rate",
            room: u64::MAX,
            lease: LEASE,
        };
        while let Some(job) = catalogue.claim(&claim)? {
            let done = Ending::Done(Outcome {
                kind: DumpKind::Profile,
                headline: None,
                summary: None,
                figures: None,
            });
            if catalogue.end(job.id, job.attempt, &done)? {
                ended.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    })?;
    println!("done {}", ended.into_inner());
    println!(
        "drained_per_second {:.0}",
        jobs as f64 / began.elapsed().as_secs_f64()
    );
    Ok(())
}

fn dump(number: u64) -> NewDump {
    let mut bytes = [0; 32];
    // The first 16 digits name a dump.
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    let sha256 = ContentHash::of_bytes(bytes);
    NewDump {
        id: DumpId::of_hash(&sha256),
        name: format!("{number}.hprof"),
        bytes: 1,
        sha256,
        stripped: false,
        strippings: Vec::new(),
        note: String::new(),
    }
}

/// Does work in all threads of all processes that are played.
fn everywhere(
    catalogues: &[PostgresCatalogue],
    work: impl Fn(&PostgresCatalogue) -> Result<(), CatalogueError> + Sync,
) -> Result<(), Box<dyn Error>> {
    thread::scope(|scope| {
        let work = &work;
        let start = |catalogue| scope.spawn(move || work(catalogue));
        let threads = catalogues
            .iter()
            .flat_map(|it| (0..THREADS).map(move |_| it));
        let threads: Vec<_> = threads.map(start).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}
