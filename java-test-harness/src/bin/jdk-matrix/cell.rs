//! The outcome of one mode on one JVM.

use java_test_harness::Outcome;

/// A cell of the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// The figures are those of the program, and the agent printed no remark.
    Exact,
    /// The figures are right, and the agent remarked that it gets them in another way.
    Fallback(String),
    /// The JVM or the agent refused, for this reason.
    NotPossible(String),
    /// The shares are right, and more samples lack their stack than the mode may lose.
    Lossy(String),
    /// The figures are wrong, or the JVM failed: a defect.
    Wrong(String),
}

/// How a profile differs from its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// More samples lack their stack than the mode may lose.
    Lossy(String),
    /// A figure is another one.
    Wrong(String),
}

impl From<String> for Difference {
    fn from(what: String) -> Self {
        Difference::Wrong(what)
    }
}

/// How many samples a mode took, and how many of them have no stack, or not the whole one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Samples without a stack, or whose stack does not reach its root.
    pub lost: u64,
    /// All samples of the program's own loops, and those without a stack.
    pub all: u64,
}

impl Cell {
    /// The cell of a run whose figures were compared.
    pub fn of(outcome: &Outcome, compared: Result<(), Difference>) -> Cell {
        let remark = remark(&outcome.stderr);
        if outcome.status != Some(0) {
            return match remark {
                // The agent refuses a mode before the program starts.
                Some(line) if line.starts_with("HPROF ERROR") && outcome.stdout.is_empty() => {
                    Cell::NotPossible(line)
                }
                _ => Cell::Wrong(format!(
                    "status {:?}, signal {:?}: {}",
                    outcome.status,
                    outcome.signal,
                    outcome.stderr.lines().next().unwrap_or("no output")
                )),
            };
        }
        match (compared, remark) {
            (Err(Difference::Lossy(lost)), _) => Cell::Lossy(lost),
            (Err(Difference::Wrong(what)), Some(line)) => Cell::Wrong(format!("{what}; {line}")),
            (Err(Difference::Wrong(what)), None) => Cell::Wrong(what),
            (Ok(()), Some(line)) => Cell::Fallback(line),
            (Ok(()), None) => Cell::Exact,
        }
    }
}

/// The line about a dump that was written.
const DUMPED: &str = "HPROF: heap dump: ";

/// The first line in which the agent says that something is not as it was asked for.
fn remark(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim);
    lines
        .find(|line| line.starts_with("HPROF") && !line.starts_with(DUMPED))
        .map(str::to_owned)
}

/// An error if a figure is another one.
pub fn equal(what: &str, found: u64, expected: u64) -> Result<(), Difference> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found}, not {expected}").into()),
    }
}
