//! hprof-rs.
fn main() {}
