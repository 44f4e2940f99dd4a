//! `run --push`: the options of an agent as those of a recording.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use super::{PushOptions, Record};

/// How often a program that is started for a receiver sends a profile.
const EVERY: Duration = Duration::from_secs(10);

/// A recording alone.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Alone {
    #[command(flatten)]
    record: Record,
}

/// The options of `record` that an option of the agent stands for; none if it is one that `record` passes on.
fn mode(option: &str) -> Option<String> {
    let word = match option {
        "cpu=samples" => "--cpu",
        "cpu=wall" => "--wall",
        "cpu=times" => "--calls",
        "heap=sites" => "--alloc",
        "monitor=y" => "--lock",
        _ => {
            let (name, value) = option.split_once('=')?;
            return match name {
                "native" => Some(format!("--native={value}")),
                "nativelock" if value != "n" => Some(format!("--native-locks={value}")),
                _ => None,
            };
        }
    };
    Some(word.to_owned())
}

/// Starts a program under the agent, and sends what is recorded of it.
///
/// # Errors
/// If the options do not go together, the receiver is not as it must be, or the program cannot be run.
pub fn of_run(
    agent: &str,
    pushing: PushOptions,
    command: Vec<OsString>,
) -> anyhow::Result<ExitCode> {
    let options = agent.split(',').filter(|option| !option.is_empty());
    let (mut arguments, mut others) = (Vec::new(), Vec::new());
    for option in options {
        match mode(option) {
            Some(mode) => arguments.push(OsString::from(mode)),
            None => others.push(option),
        }
    }
    arguments.push("--options".into());
    arguments.push(others.join(",").into());
    arguments.push("--".into());
    arguments.extend(command);
    let mut record = Alone::try_parse_from(arguments)?.record;
    record.pushing = pushing.or_every(EVERY);
    record.execute()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_the_agent_are_those_of_a_recording() {
        for (option, expected) in [
            ("cpu=samples", Some("--cpu")),
            ("heap=sites", Some("--alloc")),
            ("native=64k", Some("--native=64k")),
            ("nativelock=1ms", Some("--native-locks=1ms")),
            ("interval=1", None),
        ] {
            assert_eq!(mode(option).as_deref(), expected, "{option}");
        }
    }
}
