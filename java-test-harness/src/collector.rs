//! Garbage collectors and which JDK has which.

use std::collections::HashMap;
use std::env;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::Jdk;

/// A garbage collector of HotSpot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collector {
    /// One thread, stop the world.
    Serial,
    /// Several threads, stop the world.
    Parallel,
    /// The default on machines that are not tiny.
    G1,
    /// Concurrent; from JDK 24 on always generational.
    Z,
    /// Concurrent; not in every build.
    Shenandoah,
}

impl Collector {
    /// All of them.
    pub const ALL: [Collector; 5] = [
        Collector::Serial,
        Collector::Parallel,
        Collector::G1,
        Collector::Z,
        Collector::Shenandoah,
    ];

    /// The collectors that tests run with: all, or those named in `HPROF_RS_COLLECTORS`.
    ///
    /// # Panics
    ///
    /// When a name in it is no collector's.
    pub fn tested() -> Vec<Collector> {
        match env::var("HPROF_RS_COLLECTORS") {
            Ok(list) => parse_collectors(&list),
            Err(_) => Self::ALL.to_vec(),
        }
    }

    /// The JVM arguments that select it.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Collector::Serial => &["-XX:+UseSerialGC"],
            Collector::Parallel => &["-XX:+UseParallelGC"],
            Collector::G1 => &["-XX:+UseG1GC"],
            // Experimental, hence locked, before JDK 15.
            Collector::Z => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
            Collector::Shenandoah => &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
        }
    }

    /// Returns whether the JDK was built with it. Asks the JVM itself, once.
    pub fn supported_by(self, jdk: &Jdk) -> bool {
        static ANSWERS: OnceLock<Mutex<HashMap<(PathBuf, Collector), bool>>> = OnceLock::new();
        let mut answers = ANSWERS.get_or_init(Default::default).lock().unwrap();
        *answers
            .entry((jdk.home().to_owned(), self))
            .or_insert_with(|| {
                let mut java = Command::new(jdk.tool("java"));
                java.args(self.arguments())
                    .arg("-version")
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                java.status().is_ok_and(|status| status.success())
            })
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self:?}")
    }
}

fn parse_collectors(list: &str) -> Vec<Collector> {
    let parse = |item: &str| {
        Collector::ALL
            .into_iter()
            .find(|collector| collector.to_string().eq_ignore_ascii_case(item.trim()))
            .unwrap_or_else(|| panic!("HPROF_RS_COLLECTORS: \"{item}\" is no collector"))
    };
    list.split(',').map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_are_found_by_name() {
        assert_eq!(
            parse_collectors("parallel, Z"),
            [Collector::Parallel, Collector::Z]
        );
    }
}
