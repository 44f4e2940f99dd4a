//! The grammar of the listener's commands, for clap.
//!
//! Help, usage, errors and suggestions come from these declarations. `samples` and the like are
//! sub-commands of `dump`, so that clap tells which words may follow.

use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Parser, Subcommand, ValueEnum};
use hprof_wire::command::SiteFlags;
use hprof_wire::control::RequestError;

use super::script::{Order, Step, Target};
use crate::render::table;

/// One command line, without the `@` that names its agents.
#[derive(Debug, Parser)]
#[command(name = "", no_binary_name = true, disable_help_flag = true)]
pub(super) struct Line {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Ask for a part of the profile
    #[command(subcommand, disable_help_subcommand = true)]
    Dump(Part),
    /// The totals of the heap
    Summary,
    /// Collect garbage
    Gc,
    /// Record the stacks of allocations, or count objects without them
    Alloc {
        #[arg(value_name = "on|off", hide_possible_values = true)]
        switch: Switch,
    },
    /// Turn CPU sampling on or off: for one thread, by its object id in hexadecimal, or for all
    Sampling {
        #[arg(value_name = "on|off", hide_possible_values = true)]
        switch: Switch,
        #[arg(value_parser = object_id, default_value = "0", hide_default_value = true)]
        thread: u64,
    },
    /// Set the counts to zero
    Clear {
        #[arg(value_name = "samples|sites", hide_possible_values = true)]
        counts: Counts,
    },
    /// The number of frames in traces from now on
    Depth {
        #[arg(value_name = "N")]
        frames: u16,
    },
    /// With `vm`, end the program (agents of this project: only with the option exitcmd=y); without, quit
    Exit {
        #[arg(value_name = "vm", hide_possible_values = true)]
        what: Option<Exit>,
    },
    /// Ask as `hprof-rs control` does: stop, start, dump and reset with modes, status, metrics
    Control {
        #[arg(
            value_name = "REQUEST",
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        request: Vec<String>,
    },
    /// Send no more commands; the profile continues
    Eof,
    /// The agents and what they have sent
    #[command(alias = "ls")]
    List,
    /// The agents that get commands from now on; `@2 gc` names one for a single command
    Use {
        #[arg(value_name = "all|N|NAME", value_parser = target)]
        target: Target,
    },
    /// Wait until all commands are answered
    #[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Wait {
        #[arg(value_parser = seconds)]
        seconds: Option<Duration>,
        #[command(subcommand)]
        for_what: Option<Awaited>,
    },
    /// Do nothing for a while
    Sleep {
        #[arg(value_parser = seconds)]
        seconds: Duration,
    },
    /// Save all profiles and exit; the programs continue
    #[command(alias = "q")]
    Quit,
    /// The spelling `heap summary` of earlier releases
    #[command(subcommand, hide = true, disable_help_subcommand = true)]
    Heap(OfHeap),
}

/// Parts of a profile.
#[derive(Debug, Subcommand)]
enum Part {
    /// The CPU samples so far, as a table; counting continues
    Samples {
        #[arg(value_name = "cutoff=SHARE", value_parser = cutoff, default_value = "cutoff=0", hide_default_value = true)]
        cutoff: f32,
    },
    /// The allocation sites, as a table. Words: `changed` since the last one, ordered by all that was
    /// `allocated`, after a `gc`, `cutoff=SHARE`
    Sites {
        #[arg(value_name = "WORD", value_parser = site_option)]
        options: Vec<SiteOption>,
    },
    /// A heap dump
    Heap,
    /// The stack traces that the stream lacks
    Traces,
}

#[derive(Debug, Subcommand)]
enum Awaited {
    /// Wait until N agents have connected
    Agents {
        #[arg(value_name = "N")]
        number: u32,
        #[arg(value_parser = seconds)]
        seconds: Option<Duration>,
    },
    /// Wait until all agents have disconnected
    End {
        #[arg(value_parser = seconds)]
        seconds: Option<Duration>,
    },
}

#[derive(Debug, Subcommand)]
enum OfHeap {
    Summary,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Counts {
    Samples,
    Sites,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Exit {
    Vm,
}

/// A word after `dump sites`.
#[derive(Debug, Clone, Copy)]
enum SiteOption {
    Changed,
    Allocated,
    Gc,
    Cutoff(f32),
}

/// A command as the help lists it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The words it begins with.
    pub(super) words: String,
    /// Its arguments, in the form of a usage line.
    pub(super) arguments: String,
    /// A phrase that says its effect.
    pub(super) about: String,
}

/// Reads the words of one command.
///
/// # Errors
/// The mistake, in one line.
pub(super) fn parse(words: &[String]) -> Result<Step, String> {
    let words = match words {
        [word] if word == "?" => &["help".to_owned()],
        words => words,
    };
    match Line::try_parse_from(words) {
        Ok(line) => line.verb.step(),
        // Clap's own list of commands ends at the first word of each.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Step::Help(match words {
            [_] => help(),
            _ => error.to_string(),
        })),
        Err(error) => Err(in_one_line(&error, words)),
    }
}

/// All commands that the help lists, in its order.
pub(super) fn entries() -> Vec<Entry> {
    let mut grammar = Line::command().disable_help_subcommand(true);
    grammar.build();
    let mut entries = Vec::new();
    collect(&mut grammar, "", &mut entries);
    let entry = |words: &str, arguments: &str, about: &str| Entry {
        words: words.to_owned(),
        arguments: arguments.to_owned(),
        about: about.to_owned(),
    };
    entries.push(entry(
        "help",
        "[COMMAND]",
        "This list, or more on a command",
    ));
    entries
}

fn collect(command: &mut Command, before: &str, entries: &mut Vec<Entry>) {
    for command in command.get_subcommands_mut().filter(|it| !it.is_hide_set()) {
        let words = format!("{before} {}", command.get_name()).trim().to_owned();
        if command.get_positionals().next().is_some() || !command.has_subcommands() {
            let usage = command.render_usage().to_string();
            let line = usage.lines().next().unwrap_or_default();
            let about = command.get_about().map(ToString::to_string);
            entries.push(Entry {
                arguments: match line.split_once(&words) {
                    Some((_, arguments)) => arguments.trim().to_owned(),
                    None => String::new(),
                },
                words: words.clone(),
                about: about.unwrap_or_default(),
            });
        }
        collect(command, &words, entries);
    }
}

/// The help on all commands, in lines of 80 columns.
pub fn help() -> String {
    let rows = entries().into_iter().map(|it| {
        let command = format!("{} {}", it.words, it.arguments);
        [command.trim_end().to_owned(), it.about]
    });
    table::list(rows, Some(80))
}

/// Clap's message without its line breaks and with the usage at its end. Where clap knows what was
/// meant, the whole command as it should have been.
fn in_one_line(error: &clap::Error, words: &[String]) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let typed = words.join(" ");
        let whole = entries()
            .into_iter()
            .filter(|it| it.words.starts_with(&typed));
        let whole: Vec<String> = whole
            .map(|it| {
                format!("{} {}", it.words, it.arguments)
                    .trim_end()
                    .to_owned()
            })
            .collect();
        return format!("incomplete; there is: {}", whole.join(", "));
    }
    let text = error.to_string();
    let (message, usage) = text.split_once("Usage:").unwrap_or((&text, ""));
    let message = message.trim_start_matches("error: ");
    if error.kind() == ErrorKind::InvalidSubcommand {
        let message = message.lines().next().unwrap_or_default();
        return match corrected(error, words) {
            Some(meant) => format!("{message}; did you mean `{meant}`?"),
            None => format!("{message}; `help` lists them"),
        };
    }
    let message: Vec<&str> = message.split_whitespace().collect();
    let usage: Vec<&str> = usage
        .lines()
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let usage = usage.join(" ");
    match usage.trim() {
        "" => message.join(" "),
        usage => format!("{}; usage: {usage}", message.join(" ")),
    }
}

/// The command with the word that clap suggests in the place of the unknown one.
fn corrected(error: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let suggested = match error.get(ContextKind::SuggestedSubcommand)? {
        ContextValue::String(word) => word,
        // The likeliest is the last.
        ContextValue::Strings(words) => words.last()?,
        _ => return None,
    };
    let words = words.iter().map(|word| match word == unknown {
        true => suggested.as_str(),
        false => word.as_str(),
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

impl Verb {
    fn step(self) -> Result<Step, String> {
        let order = match self {
            Self::Control { request } => {
                let request = request.join(" ").parse();
                Order::Request(request.map_err(|error: RequestError| error.to_string())?)
            }
            Self::Dump(Part::Samples { cutoff }) => Order::Samples { cutoff },
            Self::Dump(Part::Sites { options }) => sites(&options),
            Self::Dump(Part::Heap) => Order::DumpHeap,
            Self::Dump(Part::Traces) => Order::Traces,
            Self::Summary | Self::Heap(OfHeap::Summary) => Order::Summary,
            Self::Gc => Order::Gc,
            Self::Alloc { switch } => Order::Alloc(switch.is_on()),
            Self::Sampling { switch, thread } => Order::Sampling(switch.is_on(), thread),
            Self::Clear { counts } => match counts {
                Counts::Samples => Order::ClearSamples,
                Counts::Sites => Order::ClearSites,
            },
            Self::Depth { frames } => Order::Depth(frames),
            Self::Exit {
                what: Some(Exit::Vm),
            } => Order::Exit,
            Self::Eof => Order::Eof,
            Self::List => return Ok(Step::List),
            Self::Use { target } => return Ok(Step::Use(target)),
            Self::Wait { seconds, for_what } => {
                return Ok(match for_what {
                    None => Step::Wait(seconds),
                    Some(Awaited::Agents { number, seconds }) => Step::WaitAgents(number, seconds),
                    Some(Awaited::End { seconds }) => Step::WaitEnd(seconds),
                });
            }
            Self::Sleep { seconds } => return Ok(Step::Sleep(seconds)),
            Self::Exit { what: None } | Self::Quit => return Ok(Step::Quit),
        };
        Ok(Step::Send(None, order))
    }
}

impl Switch {
    fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

fn sites(options: &[SiteOption]) -> Order {
    let (mut flags, mut share) = (SiteFlags::default(), 0.0);
    for option in options {
        match option {
            SiteOption::Changed => flags.incremental = true,
            SiteOption::Allocated => flags.by_allocated = true,
            SiteOption::Gc => flags.force_gc = true,
            SiteOption::Cutoff(cutoff) => share = *cutoff,
        }
    }
    Order::Sites {
        flags,
        cutoff: share,
    }
}

fn site_option(word: &str) -> Result<SiteOption, String> {
    match word {
        "changed" => Ok(SiteOption::Changed),
        "allocated" => Ok(SiteOption::Allocated),
        "gc" => Ok(SiteOption::Gc),
        word => cutoff(word).map(SiteOption::Cutoff),
    }
}

fn cutoff(word: &str) -> Result<f32, String> {
    let share = word.strip_prefix("cutoff=").ok_or("unknown word")?;
    let share = share.parse().ok().filter(|it| (0.0..=1.0).contains(it));
    share.ok_or_else(|| "cutoff is a share from 0 to 1, such as 0.01".to_owned())
}

fn object_id(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u64::from_str_radix(digits, 16).map_err(|_| "no object id in hexadecimal".to_owned())
}

fn seconds(word: &str) -> Result<Duration, String> {
    let number = word.parse().map_err(|_| "no number of seconds")?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

fn target(word: &str) -> Result<Target, String> {
    Ok(Target::parse(word))
}
