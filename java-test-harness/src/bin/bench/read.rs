//! How long reading takes, and how much memory.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use java_test_harness::{Jdk, Run, cache_folder, measure};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};

/// The arguments of the program: about 13 million objects, 780 MB of dump.
const ORDERED: &str = "15700000";

/// One run of a command.
struct Cost {
    seconds: f64,
    megabytes: f64,
}

/// `summary`, `histogram` and `top` in one pass, of a dump and of what it is compressed to, and a
/// summary of a long text profile.
pub fn read(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let command = std::env::current_exe()?.with_file_name("hprof-rs");
    ensure!(
        command.exists(),
        "{} is not there: cargo build --release -p hprof-rs",
        command.display()
    );
    let inputs = Inputs::prepare()?;
    let ours = |file: &Path| {
        let mut ours = Command::new(&command);
        ours.args(["summary", "--top", "20"]).arg(file);
        ours
    };
    let pairs = arguments.pairs;
    match peer() {
        Some(peer) => {
            let mut theirs = Command::new(peer);
            // It says on standard error how long it took.
            theirs.arg(&inputs.dump).stderr(Stdio::null());
            let (theirs, ours) = in_turn(pairs, &mut theirs, &mut ours(&inputs.dump))?;
            let case = "dump, against hprof-slurp";
            let seconds = ("wall, ratio", "s", theirs.seconds, ours.seconds);
            add(figures, case, seconds, Wanted::AtMost(0.8));
            let memory = ("memory, ratio", "MB", theirs.megabytes, ours.megabytes);
            add(figures, case, memory, Wanted::AtMost(1.0));
        }
        None => eprintln!(
            "  hprof-slurp is not found, neither on PATH nor in HPROF_SLURP: no comparison \
             (cargo install hprof-slurp)"
        ),
    }
    for (case, file) in [
        ("gzip in blocks, against gzip -dc", &inputs.blocks),
        ("gzip, against gzip -dc", &inputs.gzip),
    ] {
        let mut gzip = Command::new("gzip");
        gzip.arg("-dc").arg(file);
        let (gzip, ours) = in_turn(pairs, &mut gzip, &mut ours(file))?;
        let seconds = ("wall, ratio", "s", gzip.seconds, ours.seconds);
        add(figures, case, seconds, Wanted::AtMost(1.3));
    }
    let mut runs = Vec::new();
    for _ in 0..=pairs {
        runs.push(run(&mut ours(&inputs.text))?);
    }
    let text = medians(&runs[1..]);
    for (measure, value, unit, wanted) in [
        ("wall", text.seconds, "s", Wanted::AtMost(1.0)),
        ("memory", text.megabytes, "MB", Wanted::Any),
    ] {
        figures.add(Figure {
            benchmark: "read",
            case: "text profile of 100 MB".to_owned(),
            measure,
            plain: None,
            profiled: value,
            unit,
            result: value,
            wanted,
        });
    }
    Ok(())
}

fn add(
    figures: &mut Figures,
    case: &str,
    (measure, unit, plain, profiled): (&'static str, &'static str, f64, f64),
    wanted: Wanted,
) {
    figures.add(Figure {
        benchmark: "read",
        case: case.to_owned(),
        measure,
        plain: Some(plain),
        profiled,
        unit,
        result: profiled / plain,
        wanted,
    });
}

/// The reader to compare with.
fn peer() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("HPROF_SLURP") {
        return Some(named.into());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join("hprof-slurp"))
        .find(|file| file.exists())
}

/// Runs both in turn, after one round that does not count: it fills the cache of files.
fn in_turn(pairs: usize, first: &mut Command, second: &mut Command) -> Result<(Cost, Cost)> {
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..=pairs {
        firsts.push(run(first)?);
        seconds.push(run(second)?);
    }
    Ok((medians(&firsts[1..]), medians(&seconds[1..])))
}

fn medians(runs: &[Cost]) -> Cost {
    Cost {
        seconds: median(runs.iter().map(|run| run.seconds)),
        megabytes: median(runs.iter().map(|run| run.megabytes)),
    }
}

fn run(command: &mut Command) -> Result<Cost> {
    let (usage, wall) = measure(command).with_context(|| format!("{command:?}"))?;
    Ok(Cost {
        seconds: wall.as_secs_f64(),
        megabytes: usage.max_resident as f64 / 1e6,
    })
}

/// The files to read, kept from run to run below the cache folder of the project.
struct Inputs {
    dump: PathBuf,
    gzip: PathBuf,
    blocks: PathBuf,
    text: PathBuf,
}

impl Inputs {
    fn prepare() -> Result<Self> {
        let folder = cache_folder().join("bench");
        fs::create_dir_all(&folder)?;
        let dump = folder.join("orders.hprof");
        make(&dump, dump_of_orders)?;
        let gzip = folder.join("orders.hprof.gz");
        make(&gzip, |file| {
            let done = Command::new("gzip")
                .args(["-1", "-c"])
                .arg(&dump)
                .stdout(File::create(file)?)
                .status()?;
            ensure!(done.success(), "gzip: {done}");
            Ok(())
        })?;
        let blocks = folder.join("orders-blocks.hprof.gz");
        make(&blocks, |file| compress_in_blocks(&dump, file))?;
        let text = folder.join("profile-100mb.txt");
        make(&text, |file| long_profile(file, 100_000_000))?;
        Ok(Self {
            dump,
            gzip,
            blocks,
            text,
        })
    }
}

/// Makes a file unless it is there; only a complete one gets the name.
fn make(file: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if !file.exists() {
        eprintln!("  making {}", file.display());
        let unfinished = file.with_extension(format!("{}.unfinished", std::process::id()));
        let written = write(&unfinished);
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written.with_context(|| format!("cannot make {}", file.display()))?;
        fs::rename(unfinished, file)?;
    }
    Ok(())
}

/// A dump of linked orders and their items, strings, lists, a map and arrays.
fn dump_of_orders(file: &Path) -> Result<()> {
    let outcome = Run::new(Jdk::compiler())
        .jvm_arg("-Xmx6g")
        .class("OrderHeap")
        .args([ORDERED, "orders.hprof"])
        .time_limit(Duration::from_secs(600))
        .run()
        .expect_status(0);
    fs::copy(outcome.path("orders.hprof"), file)?;
    Ok(())
}

/// Compresses as HotSpot does with `-gz=1`: one gzip member for each megabyte, the first of which
/// says so in its comment.
fn compress_in_blocks(dump: &Path, file: &Path) -> Result<()> {
    const BLOCK: usize = 1 << 20;
    let input = File::open(dump)?;
    let mut output = BufWriter::new(File::create(file)?);
    let mut block = Vec::with_capacity(BLOCK);
    let mut is_first = true;
    loop {
        block.clear();
        Read::take(&input, BLOCK as u64).read_to_end(&mut block)?;
        if block.is_empty() {
            break;
        }
        let mut member = flate2::GzBuilder::new();
        if std::mem::take(&mut is_first) {
            member = member.comment(format!("HPROF BLOCKSIZE={BLOCK}"));
        }
        let mut member = member.write(&mut output, flate2::Compression::fast());
        member.write_all(&block)?;
        member.finish()?;
    }
    output.flush()?;
    Ok(())
}

/// A text profile of about N bytes: many traces of 16 frames, and a table of them.
fn long_profile(file: &Path, bytes: usize) -> Result<()> {
    let mut output = BufWriter::new(File::create(file)?);
    let mut text = String::from("JAVA PROFILE 1.0.1, created Sat Nov 21 03:10:42 2026\n\n");
    let mut written = 0;
    let mut traces = 0u64;
    // A linear congruential generator with the multiplier of Knuth's MMIX is random enough.
    let mut random = 1u64;
    // Rows take 62 bytes, traces about 900.
    while written < bytes / 100 * 93 {
        writeln!(text, "TRACE {}:", 300_001 + traces)?;
        for _ in 0..16 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let n = (random >> 33) % 40_000;
            let (package, class, method, line) = (n % 40, n % 3000, n % 17, n % 900 + 1);
            writeln!(
                text,
                "\tcom.example.pkg{package}.Class{class}.method{method}(Class{class}.java:{line})"
            )?;
        }
        traces += 1;
        output.write_all(text.as_bytes())?;
        written += text.len();
        text.clear();
    }
    writeln!(
        text,
        "CPU SAMPLES BEGIN (total = {traces}) Sat Nov 21 03:10:42 2026"
    )?;
    writeln!(text, "rank   self  accum   count trace method")?;
    for rank in 1..=traces {
        let serial = 300_000 + rank;
        writeln!(
            text,
            "{rank:4}  0.00%  0.00% {:7} {serial:5} com.example.pkg1.Class1.method1",
            1
        )?;
    }
    writeln!(text, "CPU SAMPLES END")?;
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}
