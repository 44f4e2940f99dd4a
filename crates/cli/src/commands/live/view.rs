//! The lines of the screen.

use std::cmp::Reverse;
use std::collections::HashMap;

use hprof_server::live::Mode;
use hprof_stacks::{Measure, MethodCost};

use crate::render::screen::{bytes, count, cut, percent, printable};

/// The choices of the user.
#[derive(Debug)]
pub struct View {
    /// The measure on the screen.
    pub measure: Measure,
    /// A place in [`WINDOWS`].
    window: usize,
    /// Which methods come first.
    pub order: Order,
    /// The first row that is shown.
    pub first: usize,
    /// Nothing is counted anew.
    pub is_paused: bool,
    /// Letters are of the pattern.
    pub is_typing: bool,
    /// The pattern.
    pub typed: String,
    /// A line for the user.
    pub message: Option<String>,
}

/// The cost by which methods are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The costs of a method of the program with the libraries that it calls, or another by itself.
    Own,
    /// The cost by itself.
    Alone,
    /// The cost with all that it calls.
    Total,
}

impl Order {
    /// The next one.
    pub fn next(self) -> Self {
        match self {
            Self::Own => Self::Alone,
            Self::Alone => Self::Total,
            Self::Total => Self::Own,
        }
    }
}

/// The last seconds that are counted.
const WINDOWS: [Option<u64>; 3] = [Some(10), Some(60), None];

impl Default for View {
    fn default() -> Self {
        Self {
            measure: Measure::Samples,
            window: 0,
            order: Order::Own,
            first: 0,
            is_paused: false,
            is_typing: false,
            typed: String::new(),
            message: None,
        }
    }
}

/// The numbers on the screen.
#[derive(Debug, Default)]
pub struct Facts {
    /// The program, printable.
    pub program: String,
    /// Its process.
    pub pid: u32,
    /// How long it is recorded.
    pub seconds: u64,
    /// CPU time of the agent's thread in percent of one core.
    pub agent: Option<f64>,
    /// CPU samples over the time.
    pub timeline: Vec<u64>,
    /// The modes that record.
    pub modes: Vec<Mode>,
    /// Remarks.
    pub notes: Vec<String>,
    /// The sum of all costs.
    pub total: u64,
    /// The methods.
    pub methods: Vec<MethodCost>,
    /// The costs of the program's methods with all of the JDK and libraries that they call.
    pub own: HashMap<String, u64>,
    /// Where the cost goes, in a sentence.
    pub headline: Option<String>,
}

/// A line of the screen.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// The characters, at most as many as the screen has columns.
    pub text: String,
    /// It stands out.
    pub is_head: bool,
}

impl View {
    /// The last seconds that are counted; all if none.
    pub fn window(&self) -> Option<u64> {
        WINDOWS.get(self.window).copied().flatten()
    }

    /// Counts another time.
    pub fn next_window(&mut self) {
        self.window = (self.window + 1) % WINDOWS.len();
    }

    /// The pattern, if there is one.
    pub fn filter(&self) -> Option<&str> {
        Some(self.typed.as_str()).filter(|text| !text.is_empty())
    }

    /// The screen, of this number of columns and rows.
    pub fn lines(&self, facts: &Facts, (columns, rows): (u16, u16)) -> Vec<Line> {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        let mut lines = vec![
            plain(self.title(facts)),
            plain(self.tabs(facts)),
            plain(timeline(&facts.timeline, columns)),
            plain(
                facts
                    .headline
                    .as_deref()
                    .map_or_else(String::new, printable),
            ),
            head(self.columns(), columns),
        ];
        let room = rows.saturating_sub(lines.len() + 1);
        let mut methods: Vec<&MethodCost> = facts.methods.iter().collect();
        let charged = |method: &MethodCost| facts.own.get(&method.name).copied();
        let cost = |method: &MethodCost| match self.order {
            Order::Own => charged(method).unwrap_or(0).max(method.own),
            Order::Alone => method.own,
            Order::Total => method.total,
        };
        methods.sort_by(|a, b| (Reverse(cost(a)), &a.name).cmp(&(Reverse(cost(b)), &b.name)));
        let first = self.first.min(methods.len().saturating_sub(1));
        for method in methods.iter().skip(first).take(room) {
            lines.push(plain(format!(
                "{:>7} {:>7} {:>10}  {:>7}  {}",
                charged(method).map_or_else(String::new, |own| percent(own, facts.total)),
                percent(method.own, facts.total),
                self.value(method.own),
                percent(method.total, facts.total),
                printable(&method.name)
            )));
        }
        if methods.is_empty() && room > 0 {
            lines.push(plain(self.nothing(facts).to_owned()));
        }
        lines.resize_with(rows.saturating_sub(1), || plain(String::new()));
        lines.push(head(self.bottom(facts), columns));
        lines.truncate(rows);
        for line in &mut lines {
            line.text = cut(&line.text, columns);
        }
        lines
    }

    fn title(&self, facts: &Facts) -> String {
        let mut text = format!(
            "{} ({}), recorded {} s",
            facts.program, facts.pid, facts.seconds
        );
        if let Some(percent) = facts.agent {
            text.push_str(&format!(", the agent's thread {percent:.1} % of a core"));
        }
        if self.is_paused {
            text.push_str(", PAUSED");
        }
        text
    }

    fn tabs(&self, facts: &Facts) -> String {
        let tab = |key, name: &str, measure, mode| {
            let on = if facts.modes.contains(&mode) {
                ""
            } else {
                " (off)"
            };
            match self.measure == measure {
                true => format!("[{key} {name}{on}]"),
                false => format!(" {key} {name}{on} "),
            }
        };
        let window = match self.window() {
            Some(seconds) => format!("last {seconds} s"),
            None => "all".to_owned(),
        };
        format!(
            "{}{}{}{}   w {window}   {}",
            tab('c', "CPU", Measure::Samples, Mode::Cpu),
            tab('W', "wall clock", Measure::Wall, Mode::Wall),
            tab('a', "allocation", Measure::AllocatedBytes, Mode::Alloc),
            tab('l', "locks", Measure::Contention, Mode::Lock),
            self.value(facts.total),
        )
    }

    fn columns(&self) -> String {
        let name = |name: &str, order| match self.order == order {
            true => format!("{name}\u{25be}"),
            false => name.to_owned(),
        };
        let own = name("own", Order::Own);
        let alone = name("self", Order::Alone);
        let total = name("total", Order::Total);
        format!("{own:>7} {alone:>7} {:>10}  {total:>7}  method", "")
    }

    fn nothing(&self, facts: &Facts) -> &'static str {
        match (self.filter(), facts.seconds) {
            (Some(_), _) => "        no stack has such a method",
            (None, 0..3) => "        nothing was counted yet",
            (None, _) => "        nothing was counted in this time",
        }
    }

    fn bottom(&self, facts: &Facts) -> String {
        if self.is_typing {
            return format!("methods that match: {}_", printable(&self.typed));
        }
        if let Some(message) = self.message.as_ref().or(facts.notes.last()) {
            return printable(message);
        }
        let filter = self
            .filter()
            .map(|it| format!("{}, Esc: all   ", printable(it)));
        format!(
            "{}c W a l: measure  w: time  t: order  /: filter  p: pause  q: quit",
            filter.unwrap_or_default()
        )
    }

    fn value(&self, value: u64) -> String {
        match self.measure {
            Measure::AllocatedBytes => bytes(value),
            Measure::Contention => format!("{} ms", count(value)),
            _ => count(value),
        }
    }
}

fn plain(text: String) -> Line {
    Line {
        text,
        is_head: false,
    }
}

/// A line that stands out in its full width.
fn head(text: String, columns: usize) -> Line {
    Line {
        text: format!("{text:<columns$}"),
        is_head: true,
    }
}

/// A bar for each of the last times.
fn timeline(values: &[u64], columns: usize) -> String {
    const BARS: [char; 8] = [
        '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
        '\u{2588}',
    ];
    let shown = &values[values.len().saturating_sub(columns)..];
    let most = shown.iter().max().copied().unwrap_or(0).max(1);
    let bar = |&value: &u64| match value {
        0 => ' ',
        value => {
            let step = (value * BARS.len() as u64).div_ceil(most) as usize;
            BARS[step.clamp(1, BARS.len()) - 1]
        }
    };
    shown.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn facts() -> Facts {
        let method = |name: &str, own, total| MethodCost {
            name: name.to_owned(),
            own,
            total,
        };
        Facts {
            program: "Shop".to_owned(),
            pid: 42,
            seconds: 12,
            timeline: vec![0, 1, 2, 8],
            modes: vec![Mode::Cpu],
            total: 10,
            methods: vec![
                method("A.hot", 7, 7),
                method("A.main", 3, 10),
                method("B\u{1b}[2J", 0, 1),
            ],
            own: HashMap::from([("A.main".to_owned(), 8)]),
            headline: Some("80 % in A.main (A.java:1)".to_owned()),
            ..Facts::default()
        }
    }

    fn texts(view: &View, size: (u16, u16)) -> Vec<String> {
        view.lines(&facts(), size)
            .into_iter()
            .map(|line| line.text)
            .collect()
    }

    #[test]
    fn a_screen_of_any_size_is_filled_and_not_exceeded() {
        let view = View::default();
        for size in [(1, 1), (10, 3), (40, 8), (200, 50)] {
            let lines = texts(&view, size);
            assert_eq!(lines.len(), usize::from(size.1));
            for line in lines {
                assert!(line.width() <= usize::from(size.0), "{line}");
                assert!(!line.contains('\u{1b}'), "{line}");
            }
        }
    }

    #[test]
    fn methods_come_by_self_or_by_total_cost() {
        let mut view = View::default();
        assert!(texts(&view, (80, 20))[3].starts_with("80 % in A.main"));
        let first = |view: &View| texts(view, (80, 20))[5].clone();
        assert!(first(&view).ends_with("A.main"));
        assert!(first(&view).starts_with("  80.0%"), "{}", first(&view));
        view.order = view.order.next();
        assert!(first(&view).ends_with("A.hot"));
        view.order = view.order.next();
        assert!(first(&view).ends_with("A.main"));
        view.first = 99;
        assert!(texts(&view, (80, 20))[6].is_empty(), "the last row stays");
    }

    #[test]
    fn the_highest_bar_is_the_highest_value() {
        assert_eq!(timeline(&[0, 1, 4, 8], 3), "\u{2581}\u{2584}\u{2588}");
    }
}
