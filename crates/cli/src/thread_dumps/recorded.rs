//! Thread dumps in recordings of the JDK Flight Recorder.

use std::borrow::Cow;

use anyhow::bail;
use hprof_analysis::input::Input;
use hprof_foreign::jfr::facts::{self, Fact, Recorded, THREAD_DUMP, Visitor};
use hprof_thread_dumps::Dumps;
use jiff::Timestamp;

use crate::recordings;
use crate::render::screen::{count, plural};
use crate::{memory, open};

/// Dumps of one recording that are read, the last ones: two weeks with the settings `profile`.
const MAX_DUMPS: usize = 20_000;

/// Adds the dumps of a recording in the order of their times; gives sentences on what was not read.
///
/// # Errors
/// If it has none.
pub fn add(dumps: &mut Dumps, input: &Input, is_cut_short: bool) -> anyhow::Result<Vec<String>> {
    let bytes = input.mapped().unwrap_or_default();
    let bar = open::progress_bar(input);
    let mut found = Found::default();
    let skipped = facts::read(bytes, &[THREAD_DUMP], &mut found, &mut |part| {
        memory::has_read(part.len() as u64);
        bar.inc(part.len() as u64);
    });
    bar.finish_and_clear();
    let damage = recordings::damage(&input.name, &skipped, is_cut_short).into_iter();
    let mut notes: Vec<String> = damage
        .map(|note| format!("{}: {note}", input.name))
        .collect();
    let mut texts = found.0;
    texts.sort_by_key(|(at, _)| *at);
    // A JVM writes each text once; a file may refer to one any number of times.
    let mut room = bytes.len();
    let fits = texts.iter().rev().take(MAX_DUMPS);
    let fits = fits.take_while(|(_, text)| match room.checked_sub(text.len()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    });
    let first = texts.len() - fits.count();
    if first > 0 {
        let all = plural(texts.len() as u64, "thread dump", "thread dumps");
        let last = count((texts.len() - first) as u64);
        notes.push(format!(
            "{}: {all}, of which the last {last} are read.",
            input.name
        ));
    }
    let mut unreadable = 0;
    for (at, text) in &texts[first..] {
        let before = dumps.dumps.len();
        if dumps.add(text.as_bytes()).is_err() {
            unreadable += 1;
            continue;
        }
        for dump in &mut dumps.dumps[before..] {
            dump.time = dump.time.take().or_else(|| in_words(*at));
        }
    }
    if unreadable > 0 {
        let texts = plural(unreadable, "thread dump", "thread dumps");
        notes.push(format!("{}: {texts} in an unknown form.", input.name));
    }
    if unreadable as usize == texts.len() {
        let said = notes.first().map(|note| format!(" {note}"));
        bail!(
            "{}: no thread dump is in the recording; `hprof-rs summary` shows what it has. The settings `default` record one at the start and end of each \
             chunk, `profile` one a minute (event jdk.ThreadDump); since JDK 17 also \
             -XX:StartFlightRecording=filename=recording.jfr,jdk.ThreadDump#period=10s{}",
            input.name,
            said.unwrap_or_default()
        );
    }
    Ok(notes)
}

/// A time in nanoseconds since 1970, to the second.
fn in_words(at: i64) -> Option<String> {
    let second = at.div_euclid(1_000_000_000);
    Some(Timestamp::from_second(second).ok()?.to_string())
}

/// Texts with their times, in nanoseconds since 1970.
#[derive(Default)]
struct Found<'a>(Vec<(i64, Cow<'a, str>)>);

impl<'a> Visitor<'a> for Found<'a> {
    fn event(&mut self, event: &Recorded<'a, '_>) {
        self.0.push((event.at, event.text(Fact::Result)));
    }

    fn chunk_end(&mut self, _: i64, _: i64) {}
}
