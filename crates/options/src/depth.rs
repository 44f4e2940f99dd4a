//! The depth of stacks for who has asked for none.

use super::{Modes, Process, Start, load};

/// `cpu=samples`, `monitor=y`: a stack is taken now and then, and costs little more when it is deep.
const SEEN_DEPTH: u32 = 64;
/// `heap=sites`: every allocation has a stack, and the table grows with the different ones. javac
/// took 8 % more CPU time than with four frames; with 16 it took 75 % more.
const SITES_DEPTH: u32 = 8;
/// `cpu=times`: every call has its place among the paths, which grow in number with the depth. javac
/// took 25 % more CPU time and a quarter more memory than with four frames; with 16 more than twice
/// the memory.
const CALLS_DEPTH: u32 = 8;

/// The options with a depth, if they name none.
///
/// The agent itself keeps four frames then, as the original did. They seldom reach from a library
/// into the program: pictures begin anywhere, and many stacks look like one. Who has the agent
/// loaded by a command gets as many as the mode can afford. Options that cannot be read stay as they
/// are, and so do those for a picture, which the agent keeps deep enough by itself.
#[must_use]
pub fn with_depth(options: &str, environment: Option<&str>, process: &Process) -> String {
    match load(options, environment, process) {
        Ok(Start::Profile(settings)) if !settings.has_depth && settings.picture.is_none() => {
            let separator = if options.is_empty() { "" } else { "," };
            format!("{options}{separator}depth={}", depth(&settings.modes))
        }
        _ => options.to_owned(),
    }
}

/// The depth that the mode can afford; with several modes, the smallest.
fn depth(modes: &Modes) -> u32 {
    if modes.cpu_times {
        CALLS_DEPTH
    } else if modes.heap_sites {
        SITES_DEPTH
    } else {
        SEEN_DEPTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_a_depth_get_that_of_their_mode() {
        let with = |options: &str, environment| {
            with_depth(
                options,
                environment,
                &Process {
                    pid: 1,
                    start: Default::default(),
                },
            )
        };
        for (options, added) in [
            ("", "depth=8"),
            ("cpu=samples", ",depth=64"),
            ("cpu=samples,heap=sites", ",depth=8"),
            ("monitor=y", ",depth=64"),
            ("heap=dump", ",depth=64"),
            ("cpu=times", ",depth=8"),
            ("cpu=samples,depth=4", ""),
            ("cpu=times,file=a.html", ""),
            ("help", ""),
            ("cpu=sample", ""),
        ] {
            assert_eq!(with(options, None), format!("{options}{added}"));
        }
        assert_eq!(with("cpu=samples", Some("depth=3")), "cpu=samples");
    }
}
