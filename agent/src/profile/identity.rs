//! Who writes: a line about program and agent at the start of every profile.

use hprof_wire::marks::Identity;

use crate::options::{Format, Modes};
use crate::recording::Run;

/// The line's content.
pub(super) fn of(run: &Run) -> Identity {
    let settings = &run.settings;
    Identity {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        format: match settings.format {
            Format::Text => "a".to_owned(),
            Format::Binary => "b".to_owned(),
        },
        modes: modes(&settings.modes),
        main: main_of(run).unwrap_or_default(),
    }
}

/// The modes as options.
pub(super) fn modes(modes: &Modes) -> String {
    let all = [
        (modes.heap_dump, "heap=dump"),
        (modes.heap_sites, "heap=sites"),
        (modes.cpu_samples, "cpu=samples"),
        (modes.cpu_times, "cpu=times"),
        (modes.cpu_old, "cpu=old"),
        (modes.monitor, "monitor=y"),
        (modes.native, "native"),
        (modes.native_lock, "nativelock"),
        (modes.slow, "slow"),
    ];
    let on: Vec<&str> = all
        .into_iter()
        .filter_map(|(on, name)| on.then_some(name))
        .collect();
    on.join(",")
}

/// This JVM for a person: its program and process id.
pub(super) fn this_jvm(run: &Run) -> String {
    let pid = std::process::id();
    match main_of(run) {
        // Nothing that a terminal would obey.
        Some(main) => format!("{} (process {pid})", main.replace(char::is_control, "?")),
        None => format!("process {pid}"),
    }
}

/// Main class, module or archive, without its arguments, which may hold secrets.
fn main_of(run: &Run) -> Option<String> {
    let command = run.jvmti.system_property(c"sun.java.command")?;
    command.split(' ').next().map(str::to_owned)
}
