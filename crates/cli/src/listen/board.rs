//! The live table: the upper lines of the terminal, which do not scroll.
//!
//! A scrolling region (DECSTBM) keeps what is printed and typed below it, so that neither the
//! report nor the line editor has to know of the table.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::agents::Agent;
use super::hub::Hub;
use super::report::kind_name;
use crate::render::screen::{Align, Style, bytes, count, printable, whole_columns};
use crate::render::{foreign, out};

/// How often it is drawn.
const PERIOD: Duration = Duration::from_millis(500);
/// Smaller terminals get no table.
const MIN_HEIGHT: u16 = 15;
const MAX_LINES: u16 = 14;

/// The table of agents, without rates.
pub fn table(agents: &[&Agent]) -> String {
    lines(agents, &HashMap::new(), Style::of_stdout())
}

fn lines(agents: &[&Agent], rates: &HashMap<u32, u64>, style: Style) -> String {
    if agents.is_empty() {
        return "no agents yet\n".to_owned();
    }
    let rows: Vec<[String; 9]> = agents
        .iter()
        .map(|agent| {
            let identity = agent.identity.as_ref();
            let state = match &agent.end {
                None => "live",
                Some(end) if end.is_cut => "cut off",
                Some(_) => "ended",
            };
            let name = match agent.name() {
                "" => &agent.peer,
                name => name,
            };
            [
                agent.number.to_string(),
                printable(name).chars().take(32).collect(),
                identity.map_or("?".to_owned(), |it| it.pid.to_string()),
                match identity {
                    Some(it) => printable(&it.modes),
                    None => agent.kind.map_or("?", kind_name).to_owned(),
                },
                count(agent.records),
                bytes(agent.bytes),
                rates
                    .get(&agent.number)
                    .map_or(String::new(), |rate| format!("{}/s", bytes(*rate))),
                agent.samples.map_or(String::new(), count),
                state.to_owned(),
            ]
        })
        .collect();
    let head = [
        ("#", Align::Right),
        ("name", Align::Left),
        ("pid", Align::Right),
        ("mode", Align::Left),
        ("records", Align::Right),
        ("bytes", Align::Right),
        ("rate", Align::Right),
        ("samples", Align::Right),
        ("state", Align::Left),
    ];
    whole_columns(style, head, &rows)
}

/// Draws the table until dropped.
pub struct Board {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Board {
    /// On a terminal that is large enough.
    pub fn start(hub: &Arc<Hub>) -> Option<Self> {
        let (_, height) = size()?;
        if height < MIN_HEIGHT {
            return None;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (hub, seen) = (Arc::clone(hub), Arc::clone(&is_over));
        // Before anything is printed below it.
        let mut drawing = Drawing::default();
        drawing.reserve(true);
        let thread = std::thread::Builder::new()
            .name("board".to_owned())
            .spawn(move || {
                while !seen.load(Ordering::Relaxed) {
                    drawing.draw(&hub);
                    std::thread::park_timeout(PERIOD);
                }
                drawing.give_back();
            })
            .ok()?;
        Some(Self {
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[derive(Default)]
struct Drawing {
    width: u16,
    height: u16,
    lines: u16,
    before: HashMap<u32, u64>,
    drawn: Option<Instant>,
}

impl Drawing {
    /// Sets the scrolling region to what lies below the table.
    fn reserve(&mut self, at_start: bool) {
        let Some((width, height)) = size() else {
            return;
        };
        (self.width, self.height) = (width, height);
        self.lines = (height / 3).min(MAX_LINES);
        let top = self.lines + 1;
        let mut text = String::new();
        if at_start {
            text.push_str("\x1b[2J");
        } else {
            text.push_str("\x1b7");
        }
        text.push_str(&format!("\x1b[{top};{height}r"));
        text.push_str(&match at_start {
            true => format!("\x1b[{top};1H"),
            false => "\x1b8".to_owned(),
        });
        write(&text);
    }

    fn draw(&mut self, hub: &Hub) {
        if size() != Some((self.width, self.height)) {
            self.reserve(false);
        }
        let style = Style::of_stdout();
        let room = usize::from(self.lines).saturating_sub(1);
        let elapsed = self
            .drawn
            .map_or(PERIOD, |drawn| drawn.elapsed())
            .as_secs_f64();
        let before = std::mem::take(&mut self.before);
        let table = hub.with_agents(|agents| {
            // The live ones first, then those that ended last.
            let mut chosen: Vec<&Agent> = agents.to_vec();
            chosen.sort_by_key(|agent| (agent.end.is_some(), std::cmp::Reverse(agent.number)));
            self.before = agents
                .iter()
                .map(|agent| (agent.number, agent.bytes))
                .collect();
            let rates = agents.iter().map(|agent| {
                let old = before.get(&agent.number).copied().unwrap_or(agent.bytes);
                (agent.number, ((agent.bytes - old) as f64 / elapsed) as u64)
            });
            let rates: HashMap<u32, u64> = rates.collect();
            let more = chosen.len().saturating_sub(room - 1);
            chosen.truncate(room - 1);
            chosen.sort_by_key(|agent| agent.number);
            let mut text = lines(&chosen, &rates, style);
            if more > 0 {
                text.push_str(&style.dim(&format!("... {more} more (list shows all)")));
            }
            foreign::page(&text)
        });
        self.drawn = Some(Instant::now());
        // The cursor is put back, so what is being typed is not disturbed.
        let mut text = String::from("\x1b7");
        let mut table = table.lines();
        for line in 1..self.lines {
            let content = table.next().unwrap_or_default();
            let content = cut(content, usize::from(self.width));
            text.push_str(&format!("\x1b[{line};1H\x1b[2K{content}"));
        }
        let rule = "\u{2500}".repeat(usize::from(self.width));
        text.push_str(&format!(
            "\x1b[{};1H{}\x1b8",
            self.lines,
            foreign::page(&style.dim(&rule))
        ));
        write(&text);
    }

    /// Lets the whole terminal scroll again.
    fn give_back(&self) {
        write(&format!("\x1b[r\x1b[{};1H\n", self.height));
    }
}

/// The beginning of a line that fits; escape sequences take no room.
fn cut(line: &str, width: usize) -> String {
    let mut text = String::new();
    let (mut used, mut in_escape) = (0, false);
    for c in line.chars() {
        if c == '\x1b' {
            in_escape = true;
        }
        if !in_escape {
            if used == width {
                continue;
            }
            used += 1;
        }
        text.push(c);
        if in_escape && c == 'm' {
            in_escape = false;
        }
    }
    text
}

fn size() -> Option<(u16, u16)> {
    terminal_size::terminal_size().map(|(width, height)| (width.0, height.0))
}

fn write(text: &str) {
    out::to_terminal(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_without_their_colours() {
        assert_eq!(cut("\x1b[1mabc\x1b[0m", 2), "\x1b[1mab\x1b[0m");
        assert_eq!(cut("abc", 9), "abc");
    }
}
