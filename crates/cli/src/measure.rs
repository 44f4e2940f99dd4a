//! Options that choose a measure of a profile, and the packages of the program.

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::{Measure, Own, OwnCosts, Weights};

use crate::open::{self, FileArgument, Opened, Times};
use crate::render::out::tell;

/// The option that names the program's packages.
#[derive(Debug, Args)]
pub struct OwnArgument {
    /// A package or class of the program, such as `com.acme` or `com.acme.*Dao`; may be repeated. Costs are charged to the innermost
    /// method of the program on each stack [default: all but the JDK, runtimes of languages and known libraries].
    #[arg(long, value_name = "PATTERN")]
    pub own: Vec<String>,
}

impl OwnArgument {
    /// The rule that the patterns make; none without a pattern.
    pub fn rule(&self) -> Option<Own> {
        Own::given(&self.own)
    }

    /// The costs of the program's methods. Says it if no method matches the patterns.
    pub fn costs(&self, contents: &Contents, weights: &Weights) -> OwnCosts {
        let limit = contents.stack_limit();
        let costs = OwnCosts::of(&contents.stacks, weights, self.rule().as_ref(), limit);
        if costs.rows.is_empty() && !self.own.is_empty() {
            tell!(
                "hprof-rs: no stack has a method of {}; `samples --by method` lists those that there are",
                self.own.join(", ")
            );
        }
        costs
    }
}

/// The option that selects the measure.
#[derive(Debug, Args)]
pub struct MeasureArgument {
    /// The measure: samples (or cpu), time, calls, live-bytes, live-objects, allocated-bytes (or
    /// alloc), allocated-objects, contention (or lock), native-lock, and of other tools' files wall,
    /// native-samples, waits, native-bytes [default: the first of these that the file has]; with
    /// --event: count, time, bytes.
    #[arg(long, value_name = "MEASURE")]
    pub measure: Option<Measure>,

    /// Show the events of a type of a recording (JFR), such as jdk.SocketRead, by their stacks; `hprof-rs events FILE`
    /// lists the types. A measure is taken for --measure.
    #[arg(long, value_name = "TYPE")]
    pub event: Option<String>,
}

impl MeasureArgument {
    /// The type of events that is asked for.
    ///
    /// # Errors
    /// If two measures are given.
    pub fn event_type(&self) -> anyhow::Result<Option<&str>> {
        let Some(event) = self.event.as_deref() else {
            return Ok(None);
        };
        match (event.parse::<Measure>(), self.measure) {
            (Err(_), _) => Ok(Some(event)),
            (Ok(_), None) => Ok(None),
            (Ok(first), Some(second)) => {
                bail!("--event {first} is a measure, as is --measure {second}: give one of them")
            }
        }
    }

    /// The measure that is asked for.
    pub fn asked(&self) -> Option<Measure> {
        let event = self.event.as_deref().map(str::parse::<Measure>);
        match (event, self.measure) {
            (Some(Ok(measure)), _) => Some(measure),
            (Some(Err(_)), Some(Measure::Time)) => Some(Measure::EventTime),
            (_, measure) => measure,
        }
    }

    /// Reads the events of the type that is asked for, or else a part of the file.
    ///
    /// # Errors
    /// Errors of [`FileArgument::open_part`] and [`FileArgument::open_event`].
    pub fn open(
        &self,
        file: &FileArgument,
        with_heap: bool,
        times: Times<'_>,
    ) -> anyhow::Result<Opened> {
        match self.event_type()? {
            Some(event) => file
                .open_event(event, times)
                .with_context(|| format!("--event {event} is no measure but a type of events")),
            None => file.open_part(with_heap, 0, times),
        }
    }

    /// The costs that are asked for.
    ///
    /// # Errors
    /// If the file does not have them.
    pub fn weights(&self, opened: &Opened) -> anyhow::Result<Weights> {
        let contents = &opened.contents;
        let name = &opened.name;
        let found = match self.asked() {
            Some(measure) => Weights::of(contents, measure),
            None => Weights::first_of(contents),
        };
        found.with_context(|| {
            let there: Vec<&str> = Measure::ALL
                .into_iter()
                .filter(|&measure| Weights::of(contents, measure).is_some())
                .map(Measure::name)
                .collect();
            match there.is_empty() {
                false => format!("{name} has no such counts; it has: {}", there.join(", ")),
                true if opened.window.is_some() => format!(
                    "{name} has no costs of that time: the program waited; `hprof-rs samples --by time {name}` shows when it did not"
                ),
                true if !contents.old_cpu.is_empty() => format!(
                    "{name} holds pairs of callee and caller only (cpu=old), no stacks; it is best \
                     read as it is"
                ),
                true => match contents.instead_of_data() {
                    Some(instead) => format!("{name} holds {instead}"),
                    None => format!("{name} holds no profile: {}", open::shown_by(contents)),
                },
            }
        })
    }
}
