//! Carries out commands, from a script or a prompt.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Cmd, Config, Context, Editor, Helper, KeyEvent};

use super::agents::Agent;
use super::grammar;
use super::hub::Hub;
use super::prompt::Edited;
use super::report::{AgentList, Event};
use super::script::{self, Step, Target};

/// How long a script waits for an agent to say who it is.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// Carries out steps.
pub struct Console {
    hub: Arc<Hub>,
    target: Target,
}

/// The next action after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next one.
    GoOn,
    /// The end.
    Quit,
}

impl Console {
    /// Commands go to all agents.
    pub fn new(hub: &Arc<Hub>) -> Self {
        Self {
            hub: Arc::clone(hub),
            target: Target::All,
        }
    }

    /// Carries out a script. Commands that come before any agent wait for the first.
    pub fn run_script(&mut self, steps: &[Step]) -> Next {
        for step in steps {
            if let Step::Send(target, _) = step {
                self.wait_for(target.as_ref().unwrap_or(&self.target));
            }
            if self.hub.is_closing() || self.step(step) == Next::Quit {
                return Next::Quit;
            }
        }
        Next::GoOn
    }

    /// Waits for the first agent, and a moment for what it says of itself, on which the form of
    /// some commands depends. The JDK's agent says nothing until it has a lot to say.
    fn wait_for(&self, target: &Target) {
        self.hub.wait(None, |agents| !agents.is_empty());
        self.hub.wait(Some(INTRODUCTION), |agents| {
            let is_known = |agent: &&&Agent| agent.end.is_some() || agent.has_introduced_itself();
            let are_known = agents.iter().filter(is_known).count() == agents.len();
            are_known && agents.iter().any(|agent| target.matches(agent))
        });
    }

    fn step(&mut self, step: &Step) -> Next {
        let hub = &self.hub;
        match step {
            Step::Send(target, order) => {
                let target = target.as_ref().unwrap_or(&self.target);
                if hub.send(target, order) == 0 {
                    self.mistake(&format!(
                        "{}: there is no such agent: {target}",
                        order.words()
                    ));
                }
            }
            Step::Use(target) => self.target = target.clone(),
            Step::Wait(limit) => {
                self.wait(*limit, "an answer", |agents| {
                    agents.iter().all(|agent| agent.is_idle())
                });
            }
            Step::WaitAgents(number, limit) => {
                let number = *number as usize;
                self.wait(*limit, "agents", |agents| agents.len() >= number);
            }
            Step::WaitEnd(limit) => {
                self.wait(*limit, "the end of all agents", |agents| {
                    !agents.is_empty() && agents.iter().all(|agent| agent.end.is_some())
                });
            }
            Step::Sleep(time) => {
                hub.wait(Some(*time), |_| false);
            }
            Step::List => {
                let agents = hub.with_agents(AgentList::new);
                hub.report.event(&Event::List(&agents));
            }
            Step::Help(text) => hub.report.event(&Event::Text(text)),
            Step::Quit => return Next::Quit,
        }
        Next::GoOn
    }

    fn wait(&self, limit: Option<Duration>, what: &str, is_so: impl Fn(&[&Agent]) -> bool) {
        if !self.hub.wait(limit, is_so) && !self.hub.is_closing() {
            let seconds = limit.unwrap_or_default().as_secs_f64();
            self.mistake(&format!("waited {seconds} s for {what} in vain"));
        }
    }

    fn mistake(&self, text: &str) {
        self.hub.report.event(&Event::Mistake(text));
        self.hub.fail();
    }

    /// Carries out a line of a person; mistakes are answered.
    fn line(&mut self, line: &str) -> Next {
        match script::parse(line) {
            Ok(steps) => {
                for step in &steps {
                    if self.step(step) == Next::Quit {
                        return Next::Quit;
                    }
                }
                Next::GoOn
            }
            Err(error) => {
                self.hub
                    .report
                    .event(&Event::Mistake(&format!("{error:#}")));
                Next::GoOn
            }
        }
    }

    /// Reads commands from standard input until it ends or the user quits.
    pub fn interact(&mut self) -> Next {
        let is_terminal = io::stdin().is_terminal() && crate::render::out::is_terminal();
        if is_terminal && !self.hub.report.is_json() {
            return self.prompt().unwrap_or(Next::GoOn);
        }
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if self.hub.is_closing() || self.line(&line) == Next::Quit {
                return Next::Quit;
            }
        }
        Next::GoOn
    }

    fn prompt(&mut self) -> rustyline::Result<Next> {
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = Editor::<Words, _>::with_history(config, MemHistory::new())?;
        let edited = Arc::new(Edited::default());
        editor.set_helper(Some(Words {
            hub: Arc::clone(&self.hub),
            edited: Arc::clone(&edited),
        }));
        // It would clear the table above as well.
        editor.bind_sequence(KeyEvent::ctrl('l'), Cmd::Noop);
        self.hub.report.use_prompt(&edited);
        self.hub.report.event(&Event::Text(
            "`help` lists the commands; Tab completes them",
        ));
        let next = 'next: loop {
            let prompt = match &self.target {
                Target::All => "hprof-rs> ".to_owned(),
                target => format!("hprof-rs @{target}> "),
            };
            edited.begin(&prompt);
            let read = editor.readline(&prompt);
            edited.end();
            match read {
                // Pasted text may have several.
                Ok(lines) => {
                    for line in lines.lines() {
                        if self.line(line) == Next::Quit {
                            break 'next Next::Quit;
                        }
                    }
                }
                Err(ReadlineError::Eof | ReadlineError::Interrupted) => break Next::Quit,
                Err(_) => break Next::GoOn,
            }
            if self.hub.is_closing() {
                break Next::Quit;
            }
        };
        self.hub.report.use_stdout();
        Ok(next)
    }
}

/// Completes commands and agents, and tells what is shown.
struct Words {
    hub: Arc<Hub>,
    edited: Arc<Edited>,
}

impl Helper for Words {}

impl Validator for Words {}

impl Hinter for Words {
    type Hint = String;

    /// Called with every change.
    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<String> {
        self.edited.shows(line, at);
        None
    }
}

impl Highlighter for Words {
    /// Called when the cursor moves.
    fn highlight_char(&self, line: &str, at: usize, _: CmdKind) -> bool {
        self.edited.shows(line, at);
        false
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = line.get(..at).unwrap_or(line);
        let begin = typed.rfind(';').map_or(0, |at| at + 1);
        let begin = begin + typed[begin..].len() - typed[begin..].trim_start().len();
        let names = self.hub.with_agents(|agents| {
            let names = agents.iter().filter(|agent| agent.end.is_none());
            names
                .flat_map(|agent| [agent.number.to_string(), agent.name().to_owned()])
                .collect()
        });
        Ok(complete(&typed[begin..], begin, names))
    }
}

fn complete(typed: &str, begin: usize, names: Vec<String>) -> (usize, Vec<Pair>) {
    let pair = |text: String| Pair {
        display: text.clone(),
        replacement: text,
    };
    let names = names.into_iter().filter(|name| !name.is_empty());
    if let Some(name) = typed.strip_prefix("use ") {
        let found = names
            .chain(["all".to_owned()])
            .filter(|it| it.starts_with(name));
        return (begin + 4, found.map(pair).collect());
    }
    let (begin, typed) = match typed.strip_prefix('@') {
        Some(rest) => match rest.split_once(' ') {
            None => {
                let found = names
                    .chain(["all".to_owned()])
                    .filter(|it| it.starts_with(rest));
                return (begin + 1, found.map(|name| pair(name + " ")).collect());
            }
            Some((name, rest)) => (begin + name.len() + 2, rest),
        },
        None => (begin, typed),
    };
    let entries = grammar::entries().into_iter();
    let found = entries
        .filter(|entry| entry.words.starts_with(typed))
        .map(|entry| {
            let more = if entry.arguments.is_empty() { "" } else { " " };
            Pair {
                display: format!("{} {}", entry.words, entry.arguments),
                replacement: format!("{}{more}", entry.words),
            }
        });
    (begin, found.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(typed: &str) -> (usize, Vec<String>) {
        let names = vec!["1".to_owned(), "App".to_owned(), String::new()];
        let (at, pairs) = complete(typed, 0, names);
        (at, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn commands_and_agents_are_completed() {
        assert_eq!(found("dump h"), (0, vec!["dump heap".to_owned()]));
        assert_eq!(found("dump").1.len(), 4);
        assert_eq!(found("@A"), (1, vec!["App ".to_owned()]));
        assert_eq!(found("@App su"), (5, vec!["summary".to_owned()]));
        assert_eq!(
            found("use "),
            (4, vec!["1".to_owned(), "App".to_owned(), "all".to_owned()])
        );
        assert_eq!(found("xyz").1.len(), 0);
    }
}
