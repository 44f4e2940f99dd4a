//! The agent's options, checked before a JVM is started in vain.

use crate::render::out::{print, tell};
use std::process::ExitCode;
use std::time::SystemTime;

use hprof_options::{ExitKind, Failure, Process, Start, StartTime};

pub use hprof_options::parse::{ENVIRONMENT_VARIABLE, RUN_BEGAN, RUN_FROM};

/// The result of checking the options.
pub enum Checked {
    /// The agent will take them.
    Good {
        /// True if the file's name differs from process to process.
        names_by_process: bool,
        /// Heap dumps are all that is asked for: a run with them has nothing to record afterwards.
        only_dumps: bool,
    },
    /// There is nothing to start: the call prints why, or the help that was
    /// asked for, and returns the exit status.
    Finished(Box<dyn FnOnce() -> anyhow::Result<ExitCode>>),
}

/// Checks options exactly as the agent will. `environment` is the value of
/// [`ENVIRONMENT_VARIABLE`].
pub fn check(text: &str, environment: Option<&str>) -> Checked {
    match hprof_options::load(text, environment, &this_process()) {
        Ok(Start::Profile(settings)) => Checked::Good {
            names_by_process: settings.text.contains("%p"),
            only_dumps: settings.modes.only_dumps(),
        },
        Ok(Start::Help(text)) => Checked::Finished(Box::new(move || print(&text))),
        Err(failure) => Checked::Finished(Box::new(move || Ok(report(&failure)))),
    }
}

/// True if the agent of a running JVM would begin to record with these options.
pub fn names_mode(text: &str) -> bool {
    hprof_options::load_late(text, &this_process()).is_ok_and(|settings| settings.is_some())
}

/// Options that name no depth with one that suits their modes.
pub fn with_depth(text: &str, environment: Option<&str>) -> String {
    hprof_options::with_depth(text, environment, &this_process())
}

fn this_process() -> Process {
    // The JVM takes the place of this process, so its id is the same.
    Process {
        pid: std::process::id(),
        start: StartTime::local(SystemTime::now()),
    }
}

/// Prints a refusal as the agent would.
fn report(failure: &Failure) -> ExitCode {
    for line in &failure.lines {
        tell!("{line}");
    }
    match failure.exit {
        ExitKind::Status(status) => u8::try_from(status).map_or(ExitCode::FAILURE, ExitCode::from),
        ExitKind::Abort => std::process::abort(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(text: &str) -> Option<bool> {
        match check(text, None) {
            Checked::Good {
                names_by_process, ..
            } => Some(names_by_process),
            Checked::Finished(_) => None,
        }
    }

    #[test]
    fn file_names_with_a_process_id_are_noticed() {
        assert_eq!(apart("cpu=samples"), Some(false));
        assert_eq!(apart("cpu=samples,file=a-%p.txt"), Some(true));
        assert_eq!(apart("cpu=sample"), None);
        assert_eq!(apart("help"), None);
    }

    #[test]
    fn the_environment_counts() {
        let good = |environment| matches!(check("cpu=samples", environment), Checked::Good { .. });
        assert!(good(None));
        assert!(good(Some("depth=3")));
        assert!(!good(Some("depht=3")));
    }
}
