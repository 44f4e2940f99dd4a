//! The commands of the prompt and of `--exec`.

use std::time::Duration;

use anyhow::{Context, bail};
use hprof_wire::command::SiteFlags;
use hprof_wire::control::Request;

use super::agents::Agent;
use super::grammar;

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
    Request(Request),
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
    /// Show this help.
    Help(String),
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

    /// Returns true if it means an agent.
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
            Self::Request(request) => request.verb(),
            Self::Eof => "eof",
        }
    }
}

/// Reads commands separated by semicolons or line ends. Quotes are those of a shell.
///
/// # Errors
/// The error in the first invalid one.
pub fn parse(text: &str) -> anyhow::Result<Vec<Step>> {
    commands(text)
        .into_iter()
        .map(|command| step(command).with_context(|| format!("`{command}`")))
        .collect()
}

/// The commands of a text, without remarks. A semicolon or line end in quotes separates none.
fn commands(text: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let (mut start, mut quote, mut is_escaped, mut is_remark) = (0, None, false, false);
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        let is_end = at == text.len();
        let is_first = text[start..at].trim().is_empty();
        match (quote, c) {
            _ if is_escaped && !is_end => is_escaped = false,
            _ if is_end || quote.is_none() && matches!(c, ';' | '\n') => {
                if !is_first && !is_remark {
                    commands.push(text[start..at].trim());
                }
                (start, is_remark) = (at + 1, false);
            }
            _ if is_remark => {}
            (None, '#') if is_first => is_remark = true,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => is_escaped = true,
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    commands
}

fn step(text: &str) -> anyhow::Result<Step> {
    let mut words = shlex::split(text).context("a quote is not closed")?;
    let target = match words.first().and_then(|word| word.strip_prefix('@')) {
        Some(name) => {
            let target = Target::parse(name);
            words.remove(0);
            Some(target)
        }
        None => None,
    };
    let step = grammar::parse(&words).map_err(anyhow::Error::msg)?;
    match (step, target) {
        (Step::Send(_, order), target) => Ok(Step::Send(target, order)),
        (_, Some(_)) => bail!("`@` goes with commands to agents only"),
        (step, None) => Ok(step),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_command_of_the_help_is_understood() {
        for entry in grammar::entries() {
            let arguments = match entry.words.as_str() {
                "alloc" => "on",
                "sampling" => "off 0x50000001",
                "clear" => "sites",
                "control" => "object com.acme.Cart limit=3 where=owner=Ada Lovelace",
                "depth" | "sleep" | "wait agents" => "3",
                "use" => "App",
                "dump sites" => "changed allocated gc cutoff=0.5",
                "dump samples" => "cutoff=0.01",
                _ => "",
            };
            let text = format!("{} {arguments}", entry.words);
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
        assert!(said("dumb sites gc").contains("did you mean `dump sites gc`?"));
        assert!(said("dump haep").contains("did you mean `dump heap`?"));
        assert!(said("xyzzy").contains("`help` lists them"));
        assert!(said("dump sites cutoff=2").contains("from 0 to 1"));
        assert!(said("dump samples changed").contains("cutoff=SHARE"));
        assert!(said("depth 70000").contains("65535"));
        assert!(said("alloc maybe").contains("on, off"));
        assert!(said("gc now").contains("usage: gc"));
        assert!(said("@2 quit").contains("`@`"));
        assert!(said("@2").contains("dump heap"));
        assert!(said("wait forever").contains("seconds"));
        assert!(said("use 'App").contains("quote"));
        for text in ["dump", "alloc maybe", "gc now", "sumary", "sampling"] {
            assert_eq!(said(text).lines().count(), 1, "{}", said(text));
        }
    }

    #[test]
    fn old_spellings_are_understood() {
        for (old, new) in [
            ("heap summary", "summary"),
            ("ls", "list"),
            ("?", "help"),
            ("q", "quit"),
            ("exit", "quit"),
            ("sampling on 50000001", "sampling on 0x50000001"),
            ("sampling on 0", "sampling on"),
            ("use *", "use all"),
        ] {
            assert_eq!(parse(old).unwrap(), parse(new).unwrap(), "{old}");
        }
        assert_ne!(parse("exit vm").unwrap(), parse("exit").unwrap());
    }

    #[test]
    fn quotes_are_those_of_a_shell() {
        let named = |name: &str| Step::Use(Target::Name(name.into()));
        let steps = parse("use 'My App; x'; use \"it's\\\";\"\n# don't\nuse a\\;b # remark");
        assert_eq!(
            steps.unwrap(),
            [named("My App; x"), named("it's\";"), named("a;b")]
        );
        let target = Some(Target::Name("My App".into()));
        let steps = parse("@'My App' gc;;").unwrap();
        assert_eq!(steps, [Step::Send(target, Order::Gc)]);
    }

    #[test]
    fn help_is_given_on_all_commands_or_one() {
        let text = |line: &str| match parse(line).unwrap().remove(0) {
            Step::Help(text) => text,
            step => panic!("{step:?}"),
        };
        let all = text("help");
        for words in [
            "dump sites [WORD]",
            "wait agents <N> [SECONDS]",
            "exit [vm]",
        ] {
            assert!(all.contains(words), "{words} in {all}");
        }
        assert!(all.lines().all(|line| line.len() <= 80), "{all}");
        assert!(!all.contains("heap summary"), "{all}");
        let one = text("help dump samples");
        assert!(one.contains("counting continues"), "{one}");
        assert!(one.contains("cutoff=SHARE"), "{one}");
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "[a-z@;=. 0-9'\"\\\\#-]{0,60}") {
            let _ = parse(&text);
        }
    }
}
