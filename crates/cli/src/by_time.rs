//! Costs by time, as a line of marks, rows and a sentence.

use hprof_analysis::stacks::Measure;
use hprof_format::ids::ThreadSerial;
use hprof_stacks::load::{Change, Load, change, cpu_measure, top_methods};
use hprof_stacks::pictures::times::Times;
use hprof_stacks::timeline::{Timeline, Window};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::open::Opened;
use crate::render::out::tell;
use crate::render::screen::{Align, Style, columns, count, percent, printable};
use crate::window::clock;

/// Stretches in a table, and in a line.
const ROWS: u64 = 40;
const MARKS: u64 = 60;
/// Marks of a line, from nothing to the highest.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of the longest bar.
const BAR: f64 = 20.0;

/// The times of a file, and the part of them that was read.
fn times(opened: &Opened) -> Option<(&Timeline, Window)> {
    let timeline = opened.contents.timeline.as_ref()?;
    Some((timeline, opened.window.unwrap_or(timeline.span)))
}

/// The load of the CPU as one line, and the sentence on what changed; empty if the file has no times of it.
pub fn summary(opened: &Opened, style: Style) -> String {
    let Some((timeline, window)) = times(opened) else {
        return String::new();
    };
    let Some(measure) = cpu_measure(timeline) else {
        return String::new();
    };
    let load = Load::of(timeline, measure, window, MARKS);
    let rates: Vec<f64> = rates(&load);
    let highest = rates.iter().copied().fold(0.0, f64::max);
    let marks = rates.iter().map(|&rate| {
        let part = rate / highest.max(f64::MIN_POSITIVE);
        LEVELS[((part * 8.0).ceil() as usize).min(8)]
    });
    let marks: String = marks.collect();
    let title = style.bold("CPU use over time");
    let unit = load.unit();
    let scale = format!(
        "{} to {}, {} s a mark, up to {} {unit}; `samples --by time` lists them",
        clock(window.from),
        clock(window.to),
        load.stretch as f64 / 1e9,
        load.figures(highest),
    );
    let mut text = format!("\n{title}: {scale}\n{marks}\n");
    if let Some(sentence) = sentence(opened) {
        text.push_str(&format!("{sentence}\n"));
    }
    text
}

fn rates(load: &Load) -> Vec<f64> {
    let values = load.values.iter().enumerate();
    values
        .map(|(at, &value)| load.rate(value, load.time_of(at)))
        .collect()
}

/// The change that stands out in the part that was read, in words.
pub fn sentence(opened: &Opened) -> Option<String> {
    let (timeline, window) = times(opened)?;
    let (load, found) = change(timeline, &opened.contents.stacks, window)?;
    Some(printable(&in_words(&load, &found)))
}

/// A change in a sentence with clock times, which may have any characters of names.
pub fn in_words(load: &Load, found: &Change) -> String {
    format!(
        "Between {} and {} {}",
        clock(found.window.from),
        clock(found.window.to),
        found.words(load)
    )
}

/// A table of costs of a measure by stretches of time; `None` if the file has no times.
pub fn table(opened: &Opened, measure: Measure, style: Style) -> Option<String> {
    let (timeline, window) = times(opened)?;
    let load = Load::of(timeline, measure, window, ROWS);
    let rates = rates(&load);
    let highest = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let tops = top_methods(timeline, &opened.contents.stacks, &load);
    let rows: Vec<[String; 5]> = (0..)
        .zip(tops)
        .map(|(at, top): (usize, _)| {
            let bar = "█".repeat((rates[at] / highest * BAR).round() as usize);
            let (share, method) = match top {
                Some((name, own)) => (percent(own, load.values[at]), name),
                None => (String::new(), String::new()),
            };
            let rate = load.figures(rates[at]);
            [clock(load.time_of(at).from), rate, bar, share, method]
        })
        .collect();
    let unit = match (load.is_in_cores(), measure.is_time()) {
        (true, _) => "cores".to_owned(),
        (false, true) => "ns/s".to_owned(),
        (false, false) => format!("{}/s", measure.unit()),
    };
    let head = [
        ("from", Align::Left),
        (&*unit, Align::Right),
        ("", Align::Left),
        ("self", Align::Right),
        ("most in", Align::Left),
    ];
    let mut text = columns(style, head, &rows);
    if let Some(sentence) = sentence(opened).filter(|_| cpu_measure(timeline).is_some()) {
        text.push_str(&format!("{sentence}\n"));
    }
    Some(text)
}

fn iso(at: i64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(at)).unwrap_or(Timestamp::MAX);
    at.to_string()
}

/// The rows of [`table`] as JSON.
pub fn table_json(opened: &Opened, measure: Measure) -> Option<Value> {
    let (timeline, window) = times(opened)?;
    let load = Load::of(timeline, measure, window, ROWS);
    let tops = top_methods(timeline, &opened.contents.stacks, &load);
    let rows = tops.into_iter().enumerate().map(|(at, top)| {
        let time = load.time_of(at);
        let rate = load.rate(load.values[at], time);
        let cores = load.is_in_cores().then_some(rate);
        let (method, own) = top.unzip();
        json!({
            "from": iso(time.from), "to": iso(time.to), "value": load.values[at], "cores": cores,
            "method": method, "self": own,
        })
    });
    Some(rows.collect())
}

/// The change that stands out in the part that was read; null if none does, or the file has no times.
pub fn change_json(opened: &Opened) -> Value {
    let found = times(opened)
        .and_then(|(timeline, window)| change(timeline, &opened.contents.stacks, window));
    let change = found.map(|(load, found)| as_json(&load, &found));
    change.unwrap_or_default()
}

/// A change as JSON.
pub fn as_json(load: &Load, found: &Change) -> Value {
    json!({
        "from": iso(found.window.from), "to": iso(found.window.to), "unit": load.unit(),
        "rate": found.rate, "otherwise": found.otherwise,
        "method": found.method, "share": found.share,
    })
}

/// The load and its change as JSON; null if the file has no times.
pub fn summary_json(opened: &Opened) -> Value {
    let Some((timeline, window)) = times(opened) else {
        return Value::Null;
    };
    let load = cpu_measure(timeline).map(|measure| {
        let load = Load::of(timeline, measure, window, MARKS);
        json!({
            "measure": measure, "seconds": load.stretch as f64 / 1e9,
            "unit": load.unit(),
            "rates": rates(&load),
        })
    });
    json!({"from": iso(window.from), "to": iso(window.to), "cpu": load, "change": change_json(opened)})
}

/// When the costs of a file arose, for its page; `None` if the file has no times.
pub fn times_of_page<'a>(
    opened: &'a Opened,
    thread_name: &'a dyn Fn(ThreadSerial) -> Option<String>,
) -> Option<Times<'a>> {
    let (timeline, window) = times(opened)?;
    let contents = &opened.contents;
    let pauses = contents.pauses.iter().copied();
    let recorded = &contents.recorded_threads;
    if recorded.left_out > 0 {
        tell!(
            "hprof-rs: {}: {} events are not in the lanes of threads, as there are too many; --from and --until take a part of the time",
            printable(&opened.name),
            count(recorded.left_out)
        );
    }
    Some(Times {
        pauses: pauses.filter(|&(at, _)| window.contains(at)).collect(),
        safepoints: recorded.safepoints.clone(),
        lanes: contents.lanes(window),
        ..Times::of(timeline, window, &contents.stacks, thread_name)
    })
}
