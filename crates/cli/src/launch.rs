//! The command line and environment that bring the agent into a JVM.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

/// The variable whose words every JVM reads as if they were arguments (JVMTI
/// specification, "JAVA_TOOL_OPTIONS").
pub const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// How the agent is named to the JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// As the first argument of `java`.
    Argument,
    /// In the environment, because the command is not `java` itself.
    ToolOptions,
}

/// A command, ready to run.
#[derive(Debug, PartialEq, Eq)]
pub struct Launch {
    /// How the agent is named to the JVM.
    pub method: Method,
    program: OsString,
    arguments: Vec<OsString>,
    tool_options: Option<OsString>,
}

impl Launch {
    /// Adds the agent to a command. `library` must not contain an equals sign,
    /// at which the JVM ends the path. `tool_options` is the present value of
    /// [`TOOL_OPTIONS`], which is kept.
    pub fn new(
        program: &OsStr,
        arguments: &[OsString],
        library: &Path,
        options: &str,
        tool_options: Option<&OsStr>,
    ) -> Self {
        let agent = agent_argument(library, options);
        let mut arguments = arguments.to_vec();
        let (method, tool_options) = if is_java(program) {
            arguments.insert(0, agent);
            (Method::Argument, None)
        } else {
            let words = join_tool_options(tool_options, &agent);
            (Method::ToolOptions, Some(words))
        };
        Self {
            method,
            program: program.to_owned(),
            arguments,
            tool_options,
        }
    }

    /// The command in the form that can be started.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if let Some(words) = &self.tool_options {
            command.env(TOOL_OPTIONS, words);
        }
        command
    }
}

fn is_java(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("java"))
}

fn agent_argument(library: &Path, options: &str) -> OsString {
    let mut argument = OsString::from("-agentpath:");
    argument.push(library);
    argument.push("=");
    argument.push(options);
    argument
}

/// Behind the present words, so that theirs stay the first.
fn join_tool_options(present: Option<&OsStr>, argument: &OsStr) -> OsString {
    let mut words = present.unwrap_or_default().to_owned();
    if !words.is_empty() {
        words.push(" ");
    }
    words.push(quote(argument));
    words
}

/// Quotes a word for [`TOOL_OPTIONS`]. HotSpot splits its value at white space;
/// a quote of either kind begins a part that ends at the next of the same kind,
/// and there is no escape sign (`Arguments::parse_options_buffer`).
fn quote(word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    let is_special = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | 0x0b);
    if !bytes.iter().any(is_special) {
        return word.to_owned();
    }
    let mut quoted = Vec::with_capacity(bytes.len() + 2);
    for part in bytes.chunk_by(|a, b| (*a == b'"') == (*b == b'"')) {
        let mark = if part.starts_with(b"\"") { b'\'' } else { b'"' };
        quoted.push(mark);
        quoted.extend_from_slice(part);
        quoted.push(mark);
    }
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn launch(program: &str, arguments: &[&str], present: Option<&str>) -> Launch {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        Launch::new(
            OsStr::new(program),
            &arguments,
            Path::new("/a b/libhprof_rs.so"),
            "cpu=samples,depth=8",
            present.map(OsStr::new),
        )
    }

    #[test]
    fn java_gets_the_agent_before_its_other_arguments() {
        for program in ["java", "/usr/bin/java", "./java"] {
            let launch = launch(program, &["-cp", "x", "App"], Some("-Xmx1g"));
            assert_eq!(launch.method, Method::Argument);
            assert_eq!(launch.program, program);
            let agent = "-agentpath:/a b/libhprof_rs.so=cpu=samples,depth=8";
            assert_eq!(launch.arguments, [agent, "-cp", "x", "App"]);
            assert_eq!(launch.tool_options, None);
        }
    }

    #[test]
    fn other_commands_get_it_in_the_environment_behind_what_is_there() {
        let agent = "\"-agentpath:/a b/libhprof_rs.so=cpu=samples,depth=8\"";
        for (present, expected) in [
            (None, agent.to_owned()),
            (Some(""), agent.to_owned()),
            (Some("-Xmx1g -ea"), format!("-Xmx1g -ea {agent}")),
        ] {
            let launch = launch("mvn", &["package"], present);
            assert_eq!(launch.method, Method::ToolOptions);
            assert_eq!(launch.arguments, ["package"]);
            assert_eq!(launch.tool_options, Some(expected.into()));
        }
    }

    #[test]
    fn a_folder_called_java_or_a_similar_name_is_not_java() {
        for program in ["javac", "java/bin/tool", "java.sh", "JAVA"] {
            assert_eq!(launch(program, &[], None).method, Method::ToolOptions);
        }
    }

    /// HotSpot's way to read the variable.
    fn split(value: &[u8]) -> Vec<Vec<u8>> {
        let is_space = |byte: u8| byte.is_ascii_whitespace() || byte == 0x0b;
        let mut words = Vec::new();
        let mut rest = value;
        loop {
            while let [first, tail @ ..] = rest
                && is_space(*first)
            {
                rest = tail;
            }
            if rest.is_empty() {
                return words;
            }
            let mut word = Vec::new();
            while let [first, tail @ ..] = rest
                && !is_space(*first)
            {
                rest = tail;
                if matches!(first, b'"' | b'\'') {
                    let end = rest.iter().position(|byte| byte == first);
                    let end = end.expect("a quote that ends");
                    word.extend_from_slice(&rest[..end]);
                    rest = &rest[end + 1..];
                } else {
                    word.push(*first);
                }
            }
            words.push(word);
        }
    }

    proptest! {
        #[test]
        fn the_jvm_reads_back_what_was_quoted(word in "[ab \t\n\u{b}'\"=/%é]{1,12}") {
            let value = join_tool_options(Some(OsStr::new("-ea")), OsStr::new(&word));
            prop_assert_eq!(split(value.as_bytes()), [b"-ea".to_vec(), word.into_bytes()]);
        }
    }
}
