//! The protocol of HotSpot's attach listener, version 1 (`attachListener.cpp` and
//! `posixAttachOperation`): the same from JDK 6 on; version 2 of JDK 24 (JDK-8339289) is an addition.
//!
//! A request is the version, a command and three arguments, each ended by a zero byte. The answer
//! is a line with a status, 0 for success, and text up to the end of the connection.

use std::io::{self, Read, Write};

/// The longest argument a VM takes (`AttachOperation::arg_length_max`).
pub const MAX_ARGUMENT: usize = 1024;
/// A longer answer is cut.
const MAX_ANSWER: u64 = 256 << 20;
const ARGUMENTS: usize = 3;

/// A command for the VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<'a> {
    /// Load a library and call its `Agent_OnAttach`.
    Load {
        /// The library, by a path that means something to the JVM.
        library: &'a str,
        /// The options for `Agent_OnAttach`.
        options: &'a str,
    },
    /// A diagnostic command, as the JDK's `jcmd` sends it.
    Diagnostic(&'a str),
    /// The class histogram (`inspectheap`).
    Histogram {
        /// Collect garbage, and count live objects only.
        live: bool,
    },
    /// The thread dump with locks (`threaddump`).
    Threads,
    /// A heap dump to a new file (`dumpheap`).
    HeapDump {
        /// The file, by a path that means something to the JVM.
        file: &'a str,
        /// Collect garbage, and dump live objects only.
        live: bool,
    },
}

/// An answer of the VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// 0 for success.
    pub status: i32,
    /// The text after the status.
    pub text: String,
}

impl Request<'_> {
    /// The bytes to send; the argument that is too long, otherwise.
    pub fn encode(&self) -> Result<Vec<u8>, &'static str> {
        let (command, arguments): (&str, [&str; ARGUMENTS]) = match self {
            // "true": the library is named by its absolute path.
            Self::Load { library, options } => ("load", [library, "true", options]),
            Self::Diagnostic(command) => ("jcmd", [command, "", ""]),
            Self::Histogram { live } => ("inspectheap", [objects(*live), "", ""]),
            // -l shows the locks of java.util.concurrent, too.
            Self::Threads => ("threaddump", ["-l", "", ""]),
            Self::HeapDump { file, live } => ("dumpheap", [file, objects(*live), ""]),
        };
        let mut bytes = b"1\0".to_vec();
        for part in [command].iter().chain(&arguments) {
            if part.len() > MAX_ARGUMENT {
                return Err(match self {
                    Self::Load { library, .. } if library == part => "a path to the library",
                    Self::Load { .. } => "options",
                    Self::HeapDump { .. } => "a path of a file",
                    _ => "a command",
                });
            }
            // A zero byte would end the argument; none can stand on a command line.
            bytes.extend(part.bytes().filter(|&byte| byte != 0));
            bytes.push(0);
        }
        Ok(bytes)
    }
}

/// The argument that tells live objects from all.
fn objects(live: bool) -> &'static str {
    if live { "-live" } else { "-all" }
}

/// Sends a request and reads the answer.
///
/// # Errors
/// Errors of the connection; `InvalidData` if the answer has no status.
pub fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> io::Result<Answer> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut bytes = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut bytes)?;
    parse_answer(&bytes).ok_or_else(|| {
        let what = match bytes.is_empty() {
            true => "the JVM closed the connection without an answer",
            false => "the answer makes no sense",
        };
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

fn parse_answer(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (status, rest) = text.split_once('\n').unwrap_or((&text, ""));
    Some(Answer {
        status: status.trim().parse().ok()?,
        text: rest.to_owned(),
    })
}

/// The result of `Agent_OnAttach`, from the text that answers a [`Request::Load`]; `None` if it was
/// not called. JDK 9 and later write `return code: 0`, older ones the number alone.
pub fn agent_status(text: &str) -> Option<i32> {
    let line = text.lines().next()?.trim();
    line.strip_prefix("return code:")
        .unwrap_or(line)
        .trim()
        .parse()
        .ok()
}

/// True if a JVM has refused a [`Request::Load`] because it has not started yet. It has no other word for that than this text
/// (`jvmtiAgentList.cpp`).
pub fn comes_too_early(text: &str) -> bool {
    text.contains("Dynamic agent loading is only permitted in the live phase")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_have_three_arguments() {
        let load = Request::Load {
            library: "/x.so",
            options: "cpu=samples",
        };
        assert_eq!(
            load.encode().unwrap(),
            b"1\0load\0/x.so\0true\0cpu=samples\0"
        );
        let dump = Request::HeapDump {
            file: "/a b.hprof",
            live: true,
        };
        assert_eq!(
            dump.encode().unwrap(),
            b"1\0dumpheap\0/a b.hprof\0-live\0\0"
        );
        let histogram = Request::Histogram { live: false };
        assert_eq!(histogram.encode().unwrap(), b"1\0inspectheap\0-all\0\0\0");
        let jcmd = Request::Diagnostic("VM.version");
        assert_eq!(jcmd.encode().unwrap(), b"1\0jcmd\0VM.version\0\0\0");
    }

    #[test]
    fn what_is_too_long_is_named() {
        let long = "x".repeat(MAX_ARGUMENT + 1);
        let load = |library, options| Request::Load { library, options }.encode();
        assert_eq!(load(&long, ""), Err("a path to the library"));
        assert_eq!(load("", &long), Err("options"));
        assert_eq!(Request::Diagnostic(&long).encode(), Err("a command"));
    }

    #[test]
    fn answers_of_all_releases_are_understood() {
        let answer = parse_answer(b"0\nreturn code: 0\n").unwrap();
        assert_eq!((answer.status, agent_status(&answer.text)), (0, Some(0)));
        let answer = parse_answer(b"0\n-1\n").unwrap();
        assert_eq!(agent_status(&answer.text), Some(-1));
        let answer = parse_answer(b"-1\n/x.so was not loaded.\n").unwrap();
        assert_eq!((answer.status, agent_status(&answer.text)), (-1, None));
        assert_eq!(parse_answer(b""), None);
        assert_eq!(parse_answer(b"hello\n"), None);
    }

    proptest! {
        #[test]
        fn no_answer_does_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(answer) = parse_answer(&bytes) {
                let _ = agent_status(&answer.text);
            }
        }
    }
}
