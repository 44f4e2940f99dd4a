//! Timed calls of chosen methods (`slow=`), each an event: the slowest ones of each method, and all slow ones.

use std::collections::{BTreeMap, BTreeSet};

use hprof_format::ids::ThreadSerial;
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::slow::{SlowCall, SlowMethod, SlowSpan};
use hprof_stacks::timeline::Window;

use super::bytes::Bytes;
use super::metadata::{self, id};
use super::pools::Pools;
use super::{START_TICKS, Writer};

/// A number of nanoseconds that is not known, as the JDK writes it.
const UNKNOWN: u64 = i64::MIN.cast_unsigned();

/// Returns the bytes of a chunk with an event `profiler.SlowCall` for each known call, none if no call is known: start, duration,
/// thread, method, CPU time, the time in which collections stopped the program, and the request. Of slow calls that are not among
/// the slowest of their method, the CPU time and the stops are not known. Calls that have nothing of `part` are left out.
pub fn slow_calls(profile: &Profile<'_>, methods: &[SlowMethod], part: Option<Window>) -> Vec<u8> {
    let is_in = |it: Window| part.is_none_or(|part| part.and(it).is_some());
    let windows = methods.iter().flat_map(|method| {
        let slowest = method.slowest.iter().map(window);
        slowest.chain(method.spans.iter().map(|it| it.window()))
    });
    let windows = windows.filter(|it| is_in(*it));
    let whole = windows.reduce(|all, it| Window {
        from: all.from.min(it.from),
        to: all.to.max(it.to),
    });
    let Some(whole) = whole else {
        return Vec::new();
    };
    let mut writer = Writer::new(profile);
    // Beyond those of a chunk of samples.
    writer.pools = Pools::after(1 << 32);
    for method in methods {
        let described = match method.descriptor.is_empty() {
            true => "()V",
            false => &method.descriptor,
        };
        let of = writer
            .pools
            .method_of(&method.class, &method.name, described);
        for call in method.slowest.iter().filter(|it| is_in(window(it))) {
            let thread = call.thread_serial().unwrap_or(ThreadSerial::UNKNOWN);
            let thread = writer.pools.thread(thread, call.thread.clone());
            event(
                &mut writer,
                whole,
                call,
                [thread, of, call.cpu, call.stopped()],
            );
        }
        // The same ones to a microsecond.
        let known = method.slowest.iter();
        let known: BTreeSet<_> = known.map(|it| (it.began / 1000, it.serial)).collect();
        let is_other = |it: &&SlowSpan| !known.contains(&(it.0, Some(it.2)));
        let spans = method.spans.iter().filter(is_other);
        let requests = method.requests.iter();
        let requests: BTreeMap<_, _> = requests.map(|it| ((it.0.0, it.0.2), it)).collect();
        for span in spans.filter(|it| is_in(it.window())) {
            let request = requests.get(&(span.0, span.2));
            let call = SlowCall {
                began: span.0.saturating_mul(1000),
                wall: span.1.saturating_mul(1000),
                trace_id: request.map(|it| it.1.clone()),
                span_id: request.map(|it| it.2.clone()),
                ..SlowCall::default()
            };
            let thread = writer.thread(Some(span.thread()));
            event(&mut writer, whole, &call, [thread, of, UNKNOWN, UNKNOWN]);
        }
    }
    let start = whole.from.max(0).cast_unsigned();
    writer.finish(start, whole.length(), metadata::Times::True)
}

fn window(call: &SlowCall) -> Window {
    Window {
        from: call.began,
        to: call.began.saturating_add_unsigned(call.wall),
    }
}

fn event(writer: &mut Writer<'_>, whole: Window, call: &SlowCall, values: [u64; 4]) {
    let since = call.began.saturating_sub(whole.from).max(0);
    let mut body = Bytes::default();
    body.number(START_TICKS + since.cast_unsigned());
    body.number(call.wall);
    for value in values {
        body.number(value);
    }
    for text in [&call.trace_id, &call.span_id] {
        body.text(text.as_deref().unwrap_or_default());
    }
    writer.chunk.event(id::SLOW_CALL, &body);
}
