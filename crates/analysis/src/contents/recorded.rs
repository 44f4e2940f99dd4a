//! The times of samples in the agent's own profiles.

use hprof_foreign::Note;
use hprof_format::ids::TraceSerial;
use hprof_format::model::CpuKind;
use hprof_stacks::Measure;
use hprof_stacks::events::{self, Chunk};
use hprof_stacks::slow::Threshold;
use hprof_stacks::slow_spans::{CallsPart, SlowSpans};
use hprof_stacks::timeline::Moment;
use rustc_hash::FxHashMap;

use super::options::{ReadError, ReadOptions};
use super::{Contents, CpuRow, CpuTable, Waits};

/// Takes the times of samples into contents that have all else. If a part of the time is wanted, its costs replace the sums.
pub(super) fn take(
    contents: &mut Contents,
    chunks: &[Chunk],
    options: &ReadOptions<'_>,
) -> Result<(), ReadError> {
    let chunks = events::counted(chunks);
    let Some(span) = events::span(chunks) else {
        return match options.calls {
            Some(_) => Err(ReadError::Calls(NO_TIMES.to_owned())),
            None => Ok(()),
        };
    };
    let calls = match options.calls {
        Some((CallsPart::Request, id)) => {
            Some((CallsPart::Request, Calls::of_request(contents, id)?))
        }
        Some((part, name)) => Some((part, Calls::of(contents, name)?)),
        None => None,
    };
    let damaged = chunks.iter().filter(|chunk| !chunk.is_sound()).count();
    if damaged > 0 {
        let note = format!("the times of samples are damaged in {damaged} places");
        contents.damage.note(note);
        options.check(&contents.damage)?;
    }
    contents.span = Some(span);
    let window = options.window(Some(span))?;
    if !options.with_times && window.is_none() && calls.is_none() {
        return Ok(());
    }
    let lost: u64 = chunks.iter().map(|chunk| chunk.lost).sum();
    contents
        .notes
        .extend((lost > 0).then_some(Note::WithoutTime(lost)));
    let mut timeline = events::timeline(chunks, &contents.stacks, span, window.unwrap_or(span));
    if let Some((part, calls)) = &calls {
        let have = |moment: &Moment| calls.have(*part, contents, moment);
        timeline.moments.retain(have);
    }
    if window.is_some() || calls.is_some() {
        keep(contents, &timeline.moments);
    }
    contents.timeline = options.with_times.then_some(timeline);
    Ok(())
}

pub(super) const NO_CALLS: &str =
    "it has no timed calls; slow=com.acme.Api.handle:200ms records them";
const NO_TIMES: &str = "it has no samples with times, which tell what slow calls do: record cpu=samples or cpu=wall with slow=";

/// The calls of timed methods, to look samples up in.
struct Calls {
    spans: SlowSpans,
    /// The methods, as stacks have them.
    methods: Vec<(String, String)>,
}

impl Calls {
    /// The calls of the methods whose names contain this text.
    fn of(contents: &Contents, name: &str) -> Result<Self, ReadError> {
        let all = contents.slow.methods.iter();
        let methods: Vec<_> = all.filter(|it| it.full_name().contains(name)).collect();
        if methods.is_empty() {
            return Err(ReadError::Calls(match contents.slow.is_there() {
                true => format!("no method that was timed has {name:?} in its name"),
                false => NO_CALLS.to_owned(),
            }));
        }
        if methods.iter().all(|it| it.spans.is_empty()) {
            return Err(ReadError::Calls(
                match methods.iter().all(|it| it.asked == Threshold::None) {
                    true => "no call counts as slow without a threshold, as in slow=com.acme.Api.handle:200ms or :p99",
                    false => "no call of a platform thread was slow",
                }
                .to_owned(),
            ));
        }
        Ok(Self {
            spans: SlowSpans::of(methods.iter().copied()),
            methods: methods
                .iter()
                .map(|it| (it.class.clone(), it.name.clone()))
                .collect(),
        })
    }

    /// The calls that worked for a request, given by the id of its trace or span.
    fn of_request(contents: &Contents, id: &str) -> Result<Self, ReadError> {
        let methods = &contents.slow.methods;
        let spans = SlowSpans::of_request(methods, id);
        if spans.is_empty() {
            let mut slowest = methods.iter().flat_map(|it| &it.slowest);
            let is_known = slowest.any(|call| call.is_of(id));
            return Err(ReadError::Calls(match (contents.slow.is_there(), is_known) {
                (false, _) => NO_CALLS.to_owned(),
                (true, false) => format!(
                    "no slow call worked for the request {id:?}; a program names its requests by OpenTelemetry's API or HprofSpan.context, and \
                     the ten slowest calls of each method have them, and all above a threshold, as in slow=com.acme.Api.handle:200ms"
                ),
                (true, true) => {
                    "the calls of that request were of virtual threads, whose samples thread=y keeps apart".to_owned()
                }
            }));
        }
        Ok(Self {
            spans,
            methods: Vec::new(),
        })
    }

    /// Returns whether a sample is of this part.
    fn have(&self, part: CallsPart, contents: &Contents, moment: &Moment) -> bool {
        let thread = moment.thread;
        let is_in = thread.is_some_and(|thread| self.spans.contain(thread, moment.at));
        match part {
            CallsPart::Slow | CallsPart::Request => is_in,
            CallsPart::Fast => !is_in && self.is_within(contents, moment.trace),
        }
    }

    /// Returns whether a stack has one of the methods.
    fn is_within(&self, contents: &Contents, trace: TraceSerial) -> bool {
        let mut frames = contents.stacks.frames_of(trace).iter();
        frames.any(|&frame| {
            let frame = contents.stacks.frame(frame);
            let mut methods = self.methods.iter();
            methods.any(|(class, method)| *frame.class_name == **class && *frame.method == **method)
        })
    }
}

/// Replaces the costs by those of the samples of a part of the time. What has no times goes, and a note says so.
fn keep(contents: &mut Contents, moments: &[Moment]) {
    let mut costs: FxHashMap<TraceSerial, u64> = FxHashMap::default();
    for moment in moments {
        *costs.entry(moment.trace).or_default() += moment.value;
    }
    let mut rows: Vec<CpuRow> = costs
        .into_iter()
        .map(|(trace, cost)| CpuRow {
            trace,
            cost,
            calls: None,
        })
        .collect();
    rows.sort_unstable_by_key(|row| row.trace);
    let is_times = |table: &CpuTable| table.kind == CpuKind::Times;
    let gone = [
        (Measure::Time, contents.cpu.iter().any(is_times)),
        (Measure::AllocatedBytes, !contents.sites.is_empty()),
        (
            Measure::Contention,
            contents.monitors.iter().any(|table| !table.is_native),
        ),
        (
            Measure::NativeLock,
            contents.monitors.iter().any(|table| table.is_native),
        ),
    ];
    let gone = gone.into_iter().filter_map(|(it, is)| is.then_some(it));
    let gone: Vec<Measure> = gone.collect();
    contents
        .notes
        .extend((!gone.is_empty()).then_some(Note::Timeless(gone)));
    contents.cpu = vec![CpuTable {
        kind: CpuKind::Samples,
        total: rows.iter().map(|row| row.cost).sum(),
        rows,
    }];
    contents.sites.clear();
    contents.monitors.clear();
    contents.old_cpu.clear();
    contents.monitor_dumps.clear();
    contents.waits = Waits::default();
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use hprof_stacks::events::{Clock, Event};
    use hprof_stacks::timeline::Window;

    use super::super::text;
    use super::*;

    const START: i64 = 1_764_381_000_000_000_000;
    const TABLE: &str = "TRACE 300001:\n\tA.b(A.java:7)\nTRACE 300002:\n\tA.c(A.java:9)\n\
        CPU SAMPLES BEGIN (total = 6) Sat Nov 21 03:10:42 2026\n\
        rank   self  accum   count trace method\n\
        \u{20}  1 66.67% 66.67%       4 300001 A.b\n\
        \u{20}  2 33.33% 99.99%       2 300002 A.c\n\
        CPU SAMPLES END\n";

    /// A profile of two seconds: `A.b` in the first, `A.c` in the second.
    fn profile() -> String {
        let mut chunk = Chunk::begin(Clock::Cpu, 10_000_000, START);
        chunk.to = START + 2_000_000_000;
        for (millis, trace, weight) in [(100, 1, 3), (900, 1, 1), (1500, 2, 2)] {
            chunk.push(Event {
                at: START + millis * 1_000_000,
                trace: TraceSerial::new(TraceSerial::BASE + trace),
                thread: None,
                weight,
            });
        }
        format!("{TABLE}# {}\n# a remark\n", chunk.text(0))
    }

    fn read(text: &str, from: Option<i64>, with_times: bool) -> Contents {
        let choose = |span: Option<Window>| -> Result<Window, Box<dyn Error + Send + Sync>> {
            let span = span.ok_or("no times")?;
            let from = span.from + from.unwrap_or(0);
            Ok(Window { from, ..span })
        };
        let options = ReadOptions {
            window: from.is_some().then_some(&choose),
            with_times,
            ..ReadOptions::default()
        };
        let (mut contents, chunks) = text::read(text);
        take(&mut contents, &chunks, &options).unwrap();
        contents
    }

    #[test]
    fn a_part_has_the_samples_of_its_time() {
        let all = read(&profile(), None, true);
        assert_eq!(all.comments, ["a remark"]);
        assert_eq!(all.span.unwrap().length(), 2_000_000_000);
        let timeline = all.timeline.unwrap();
        assert_eq!(timeline.sample_nanos, Some(10_000_000));
        assert_eq!(timeline.moments.len(), 3);
        assert_eq!(timeline.moments[0].at, START + 100_000_000);
        assert_eq!(all.cpu[0].total, 6);
        let part = read(&profile(), Some(500_000_000), false);
        assert_eq!((part.cpu.len(), part.cpu[0].total), (1, 3));
        assert!(part.timeline.is_none() && part.notes.is_empty());
    }

    #[test]
    fn what_has_no_times_is_named() {
        let monitors = "MONITOR TIME BEGIN (total = 3 ms) Sat Nov 21 03:10:42 2026\n\
            rank   self  accum   count trace monitor\n\
            \u{20}  1 100.00% 100.00%      1 300001 java.lang.Object (Java)\n\
            MONITOR TIME END\n";
        let part = read(&format!("{monitors}{}", profile()), Some(0), false);
        assert_eq!(part.notes, [Note::Timeless(vec![Measure::Contention])]);
        assert!(part.monitors.is_empty());
    }

    #[test]
    fn damaged_times_are_damage() {
        let text = profile().replace("data=", "data=//8");
        assert_eq!(read(&text, None, true).damage.count, 1);
    }
}
