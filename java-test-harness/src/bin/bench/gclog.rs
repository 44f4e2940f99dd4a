//! How long a garbage collection log of one gigabyte takes, and how much memory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};
use super::graph::{cache_folder, measure};
use super::listener::front_end;

/// The size of the log.
const BYTES: u64 = 1 << 30;
/// Lines of one collection of G1 with `gc*=debug`, as JDK 17 writes them; `{at}` is the time, `{gc}` the number.
const COLLECTION: &str = "\
[{at}s][info ][gc,start     ] GC({gc}) Pause Young (Normal) (G1 Evacuation Pause)
[{at}s][debug][gc,age       ] GC({gc}) Desired survivor size 1048576 bytes, new threshold 15 (max threshold 15)
[{at}s][info ][gc,task      ] GC({gc}) Using 2 workers of 2 for evacuation
[{at}s][debug][gc,ergo,cset ] GC({gc}) Finish choosing CSet. old: 0 regions, predicted old region time: 0.00ms, time remaining: 196.24
[{at}s][info ][gc,phases    ] GC({gc})   Pre Evacuate Collection Set: 0.1ms
[{at}s][debug][gc,phases    ] GC({gc})     Prepare TLABs: 0.0ms
[{at}s][info ][gc,phases    ] GC({gc})   Evacuate Collection Set: 1.5ms
[{at}s][debug][gc,phases    ] GC({gc})     Ext Root Scanning (ms):   Min:  0.2, Avg:  0.2, Max:  0.2, Diff:  0.0, Sum:  0.4, Workers: 2
[{at}s][debug][gc,phases    ] GC({gc})     Object Copy (ms):         Min:  1.0, Avg:  1.1, Max:  1.2, Diff:  0.2, Sum:  2.2, Workers: 2
[{at}s][info ][gc,phases    ] GC({gc})   Post Evacuate Collection Set: 0.2ms
[{at}s][info ][gc,heap      ] GC({gc}) Eden regions: 24->0(25)
[{at}s][info ][gc,heap      ] GC({gc}) Survivor regions: 2->3(4)
[{at}s][info ][gc,heap      ] GC({gc}) Old regions: 7->9
[{at}s][info ][gc,heap      ] GC({gc}) Humongous regions: 3->1
[{at}s][info ][gc,metaspace ] GC({gc}) Metaspace: 6120K(6400K)->6120K(6400K) NonClass: 5500K(5700K)->5500K(5700K) Class: 620K(700K)->620K(700K)
[{at}s][info ][gc           ] GC({gc}) Pause Young (Normal) (G1 Evacuation Pause) 36M->12M(64M) {pause}ms
[{at}s][info ][gc,cpu       ] GC({gc}) User=0.00s Sys=0.00s Real=0.00s
[{at}s][info ][safepoint    ] Safepoint \"G1CollectForAllocation\", Time since last: 99000000 ns, Reaching safepoint: 40000 ns, Cleanup: 2000 ns, At safepoint: 1900000 ns, Total: 1942000 ns
";

/// The command on a made log.
pub fn gclog(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let temporary = tempfile::tempdir_in(cache_folder()?)?;
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    let log = folder.join("gc.log");
    if !log.exists() {
        write(&log)?;
    }
    let command = front_end()?;
    let flags = ["gc", "--json", "--alone"].map(OsStr::new);
    let mut costs = Vec::new();
    for _ in 0..arguments.pairs.min(3) {
        costs.push(measure(&command, &flags, &log)?);
    }
    let mut add = |measure, profiled: f64, unit, most| {
        figures.add(Figure {
            benchmark: "gclog",
            case: "1 GB, gc*=debug of G1".to_owned(),
            measure,
            plain: None,
            profiled,
            unit,
            result: profiled,
            wanted: Wanted::AtMost(most),
        });
    };
    add(
        "wall",
        median(costs.iter().map(|cost| cost.0).collect::<Vec<_>>()),
        "s",
        5.0,
    );
    add(
        "peak memory",
        median(costs.iter().map(|cost| cost.1).collect::<Vec<_>>()),
        "MB",
        64.0,
    );
    Ok(())
}

fn write(path: &Path) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(b"[0.004s][info ][gc,init      ] Heap Region Size: 1M\n[0.005s][info ][gc           ] Using G1\n")?;
    let mut written = 0;
    for gc in 0u64.. {
        let pause = 500 + gc.wrapping_mul(2_654_435_761) % 4000;
        let text = COLLECTION
            .replace("{at}", &format!("{}.{:03}", gc / 10, gc % 10 * 100))
            .replace("{gc}", &gc.to_string())
            .replace("{pause}", &format!("{}.{:03}", pause / 1000, pause % 1000));
        file.write_all(text.as_bytes())?;
        written += text.len() as u64;
        if written >= BYTES {
            break;
        }
    }
    file.flush()?;
    Ok(())
}
