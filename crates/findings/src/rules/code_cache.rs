//! A code cache that is full.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::recorded::Recorded;
use crate::units::bytes;

/// The JVM's reports that the code cache is full.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodeCache {
    /// Their number.
    pub times_full: u64,
    /// The size of the part that was full, in bytes, if the recording says.
    pub size: Option<f64>,
    /// The part, in the JVM's words.
    pub part: Option<String>,
}

impl Figures for CodeCache {
    const RULE: &'static str = "code-cache";
    const NEEDS: &'static [&'static str] = &["jdk.CodeCacheFull"];

    fn of(recorded: &Recorded) -> Self {
        let last = recorded.code_cache_full.last();
        Self {
            times_full: recorded.code_cache_full.len() as u64,
            size: last.and_then(|it| it.size),
            part: last.map(|it| it.part.clone()).filter(|it| !it.is_empty()),
        }
    }

    fn level(&self) -> Level {
        match self.times_full {
            0 => Level::Ok,
            _ => Level::Serious,
        }
    }

    fn headline(&self) -> String {
        match self.times_full {
            0 => "The code cache was never full.".to_owned(),
            times => format!(
                "The code cache was full {}{}{}.",
                match times {
                    1 => "once".to_owned(),
                    times => format!("{times} times"),
                },
                self.part
                    .as_ref()
                    .map_or_else(String::new, |part| format!(" ({part})")),
                self.size
                    .map_or_else(String::new, |size| format!(", at {}", bytes(size)))
            ),
        }
    }

    fn cause(&self) -> String {
        "The compilers stop, or throw compiled code away: methods run in the interpreter, many times slower.".to_owned()
    }

    fn next(&self) -> String {
        "Give it more room: -XX:ReservedCodeCacheSize=256m or more. `jcmd PID Compiler.codecache` shows how full it is."
            .to_owned()
    }
}
