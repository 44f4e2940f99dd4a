//! The output of the listener: lines for people, or JSON, one object per line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hprof_format::binary::IdSize;
use hprof_wire::marks::Identity;
use serde_json::{Value, json};

use super::agents::{Agent, Answer, End};
use super::follow::Kind;
use super::prompt::Edited;
use super::quiet::Limit;
use super::reply::Table;
use super::script::Order;
use crate::render::screen::{bytes, count, plural, printable};
use crate::render::{foreign, out};

/// Something that has happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Agents can connect.
    Listening {
        /// Where, as in the agent's option `net`.
        address: &'a str,
        /// Where profiles go.
        folder: &'a Path,
    },
    /// An agent has connected.
    Connected {
        /// Its number.
        number: u32,
        /// Its address.
        peer: &'a str,
    },
    /// An agent has said who it is.
    Identified {
        /// Its number.
        number: u32,
        /// Its mark about itself.
        identity: &'a Identity,
    },
    /// A command was answered.
    Answered {
        /// The answer.
        answer: &'a Answer,
        /// The answer as a table.
        table: Option<&'a Table>,
    },
    /// A command was not sent, or will not be answered.
    Lost {
        /// The agent's number.
        number: u32,
        /// The command.
        order: &'a Order,
        /// Why.
        why: &'a str,
    },
    /// A stream has ended.
    Ended {
        /// The agent's number.
        number: u32,
        /// The bytes that have come.
        bytes: u64,
        /// The records, or lines of text.
        records: u64,
        /// How it ended.
        end: &'a End,
    },
    /// The agents, on demand.
    List(&'a AgentList),
    /// Something to read.
    Text(&'a str),
    /// Something is wrong.
    Mistake(&'a str),
    /// A connection was refused.
    Refused(&'a str),
    /// A number of lines about connections were left out.
    LeftOut(u64),
}

/// The agents at one moment, ready to be shown.
#[derive(Debug)]
pub struct AgentList {
    /// As a table.
    table: String,
    /// As JSON, one each.
    rows: Vec<Value>,
}

impl AgentList {
    /// The agents as they are now.
    pub fn new(agents: &[&Agent]) -> Self {
        Self {
            table: super::board::table(agents),
            rows: agents.iter().map(|agent| agent_json(agent)).collect(),
        }
    }
}

impl Event<'_> {
    /// Returns true if a client that connects can cause any number of these events.
    fn is_for_the_asking(&self) -> bool {
        match self {
            Self::Connected { .. } | Self::Identified { .. } | Self::Refused(_) => true,
            Self::Ended { end, .. } => end.file.is_none(),
            _ => false,
        }
    }
}

/// Where lines go.
enum Output {
    /// Nowhere.
    Nothing,
    /// Standard output.
    Stdout,
    /// Above the line that is being edited.
    Prompt(Arc<Edited>),
}

/// Says what happens.
pub struct Report {
    output: Mutex<Output>,
    json: bool,
    limit: Mutex<Limit>,
}

impl Report {
    /// On standard output.
    pub fn new(json: bool) -> Self {
        Self {
            output: Mutex::new(Output::Stdout),
            json,
            limit: Mutex::default(),
        }
    }

    /// That says nothing.
    pub fn quiet() -> Self {
        Self {
            output: Mutex::new(Output::Nothing),
            json: false,
            limit: Mutex::default(),
        }
    }

    /// Returns true if it is JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// From now on above the line that is being edited.
    pub fn use_prompt(&self, edited: &Arc<Edited>) {
        let output = Output::Prompt(Arc::clone(edited));
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = output;
    }

    /// From now on on standard output again.
    pub fn use_stdout(&self) {
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Output::Stdout;
    }

    /// Says what has happened. A reader that has gone is no reason to stop receiving.
    pub fn event(&self, event: &Event<'_>) {
        if event.is_for_the_asking() {
            let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
            match limit.allows(Instant::now()) {
                None => return,
                Some(0) => {}
                Some(left_out) => self.say(&Event::LeftOut(left_out)),
            }
        }
        self.say(event);
    }

    /// Says how much was not said, in the end.
    pub fn finish(&self) {
        let limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        if limit.dropped() > 0 {
            self.say(&Event::LeftOut(limit.dropped()));
        }
    }

    fn say(&self, event: &Event<'_>) {
        let mut text = match self.json {
            true => as_json(event).to_string(),
            false => as_text(event),
        };
        if text.is_empty() {
            return;
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text = match self.json {
            true => foreign::json(&text),
            false => foreign::page(&text),
        };
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *output {
            Output::Nothing => {}
            Output::Stdout => out::to_terminal(&text),
            Output::Prompt(edited) => {
                let width = terminal_size::terminal_size().map_or(80, |(width, _)| width.0);
                edited.print(&text, width, out::to_terminal);
            }
        }
    }
}

/// As much of what a stranger says as a line should hold.
fn short(text: &str) -> String {
    const MAX_LENGTH: usize = 200;
    let text = printable(text);
    match text.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
        None => text,
    }
}

fn as_text(event: &Event<'_>) -> String {
    match event {
        Event::Listening { address, folder } => format!(
            "listening on {address}, saving to {}\nstart programs with the agent's option net={address}",
            folder.display()
        ),
        Event::Connected { number, peer } => format!("[{number}] connected: {peer}"),
        Event::Identified { number, identity } => format!(
            "[{number}] {} (process {}): {}",
            short(&identity.main),
            identity.pid,
            short(&identity.modes)
        ),
        Event::Answered { answer, table } => {
            let what = answer.order.words();
            let number = answer.agent;
            if let Some(why) = &answer.refused {
                return format!("[{number}] {what}: refused: {}", printable(why));
            }
            let took = answer.took.as_secs_f64();
            let mut text = format!("[{number}] {what}: done in {took:.1} s");
            if answer.order.part().is_some() {
                text.push_str(&format!(", {} came", bytes(answer.bytes)));
            }
            text.push('\n');
            if let Some(table) = table {
                text.push_str(&table.text());
            }
            for (name, value) in answer.values.pairs() {
                text.push_str(&format!("  {}={}\n", printable(name), printable(value)));
            }
            text
        }
        Event::Lost { number, order, why } => {
            format!("[{number}] {}: {}", order.words(), printable(why))
        }
        Event::Ended {
            number,
            bytes: length,
            end,
            ..
        } => {
            let why = end
                .fault
                .as_ref()
                .map(|why| format!(" ({})", printable(why)));
            let why = why.unwrap_or_default();
            match &end.file {
                None => format!("[{number}] ended without a profile{why}"),
                Some(file) => {
                    let done = if end.is_cut { "cut off" } else { "ended" };
                    format!(
                        "[{number}] {done}{why}: {}, {}",
                        file.display(),
                        bytes(*length)
                    )
                }
            }
        }
        Event::List(agents) => agents.table.clone(),
        Event::Text(text) => (*text).to_owned(),
        Event::Mistake(text) | Event::Refused(text) => format!("hprof-rs: {text}"),
        Event::LeftOut(lines) => format!(
            "hprof-rs: there are too many connections; left out {} about them",
            plural(*lines, "line", "lines")
        ),
    }
}

fn as_json(event: &Event<'_>) -> Value {
    match event {
        Event::Listening { address, folder } => {
            json!({"event": "listening", "address": address, "folder": folder})
        }
        Event::Connected { number, peer } => {
            json!({"event": "connected", "agent": number, "peer": peer})
        }
        Event::Identified { number, identity } => json!({
            "event": "identified", "agent": number, "pid": identity.pid, "main": identity.main,
            "modes": identity.modes, "version": identity.version,
        }),
        Event::Answered { answer, table } => json!({
            "event": "answered", "agent": answer.agent, "command": answer.order.words(),
            "done": answer.refused.is_none(), "refused": answer.refused,
            "seconds": answer.took.as_secs_f64(), "bytes": answer.bytes,
            "table": table.map(Table::json), "values": answer.values.pairs().iter().cloned().collect::<BTreeMap<_, _>>(),
        }),
        Event::Lost { number, order, why } => json!({
            "event": "lost", "agent": number, "command": order.words(), "why": why,
        }),
        Event::Ended {
            number,
            bytes,
            records,
            end,
        } => json!({
            "event": "ended", "agent": number, "file": end.file, "complete": !end.is_cut,
            "fault": end.fault, "bytes": bytes, "records": records,
        }),
        Event::List(agents) => {
            json!({"event": "list", "agents": agents.rows})
        }
        Event::Text(text) => json!({"event": "text", "text": text}),
        Event::Mistake(text) => json!({"event": "mistake", "text": text}),
        Event::Refused(text) => json!({"event": "refused", "text": text}),
        Event::LeftOut(lines) => json!({"event": "left_out", "lines": lines}),
    }
}

fn agent_json(agent: &Agent) -> Value {
    json!({
        "agent": agent.number,
        "peer": agent.peer,
        "pid": agent.identity.as_ref().map(|it| it.pid),
        "main": agent.identity.as_ref().map(|it| &it.main),
        "modes": agent.identity.as_ref().map(|it| &it.modes),
        "format": agent.kind.map(kind_name),
        "records": agent.records,
        "bytes": agent.bytes,
        "samples": agent.samples,
        "ended": agent.end.is_some(),
    })
}

/// The format in a word.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Binary(IdSize::Four) => "binary, 4-byte ids",
        Kind::Binary(IdSize::Eight) => "binary",
        Kind::Text => "text",
    }
}

/// The final summary of received and saved data.
pub fn last_words(agents: &[&Agent]) -> String {
    let all: u64 = agents.iter().map(|agent| agent.bytes).sum();
    let cut = agents
        .iter()
        .filter(|agent| agent.end.as_ref().is_some_and(|end| end.is_cut))
        .count();
    let mut text = format!(
        "{}, {}",
        plural(agents.len() as u64, "agent", "agents"),
        bytes(all)
    );
    if cut > 0 {
        text.push_str(&format!(", {} cut off", count(cut as u64)));
    }
    text
}
