//! A fleet over object storage that fails, while machines are killed and the database restarts.
//!
//! `HPROF_RS_FLEET=60:20-800 cargo test --release -p hprof-rs --test serve failing_storage` takes 60 dumps
//! of 20 to 800 MB, 40 GB of disk and about 30 minutes; without it there are a few small ones.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::machines::{Fleet, Worker, report_of_one_machine};
use crate::made_dump::MadeDump;
use crate::s3::Fault;
use crate::server::{Server, eventually};
use crate::support::{run, stderr, stdout};
use crate::uploads::{begin, break_off, offset, send};

/// The variable with the number of dumps and their sizes in megabytes.
const VARIABLE: &str = "HPROF_RS_FLEET";
/// Bytes of a dump for each round of [`MadeDump`].
const ROUND_BYTES: u64 = 620;
/// How long a dump of 20 MB may take, with all that is killed meanwhile.
const PATIENCE: Duration = Duration::from_secs(240);

/// The numbers of dumps, and the sizes of the smallest and the largest in bytes.
fn wanted() -> (u64, u64, u64) {
    let Ok(text) = env::var(VARIABLE) else {
        return (6, 2_000_000, 4_000_000);
    };
    let parsed = text.split_once(':').and_then(|(count, sizes)| {
        let (least, most) = sizes.split_once('-')?;
        let number = |text: &str| text.parse::<u64>().ok();
        Some((number(count)?, number(least)?, number(most)?))
    });
    let (count, least, most) = parsed.expect("COUNT:MEGABYTES-MEGABYTES");
    (count, least * 1_000_000, most * 1_000_000)
}

/// A dump that is made again when it is compared, so that the disk need not hold all of them twice.
struct Source {
    path: PathBuf,
    made: MadeDump,
}

impl Source {
    fn new(fleet: &Fleet, name: &str, rounds: u64) -> Self {
        let made = MadeDump {
            rounds,
            note_bytes: 208,
        };
        let path = fleet.scene.path(name);
        Self { path, made }
    }

    /// Does something with the file.
    fn with<T>(&self, act: impl FnOnce(&Path) -> T) -> T {
        self.made.write(&self.path).unwrap();
        let done = act(&self.path);
        fs::remove_file(&self.path).unwrap();
        done
    }

    fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }
}

/// Dumps from the smallest size to the largest, none like another.
fn sources(fleet: &Fleet, count: u64, least: u64, most: u64) -> Vec<Source> {
    let make = |number: u64| {
        // Most are small, as in a fleet.
        let part = (number as f64 / (count - 1).max(1) as f64).powi(2);
        let size = least + ((most - least) as f64 * part) as u64;
        let name = format!("heap-{number}.hprof");
        Source::new(fleet, &name, size / ROUND_BYTES + number)
    };
    (0..count).map(make).collect()
}

/// Sends a dump straight to the storage, or through the server, and gives its id.
fn capture(fleet: &Fleet, server: &Server, file: &Path, through: bool) -> String {
    let url = format!("http://{}", server.address);
    let file = file.to_str().unwrap();
    let mut command = fleet
        .scene
        .hprof_rs(&["capture", file, "--server", &url, "--no-wait"]);
    // A silence of the storage takes twice this, as what the kernel took before it counts as progress.
    command.args(["--silence", "10"]);
    if through {
        command.arg("--through-server");
    }
    let sent = run(command.env("HPROF_RS_TOKEN", &server.token), "");
    assert!(sent.status.success(), "{}", stderr(&sent));
    stdout(&sent).trim().rsplit('/').next().unwrap().to_owned()
}

#[test]
fn every_dump_is_analysed_once_whatever_the_storage_does() {
    let (count, least, most) = wanted();
    let seconds = if most > 100_000_000 { 20 } else { 2 };
    // The largest and its index, which is as large, and another: not all that a machine has seen.
    let Some(mut fleet) = Fleet::over_storage(seconds, most * 3) else {
        return;
    };
    let mut files = sources(&fleet, count, least, most);
    let faults = {
        let storage = fleet.storage.as_ref().unwrap();
        std::sync::Arc::clone(&storage.faults)
    };
    let kinds = [
        Fault::Internal,
        Fault::SlowDown,
        Fault::Silence,
        Fault::Truncated,
    ];
    faults.set(11, &kinds);
    let (one, two) = (fleet.server("one"), fleet.server("two"));
    let names = ["a", "b", "c"];
    let mut workers: Vec<Worker> = Vec::new();
    let mut ids = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let server = if number % 2 == 0 { &one } else { &two };
        ids.push(file.with(|path| capture(&fleet, server, path, number % 3 == 0)));
        if ids.len() != files.len().min(20) {
            continue;
        }
        // Each worker is killed in the middle of a job. One at a time, as three could be done with all jobs before.
        for name in names {
            fleet.worker(name, "2").kill_at_work();
        }
        workers = names.map(|name| fleet.worker(name, "2")).into();
    }

    // A server is killed while an upload comes. Its pieces are on its disk until it is complete.
    let last = Source::new(&fleet, "heap.hprof", 2000);
    let bytes = last.with(|path| fs::read(path).unwrap());
    let path = begin(&one, bytes.len());
    break_off(&one, &path, 0, bytes.len(), &bytes[..bytes.len() / 2]);
    eventually("half of the upload", || {
        (offset(&one, &path) > 0).then_some(())
    });
    one.kill();
    let one = fleet.server("one");
    let answer = eventually("the end of the upload", || {
        let at = offset(&one, &path);
        let answer = send(&one, &path, at, &bytes[at..]);
        // The storage may be silent for longer than the server asks it; a sender tries again.
        let is_storage = answer.status == 503 && answer.text().contains("storage-unavailable");
        assert!(is_storage || answer.status == 204, "{}", answer.text());
        (answer.status == 204).then_some(answer)
    });
    ids.push(answer.header("hprof-dump").to_owned());
    files.push(last);

    assert!(workers.iter().all(Worker::is_ready));
    fleet.cluster.stop();
    two.get("/api/v1/dumps")
        .assert_problem(503, "database-away");
    fleet.cluster.resume();

    let began = Instant::now();
    let patience = PATIENCE * u32::try_from(1 + count * (least + most) / 40_000_000).unwrap();
    let left = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')";
    while fleet.ask(left) != "0" {
        assert!(
            began.elapsed() < patience,
            "{}",
            fleet.ask("SELECT dump, state, attempt, error FROM jobs")
        );
        sleep(Duration::from_millis(200));
    }
    for (number, (id, file)) in ids.iter().zip(&files).enumerate() {
        let server = if number % 2 == 0 { &two } else { &one };
        let dump = server.wait_for(id, "done");
        assert_eq!(dump["name"], file.name());
        let report = server.get(&format!("/api/v1/dumps/{id}/report"));
        assert_eq!(report.status, 200, "{}", report.text());
        let expected = file.with(|path| report_of_one_machine(&fleet.scene, path));
        assert!(
            report.body == expected,
            "{id} differs from the report of one machine"
        );
    }
    let all = files.len();
    let sum =
        "SELECT count(*), count(DISTINCT dump), count(*) FILTER (WHERE state = 'done') FROM jobs";
    assert_eq!(fleet.ask(sum), format!("{all}|{all}|{all}"));
    let attempts: usize = fleet.ask("SELECT sum(attempt) FROM jobs").parse().unwrap();
    assert!(
        attempts >= all + 3,
        "{attempts} attempts, and three workers were killed"
    );
    let happened = faults.happened.load(Ordering::Relaxed) as usize;
    assert!(happened >= all, "{happened} faults happened");
}
