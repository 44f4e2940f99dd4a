//! The sentence on the course of a recording, with the next step.

use std::fmt;

use crate::Bytes;
use crate::course::{PartChange, Verdict};
use crate::row::Kind;

/// A time in the two units that say enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(pub f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.round().max(0.0) as u64;
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
        match seconds {
            0..100 => write!(f, "{seconds} s"),
            100..6000 => write!(f, "{} min", (self.0 / 60.0).round()),
            6000..172_800 => match minutes % 60 {
                0 => write!(f, "{hours} h"),
                rest => write!(f, "{hours} h {rest} min"),
            },
            _ if days < 1000 => write!(f, "{days} days"),
            _ => f.write_str("years"),
        }
    }
}

/// A growth in bytes a second, as one a minute with its sign.
pub fn rate(bytes_a_second: f64) -> String {
    let minute = bytes_a_second * 60.0;
    let sign = if minute < 0.0 { "-" } else { "+" };
    format!("{sign}{}/min", Bytes(minute.abs() as u64))
}

impl fmt::Display for Verdict {
    /// A sentence or three, with the next step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grows {
                kind,
                rate: speed,
                share,
                part,
                seconds,
                bound,
                limit,
                seconds_to_limit,
            } => {
                write!(
                    f,
                    "The row \"{}\" grows by {}",
                    kind.title(),
                    rate(*speed).trim_start_matches('+')
                )?;
                if *share < 0.995 {
                    write!(f, ", {:.0} % of all growth", 100.0 * share)?;
                }
                write!(f, " (looked at for {})", Seconds(*seconds))?;
                if let Some(part) = part {
                    write!(f, "; most of it {part}")?;
                }
                match (seconds_to_limit, limit) {
                    (Some(left), Some(limit)) => write!(
                        f,
                        ". At this rate the process reaches the limit of {limit} in {}",
                        Seconds(*left)
                    )?,
                    (None, None) => f.write_str(". No cgroup limits the process")?,
                    _ => {}
                }
                match bound {
                    Some(bound) => write!(f, "; the JVM lets this row grow to {bound}.")?,
                    None => f.write_str(".")?,
                }
                write!(f, " {}", next_step(*kind))
            }
            Self::Steady {
                first,
                last,
                seconds,
            } => write!(
                f,
                "No row grows: {first} were resident at first, {last} after {}. A slow leak needs a longer look.",
                Seconds(*seconds)
            ),
            Self::TooShort { looks } => write!(
                f,
                "{looks} looks say nothing about growth: record for longer, or look more often (--watch TIME)."
            ),
        }
    }
}

impl fmt::Display for PartChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} to {}", self.name, self.from, self.to)?;
        if self.count_to > self.count_from && self.count_to > 1 {
            write!(f, " ({} -> {})", self.count_from, self.count_to)?;
        }
        Ok(())
    }
}

/// The step that finds the reason for the growth of a row.
fn next_step(kind: Kind) -> &'static str {
    match kind {
        Kind::JavaHeap => {
            "A heap grows until a collection has to run: where what is left after collections grows too (`hprof-rs gc`), compare two \
             heap dumps with `hprof-rs growth`."
        }
        Kind::Metaspace | Kind::ClassSpace => {
            "`hprof-rs classloaders` on a heap dump shows which loaders stay alive; -XX:MaxMetaspaceSize bounds them."
        }
        Kind::CodeCache => {
            "Compiled code grows while the program warms up; -XX:ReservedCodeCacheSize bounds it."
        }
        Kind::ThreadStacks => {
            "Bound the pool of these threads; `hprof-rs stacks PID` shows what they do."
        }
        Kind::JvmMapped | Kind::JvmMalloc => {
            "`jcmd PID VM.native_memory baseline`, later `summary.diff`, shows which part of the JVM grows (with \
             -XX:NativeMemoryTracking=summary)."
        }
        Kind::DirectBuffers => {
            "`--gc` shows whether buffers only wait for a collection; -XX:MaxDirectMemorySize bounds them, and \
             -Djdk.nio.maxCachedBufferSize those of sockets and files for each thread."
        }
        Kind::NativeMalloc => {
            "`--objects` counts Java objects that hold such memory; the rest belongs to libraries (JNI), or, without \
             -XX:NativeMemoryTracking=summary, to direct buffers and the JVM."
        }
        Kind::MallocFree => {
            "malloc keeps what the program frees: start with MALLOC_ARENA_MAX=2, or run `jcmd PID System.trim_native_heap`."
        }
        Kind::MappedFiles | Kind::ClassArchive | Kind::Libraries => {
            "Clean pages of files go when memory is short: this kills no container unless they are dirty."
        }
        Kind::SharedMemory => "Look for files in /dev/shm and other memory that is shared.",
        Kind::Agent => "Stop the agent's recording with `hprof-rs control PID stop`.",
        Kind::Kernel | Kind::Unexplained => {
            "A library maps memory itself, or has another malloc: `pmap -X PID`, twice, shows which mapping grows."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_that_fits() {
        let text = |seconds: f64| Seconds(seconds).to_string();
        assert_eq!(text(0.4), "0 s");
        assert_eq!(text(99.0), "99 s");
        assert_eq!(text(600.0), "10 min");
        assert_eq!(text(12_000.0), "3 h 20 min");
        assert_eq!(text(7200.0), "2 h");
        assert_eq!(text(864_000.0), "10 days");
        assert_eq!(text(1e300), "years");
        assert_eq!(text(f64::NAN), "0 s");
    }

    #[test]
    fn a_verdict_names_row_rate_part_and_time() {
        let verdict = Verdict::Grows {
            kind: Kind::ThreadStacks,
            rate: 1e6 / 60.0,
            share: 0.8,
            part: Some(PartChange {
                name: "pool-#".to_owned(),
                from: Bytes(1_000_000),
                to: Bytes(9_000_000),
                count_from: 10,
                count_to: 90,
            }),
            seconds: 600.0,
            bound: None,
            limit: Some(Bytes(1_000_000_000)),
            seconds_to_limit: Some(12_000.0),
        };
        assert_eq!(
            verdict.to_string(),
            "The row \"thread stacks\" grows by 1.0 MB/min, 80 % of all growth (looked at for 10 min); most of it pool-# from 1.0 MB to 9.0 MB \
             (10 -> 90). At this rate the process reaches the limit of 1.0 GB in 3 h 20 min. Bound the pool of these threads; \
             `hprof-rs stacks PID` shows what they do."
        );
        let short = Verdict::TooShort { looks: 2 };
        assert!(short.to_string().starts_with("2 looks say nothing"));
    }
}
