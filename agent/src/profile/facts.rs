//! Facts of the run for the head of its pages.

use std::fs;
use std::thread::available_parallelism;
use std::time::SystemTime;

use hprof_stacks::RunFacts;
use hprof_stacks::events::Clock;

use crate::options::KernelEvent;
use crate::os::clock::LocalTime;
use crate::recording::{Context, Run};

/// The facts at this moment.
pub(super) fn of(cx: &Context<'_>) -> RunFacts {
    let settings = cx.settings();
    let age = cx.output.age();
    let clock = match settings.samples_wall() {
        true => Clock::Wall,
        false => Clock::Cpu,
    };
    let samples = settings.modes.cpu_samples;
    let event = settings.event.as_ref().map(|sampling| &sampling.event);
    // Events that are times have the interval.
    let is_timed = samples && event.is_none_or(KernelEvent::is_clock);
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    RunFacts {
        began: SystemTime::now()
            .checked_sub(age)
            .map(|at| LocalTime::at(at).rfc3339()),
        run: Some(age),
        cpu: Some(cx.output.cpu()),
        cpus: available_parallelism().ok().map(usize::from),
        interval: is_timed.then_some(settings.interval),
        clock: is_timed.then_some(clock),
        event: event.map(ToString::to_string),
        depth: Some(settings.depth as usize),
        host: Some(host.trim().to_owned()).filter(|host| !host.is_empty()),
        vm: vm(cx.run),
        command: command(cx.run),
    }
}

/// The VM with its version.
fn vm(run: &Run) -> Option<String> {
    let name = run.jvmti.system_property(c"java.vm.name")?;
    let version = run.jvmti.system_property(c"java.vm.version")?;
    Some(format!("{name} {version}"))
}

/// The options of the VM and the program. Values of properties, options of agents and arguments of the program may hold secrets, and are
/// left out.
fn command(run: &Run) -> Option<String> {
    let program = run.jvmti.system_property(c"sun.java.command")?;
    let (main, arguments) = program.split_once(' ').unwrap_or((&program, ""));
    let line = fs::read("/proc/self/cmdline").unwrap_or_default();
    let words: Vec<String> = line
        .split(|&byte| byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let variables = ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"];
    let variables = variables.map(|name| std::env::var(name).unwrap_or_default());
    let from_variables = variables.iter().flat_map(|value| value.split_whitespace());
    let own = words.iter().skip(1).map(String::as_str);
    let mut shown = vec!["java".to_owned()];
    shown.extend(
        from_variables
            .chain(own)
            .take_while(|word| *word != main)
            .filter_map(option),
    );
    shown.push(main.to_owned());
    match arguments.split_whitespace().count() {
        0 => {}
        1 => shown.push("(1 argument)".to_owned()),
        more => shown.push(format!("({more} arguments)")),
    }
    Some(shown.join(" "))
}

/// An option of the VM as it may be shown; `None` for others.
fn option(word: &str) -> Option<String> {
    if let Some(property) = word.strip_prefix("-D") {
        let name = property.split('=').next().unwrap_or(property);
        let value = if property.contains('=') { "=..." } else { "" };
        return Some(format!("-D{name}{value}"));
    }
    let is_shown = word == "-jar"
        || ["-X", "-ea", "-da", "-server", "--enable-preview"]
            .iter()
            .any(|start| word.starts_with(start));
    // Paths say nothing of how the program runs, and fill lines.
    let is_path = word.starts_with("-Xbootclasspath") || word.starts_with("-Xrun");
    (is_shown && !is_path).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::option;

    #[test]
    fn options_are_shown_without_what_may_be_secret() {
        let shown = |word| option(word).unwrap_or_default();
        assert_eq!(shown("-Xmx2g"), "-Xmx2g");
        assert_eq!(shown("-XX:+UseZGC"), "-XX:+UseZGC");
        assert_eq!(shown("-Ddb.password=x=y"), "-Ddb.password=...");
        assert_eq!(shown("-Dquiet"), "-Dquiet");
        for word in [
            "-javaagent:a.jar=key",
            "-agentpath:b.so=key",
            "-Xrunhprof:x",
            "token",
            "-cp",
        ] {
            assert_eq!(option(word), None, "{word}");
        }
    }
}
