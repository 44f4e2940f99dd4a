//! Collectors and flags of the JVM, and which JDK has which.

use std::process::Command;

use java_test_harness::Jdk;

/// A way to run the JVM.
#[derive(Debug)]
pub struct Machine {
    /// Its name on the page.
    pub name: &'static str,
    /// Arguments of the JVM.
    pub flags: &'static [&'static str],
    /// True if its collector frees anything.
    pub collects: bool,
}

const fn machine(name: &'static str, flags: &'static [&'static str]) -> Machine {
    Machine {
        name,
        flags,
        collects: true,
    }
}

/// The collector of the table of modes, which each release has.
pub const USUAL: Machine = machine("G1", &["-XX:+UseG1GC"]);

const UNLOCK: &str = "-XX:+UnlockExperimentalVMOptions";

/// Every collector of any release.
pub const COLLECTORS: &[Machine] = &[
    machine("Serial", &["-XX:+UseSerialGC"]),
    machine("Parallel", &["-XX:+UseParallelGC"]),
    machine("CMS", &["-XX:+UseConcMarkSweepGC"]),
    USUAL,
    machine("ZGC", &[UNLOCK, "-XX:+UseZGC"]),
    machine(
        "ZGC, generational",
        &[UNLOCK, "-XX:+UseZGC", "-XX:+ZGenerational"],
    ),
    machine("Shenandoah", &[UNLOCK, "-XX:+UseShenandoahGC"]),
    machine(
        "Shenandoah, generational",
        &[
            UNLOCK,
            "-XX:+UseShenandoahGC",
            "-XX:ShenandoahGCMode=generational",
        ],
    ),
    Machine {
        name: "Epsilon",
        flags: &[UNLOCK, "-XX:+UseEpsilonGC"],
        collects: false,
    },
];

/// Ways to run code, and layouts of objects.
pub const FLAGS: &[Machine] = &[
    machine("-Xint", &["-Xint"]),
    machine("-Xcomp", &["-Xcomp"]),
    machine("C1 only", &["-XX:TieredStopAtLevel=1"]),
    machine("no compressed oops", &["-XX:-UseCompressedOops"]),
    machine(
        "no compressed class pointers",
        &["-XX:-UseCompressedClassPointers"],
    ),
    machine("compact headers", &[UNLOCK, "-XX:+UseCompactObjectHeaders"]),
];

impl Machine {
    /// Why this JDK's VM cannot run so, by its own words.
    pub fn reason_against(&self, jdk: &Jdk) -> Option<String> {
        let mut java = Command::new(jdk.tool("java"));
        java.args(self.flags).arg("-version");
        let output = match java.output() {
            Ok(output) => output,
            Err(error) => return Some(error.to_string()),
        };
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut lines = said.lines();
        if !output.status.success() {
            let line = lines.find(|line| {
                let is_trouble = ["Error", "Unrecognized", "Unknown", "not supported"];
                is_trouble.iter().any(|word| line.contains(word))
                    && !line.contains("Could not")
                    && !line.contains("occurred")
            });
            return Some(line.unwrap_or("the VM does not start").to_owned());
        }
        // A flag that is ignored shows nothing.
        let ignored =
            lines.find(|line| line.contains("gnoring option") || line.contains("obsolete"));
        ignored.map(|line| match line.split_once("warning: ") {
            Some((_, text)) => text.to_owned(),
            None => line.to_owned(),
        })
    }
}
