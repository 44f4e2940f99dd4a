//! The commands of the prompt and of `--exec`.

use std::time::Duration;

use anyhow::{Context, bail};
use hprof_wire::command::SiteFlags;

use super::agents::Agent;

/// A command with its explanation.
#[derive(Debug)]
pub struct Spec {
    /// The words it begins with.
    pub words: &'static str,
    /// The arguments.
    pub arguments: &'static str,
    /// The description.
    pub help: &'static str,
}

/// All commands, in the order of the help.
pub static COMMANDS: &[Spec] = &[
    Spec {
        words: "dump samples",
        arguments: "[cutoff=SHARE]",
        help: "the CPU samples so far, as a table; counting continues",
    },
    Spec {
        words: "dump sites",
        arguments: "[changed] [allocated] [gc] [cutoff=SHARE]",
        help: "the allocation sites, as a table: only those changed since the last one, ordered by all that was allocated, after a collection",
    },
    Spec {
        words: "dump heap",
        arguments: "",
        help: "a heap dump",
    },
    Spec {
        words: "dump traces",
        arguments: "",
        help: "the stack traces that the stream lacks",
    },
    Spec {
        words: "summary",
        arguments: "",
        help: "the totals of the heap",
    },
    Spec {
        words: "gc",
        arguments: "",
        help: "collect garbage",
    },
    Spec {
        words: "alloc",
        arguments: "on|off",
        help: "record the stacks of allocations, or count objects without them",
    },
    Spec {
        words: "sampling",
        arguments: "on|off [THREAD]",
        help: "turn CPU sampling on or off: for one thread, by its object id in hexadecimal, or for all",
    },
    Spec {
        words: "clear",
        arguments: "samples|sites",
        help: "set the counts to zero",
    },
    Spec {
        words: "depth",
        arguments: "N",
        help: "the number of frames in traces from now on",
    },
    Spec {
        words: "exit vm",
        arguments: "",
        help: "end the program (agents of this project: only with the option exitcmd=y)",
    },
    Spec {
        words: "eof",
        arguments: "",
        help: "send no more commands; the profile continues",
    },
    Spec {
        words: "list",
        arguments: "",
        help: "the agents and what they have sent",
    },
    Spec {
        words: "use",
        arguments: "all|N|NAME",
        help: "the agents that get commands from now on; `@2 gc` names one for a single command",
    },
    Spec {
        words: "wait",
        arguments: "[SECONDS]",
        help: "wait until all commands are answered",
    },
    Spec {
        words: "wait agents",
        arguments: "N [SECONDS]",
        help: "wait until N agents have connected",
    },
    Spec {
        words: "wait end",
        arguments: "[SECONDS]",
        help: "wait until all agents have disconnected",
    },
    Spec {
        words: "sleep",
        arguments: "SECONDS",
        help: "do nothing for a while",
    },
    Spec {
        words: "help",
        arguments: "",
        help: "this list",
    },
    Spec {
        words: "quit",
        arguments: "",
        help: "save all profiles and exit; the programs continue",
    },
];

/// Whom a command is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// All agents.
    All,
    /// The agent with this number.
    Number(u32),
    /// Agents whose class or process id this is.
    Name(String),
}

/// A command to agents.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Order {
    Gc,
    DumpHeap,
    Sites { flags: SiteFlags, cutoff: f32 },
    Summary,
    Exit,
    Traces,
    Samples { cutoff: f32 },
    Alloc(bool),
    Sampling(bool, u64),
    ClearSamples,
    ClearSites,
    Depth(u16),
    Eof,
}

/// A step of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send a command, to the agents in use unless it names others.
    Send(Option<Target>, Order),
    /// Change the agents in use.
    Use(Target),
    /// Wait until all commands are answered.
    Wait(Option<Duration>),
    /// Wait until N agents have connected.
    WaitAgents(u32, Option<Duration>),
    /// Wait until all have gone.
    WaitEnd(Option<Duration>),
    /// Do nothing.
    Sleep(Duration),
    /// Show the agents.
    List,
    /// Show the commands.
    Help,
    /// End.
    Quit,
}

impl Target {
    /// Reads `all`, a number, or a name.
    pub fn parse(text: &str) -> Self {
        match (text, text.parse()) {
            ("all" | "*", _) => Self::All,
            (_, Ok(number)) => Self::Number(number),
            (name, Err(_)) => Self::Name(name.to_owned()),
        }
    }

    /// Whether it means an agent.
    pub fn matches(&self, agent: &Agent) -> bool {
        match self {
            Self::All => true,
            Self::Number(number) => agent.number == *number,
            Self::Name(name) => agent.name() == name,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl Order {
    /// The command as it is typed.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Gc => "gc",
            Self::DumpHeap => "dump heap",
            Self::Sites { .. } => "dump sites",
            Self::Summary => "summary",
            Self::Exit => "exit vm",
            Self::Traces => "dump traces",
            Self::Samples { .. } => "dump samples",
            Self::Alloc(true) => "alloc on",
            Self::Alloc(false) => "alloc off",
            Self::Sampling(true, _) => "sampling on",
            Self::Sampling(false, _) => "sampling off",
            Self::ClearSamples => "clear samples",
            Self::ClearSites => "clear sites",
            Self::Depth(_) => "depth",
            Self::Eof => "eof",
        }
    }
}

/// Reads commands separated by semicolons or line ends.
///
/// # Errors
/// The error in the first invalid one.
pub fn parse(text: &str) -> anyhow::Result<Vec<Step>> {
    let parts = text.split([';', '\n']).map(str::trim);
    let parts = parts.filter(|part| !part.is_empty() && !part.starts_with('#'));
    parts
        .map(|part| parse_step(part).with_context(|| format!("`{part}`")))
        .collect()
}

fn parse_step(text: &str) -> anyhow::Result<Step> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut target = None;
    if let Some(name) = words.first().and_then(|word| word.strip_prefix('@')) {
        target = Some(Target::parse(name));
        words.remove(0);
    }
    let step = match *words.as_slice() {
        ["gc"] => Step::Send(None, Order::Gc),
        ["dump", "heap"] => Step::Send(None, Order::DumpHeap),
        ["dump", "traces"] => Step::Send(None, Order::Traces),
        ["dump", "samples", ref rest @ ..] => {
            let (flags, cutoff) = table_options(rest)?;
            if flags != SiteFlags::default() {
                bail!("only cutoff=SHARE goes with samples");
            }
            Step::Send(None, Order::Samples { cutoff })
        }
        ["dump", "sites", ref rest @ ..] => {
            let (flags, cutoff) = table_options(rest)?;
            Step::Send(None, Order::Sites { flags, cutoff })
        }
        ["summary"] | ["heap", "summary"] => Step::Send(None, Order::Summary),
        ["alloc", switch] => Step::Send(None, Order::Alloc(on_or_off(switch)?)),
        ["sampling", switch] => Step::Send(None, Order::Sampling(on_or_off(switch)?, 0)),
        ["sampling", switch, thread] => {
            let digits = thread.strip_prefix("0x").unwrap_or(thread);
            let id = u64::from_str_radix(digits, 16)
                .with_context(|| format!("{thread} is no object id in hexadecimal"))?;
            Step::Send(None, Order::Sampling(on_or_off(switch)?, id))
        }
        ["clear", "samples"] => Step::Send(None, Order::ClearSamples),
        ["clear", "sites"] => Step::Send(None, Order::ClearSites),
        ["depth", number] => {
            let depth = number
                .parse()
                .context("the depth is a number up to 65535")?;
            Step::Send(None, Order::Depth(depth))
        }
        ["exit", "vm"] => Step::Send(None, Order::Exit),
        ["eof"] => Step::Send(None, Order::Eof),
        ["list" | "ls"] => Step::List,
        ["use", name] => Step::Use(Target::parse(name)),
        ["wait", "agents", number] => {
            Step::WaitAgents(number.parse().context("expected a number")?, None)
        }
        ["wait", "agents", number, limit] => Step::WaitAgents(
            number.parse().context("expected a number")?,
            Some(seconds(limit)?),
        ),
        ["wait", "end"] => Step::WaitEnd(None),
        ["wait", "end", limit] => Step::WaitEnd(Some(seconds(limit)?)),
        ["wait"] => Step::Wait(None),
        ["wait", limit] => Step::Wait(Some(seconds(limit)?)),
        ["sleep", time] => Step::Sleep(seconds(time)?),
        ["help" | "?"] => Step::Help,
        ["quit" | "exit" | "q"] => Step::Quit,
        _ => bail!("no such command{}", advice(&words)),
    };
    match (step, target) {
        (Step::Send(_, order), target) => Ok(Step::Send(target, order)),
        (_, Some(_)) => bail!("`@` goes with commands to agents only"),
        (step, None) => Ok(step),
    }
}

fn advice(words: &[&str]) -> String {
    let typed = words.join(" ");
    let first = words.first().copied().unwrap_or_default();
    let same = COMMANDS
        .iter()
        .filter(|spec| spec.words.split(' ').next() == Some(first));
    let same: Vec<String> = same
        .map(|spec| format!("{} {}", spec.words, spec.arguments))
        .collect();
    if !same.is_empty() {
        return format!("; there is: {}", same.join(", ").trim_end());
    }
    let near = COMMANDS
        .iter()
        .map(|spec| (strsim::jaro_winkler(&typed, spec.words), spec.words));
    match near.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, words)) if likeness > 0.8 => format!("; did you mean `{words}`?"),
        _ => "; `help` lists them".to_owned(),
    }
}

fn table_options(words: &[&str]) -> anyhow::Result<(SiteFlags, f32)> {
    let (mut flags, mut cutoff) = (SiteFlags::default(), 0.0);
    for word in words {
        match *word {
            "changed" => flags.incremental = true,
            "allocated" => flags.by_allocated = true,
            "gc" => flags.force_gc = true,
            word => match word.strip_prefix("cutoff=").map(str::parse) {
                Some(Ok(share)) if (0.0..=1.0).contains(&share) => cutoff = share,
                Some(_) => bail!("cutoff is a share from 0 to 1, such as 0.01"),
                None => bail!("unknown word `{word}`{}", advice(&["dump"])),
            },
        }
    }
    Ok((flags, cutoff))
}

fn on_or_off(word: &str) -> anyhow::Result<bool> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => bail!("expected on or off"),
    }
}

fn seconds(word: &str) -> anyhow::Result<Duration> {
    let number: f64 = word
        .parse()
        .ok()
        .with_context(|| format!("{word} is no number of seconds"))?;
    Duration::try_from_secs_f64(number)
        .ok()
        .with_context(|| format!("{word} is no time"))
}

/// The help on all commands.
pub fn help() -> String {
    let left = |spec: &Spec| {
        format!("{} {}", spec.words, spec.arguments)
            .trim_end()
            .to_owned()
    };
    let width = 30;
    let mut text = String::new();
    for spec in COMMANDS {
        let left = left(spec);
        if left.len() > width {
            text.push_str(&format!("  {left}\n  {:width$}  {}\n", "", spec.help));
        } else {
            text.push_str(&format!("  {left:width$}  {}\n", spec.help));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_command_of_the_help_is_understood() {
        for spec in COMMANDS {
            let arguments = match spec.words {
                "alloc" => "on",
                "sampling" => "off 0x50000001",
                "clear" => "sites",
                "depth" | "sleep" | "wait agents" => "3",
                "use" => "App",
                "dump sites" => "changed allocated gc cutoff=0.5",
                "dump samples" => "cutoff=0.01",
                _ => "",
            };
            let text = format!("{} {arguments}", spec.words);
            assert!(parse(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn scripts_have_several_steps_and_targets() {
        let steps = parse("dump heap; @2 gc\n# remark\n@App summary;wait 2.5;quit").unwrap();
        assert_eq!(
            steps,
            [
                Step::Send(None, Order::DumpHeap),
                Step::Send(Some(Target::Number(2)), Order::Gc),
                Step::Send(Some(Target::Name("App".into())), Order::Summary),
                Step::Wait(Some(Duration::from_millis(2500))),
                Step::Quit,
            ]
        );
    }

    #[test]
    fn mistakes_are_answered() {
        let said = |text: &str| format!("{:#}", parse(text).unwrap_err());
        assert!(said("dump").contains("dump heap"));
        assert!(said("sumary").contains("did you mean `summary`?"));
        assert!(said("dump sites cutoff=2").contains("from 0 to 1"));
        assert!(said("depth 70000").contains("65535"));
        assert!(said("@2 quit").contains("`@`"));
        assert!(said("wait forever").contains("seconds"));
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "[a-z@;=. 0-9-]{0,60}") {
            let _ = parse(&text);
        }
    }
}
