//! Timed calls of chosen methods.

/// A method whose calls were timed. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowRow<'a> {
    /// Class and method, as Java source has them; with the descriptor where several have this name.
    pub method: &'a str,
    /// Calls that have ended.
    pub calls: u64,
    /// Calls within one of the same method in the same thread, which are not among them.
    pub recursive: u64,
    /// What half of the calls took at most, and 90 %, 99 % and 99.9 % of them.
    pub quantiles: [u64; 4],
    /// The time of the slowest call.
    pub max: u64,
    /// The time of all calls.
    pub wall: u64,
    /// The CPU time of their threads meanwhile.
    pub cpu: u64,
    /// From which time on calls are slow, in milliseconds, or "-".
    pub threshold: &'a str,
    /// Calls that were.
    pub slow: u64,
    /// The slowest calls, the slowest first.
    pub slowest: Vec<SlowCallRow<'a>>,
}

/// A call. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowCallRow<'a> {
    /// Its time.
    pub wall: u64,
    /// The CPU time of its thread meanwhile.
    pub cpu: u64,
    /// When it began, for people.
    pub began: &'a str,
    /// The name of its thread.
    pub thread: &'a str,
}
