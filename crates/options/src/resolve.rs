//! From what was written to what it means: defaults and cross checks.

use std::time::Duration;

use hprof_format::rank::Cutoff;

use super::error::{Cause, Failure, Hint, OptionError};
use super::event::{EventSampling, KernelEvent};
use super::file_name::expand_file_name;
use super::native_lock;
use super::packing::Packing;
use super::parse::BRACKETS;
use super::patterns::Patterns;
use super::picture::{PICTURE_CALLS_CUTOFF, PICTURE_DEPTH, Picture, foreign_end};
use super::push::PushUrl;
use super::raw::{Raw, RawDestination, Timing};
use super::settings::{
    Destination, Engine, Format, MAX_DEPTH, Modes, Process, SampleClock, Settings,
};
use super::signals;
use super::slow::SlowMethods;
use super::strip::Strip;
use super::threads::ThreadFilter;

/// Applies defaults and checks what only all options together can show.
///
/// # Errors
///
/// A [`Failure`] if options contradict each other or a value makes no sense.
pub fn resolve(raw: &Raw, process: &Process) -> Result<Settings, Failure> {
    check(raw, process).map_err(|error| Failure::new(&error, &raw.text, raw.error_policy()))
}

/// The order of the checks decides which of several errors is reported: those
/// of the JDK's agent come first, in its order.
fn check(raw: &Raw, process: &Process) -> Result<Settings, OptionError> {
    let packing = packing(raw);
    let format = match packing {
        Some(_) if !raw.has_format => Format::Binary,
        _ => raw.format,
    };
    let mode = match raw.cpu_timing {
        Some(_) => Some("cpu=times|old"),
        None if raw.locks.any() => Some("monitor=y"),
        None if raw.native > 0 => Some("native="),
        None => native_lock(raw)?.map(|_| "nativelock="),
    };
    if let (Format::Binary, Some(mode)) = (format, mode) {
        return Err(match &raw.destination {
            Some(RawDestination::File(file)) if !raw.has_format => Cause::NotInPacked {
                mode,
                file: file.clone(),
            },
            _ => Cause::NotInBinary { mode },
        }
        .into());
    }
    if let (true, Some(timing)) = (raw.cpu_samples, raw.cpu_timing) {
        let times = match timing {
            Timing::Times => "times",
            Timing::Old => "old",
        };
        return Err(Cause::SamplesWithTimes { times }.into());
    }
    let event = event(raw)?;
    if raw.native > 0 && raw.heap_sites {
        return Err(Cause::NativeWithSites.into());
    }
    let slow = slow(raw.slow.as_deref(), raw.spans)?;
    if let (true, Some(timing)) = (slow.has_methods(), raw.cpu_timing) {
        let times = match timing {
            Timing::Times => "times",
            Timing::Old => "old",
        };
        return Err(Cause::SlowWithTimes { times }.into());
    }
    let depth = u32::try_from(raw.depth).unwrap_or_default();
    if depth > MAX_DEPTH {
        return Err(Cause::DepthTooLarge {
            given: raw.depth,
            max: MAX_DEPTH,
        }
        .into());
    }
    let signal = signal(raw.signal.as_deref())?;
    let destination = destination(raw, process)?;
    let picture = match packing {
        Some(_) => None,
        None => picture(raw, &destination)?,
    };
    let is_pushed = matches!(destination, Destination::Push { .. });
    // They are drawn, too, by the receiver.
    let is_drawn = (picture.is_some() || is_pushed).then_some(());
    let depth = match is_drawn {
        Some(()) if !raw.has_depth => PICTURE_DEPTH,
        _ => depth,
    };
    let cutoff = match is_drawn {
        // Small stacks add up to wide frames, and of sites that hold nothing alive the allocation
        // is to be seen.
        Some(_) if !raw.has_cutoff && raw.cpu_timing.is_none() => Cutoff::below(0.0),
        Some(_) if !raw.has_cutoff => PICTURE_CALLS_CUTOFF,
        None if !raw.has_cutoff => Cutoff::DEFAULT,
        _ => Cutoff::below(raw.cutoff),
    };
    Ok(Settings {
        text: raw.text.clone(),
        modes: modes(raw),
        format,
        destination,
        picture,
        packing,
        depth,
        has_depth: raw.has_depth,
        interval: Duration::from_millis(u64::try_from(raw.interval).unwrap_or_default().max(1)),
        heap_interval: raw.heap_interval,
        native_interval: raw.native,
        native_lock_threshold: native_lock(raw)?.unwrap_or_default(),
        slow,
        shortcut: raw.shortcut,
        live: raw.live,
        cutoff,
        locks: raw.locks,
        lock_threshold: Duration::from_micros(
            u64::try_from(raw.lock_threshold).unwrap_or_default(),
        ),
        clock: raw.clock,
        include: patterns("include", raw.include.as_deref())?,
        exclude: patterns("exclude", raw.exclude.as_deref())?,
        lineno: raw.lineno,
        thread: raw.thread || is_pushed,
        doe: raw.doe,
        msa: raw.msa,
        force: raw.force,
        has_force: raw.has_force,
        verbose: raw.verbose && !is_pushed,
        strip: strip(raw, format)?,
        primfields: raw.primfields,
        primarrays: raw.primarrays,
        logflags: raw.logflags,
        debugflags: raw.debugflags,
        coredump: raw.coredump,
        errorexit: raw.errorexit,
        pause: raw.pause,
        debug: raw.debug,
        netwait: Duration::from_secs(u64::try_from(raw.netwait).unwrap_or_default()),
        lost: raw.lost,
        exitcmd: raw.exitcmd,
        control: raw.control,
        signal,
        engine: raw.engine,
        sample_clock: raw.sample_clock,
        filter: thread_filter(raw.filter.as_deref())?,
        states: raw.states,
        c_stack: raw.c_stack,
        vm_threads: raw.vm_threads,
        // Times are those of CPU time. Samples within slow calls are found by them.
        timeline: (raw.timeline || times_calls(raw)) && event.is_none(),
        event,
        timeline_max: u64::try_from(raw.timeline_max).unwrap_or_default(),
    })
}

/// The event of the kernel that takes samples.
fn event(raw: &Raw) -> Result<Option<EventSampling>, OptionError> {
    let Some(text) = &raw.event else {
        return match raw.every {
            0 => Ok(None),
            _ => Err(Cause::BadValue {
                name: "every",
                rule: "0 without event=".to_owned(),
                hint: Hint::NONE,
            }
            .into()),
        };
    };
    let bad = |name, rule: String| {
        Err(Cause::BadValue {
            name,
            rule,
            hint: Hint::NONE,
        }
        .into())
    };
    let event: KernelEvent = match text.parse() {
        Ok(event) => event,
        Err(rule) => return bad("event", rule),
    };
    let other = match (raw.sample_clock, raw.engine, raw.cpu_timing) {
        (_, _, Some(Timing::Times)) => Some("cpu=times"),
        (_, _, Some(Timing::Old)) => Some("cpu=old"),
        (SampleClock::Wall, ..) => Some("cpu=wall"),
        (_, Engine::Safepoint, _) => Some("engine=safepoint"),
        _ => None,
    };
    if let Some(option) = other {
        return Err(Cause::EventWith { option }.into());
    }
    let every = match u32::try_from(raw.every) {
        Ok(0) | Err(_) => event.usual(),
        Ok(_) if event.is_clock() => {
            return bad(
                "every",
                format!("0 for {event}, a time, which has interval="),
            );
        }
        Ok(every) if every < event.fewest() => {
            let fewest = event.fewest();
            return bad("every", format!("decimal and >= {fewest} for {event}"));
        }
        Ok(every) => every,
    };
    Ok(Some(EventSampling { event, every }))
}

fn modes(raw: &Raw) -> Modes {
    let asked = Modes {
        heap_dump: raw.heap_dump,
        heap_sites: raw.heap_sites,
        cpu_samples: raw.cpu_samples || raw.event.is_some(),
        cpu_times: raw.cpu_timing == Some(Timing::Times),
        cpu_old: raw.cpu_timing == Some(Timing::Old),
        monitor: raw.locks.any(),
        native: raw.native > 0,
        native_lock: native_lock(raw).is_ok_and(|threshold| threshold.is_some()),
        slow: times_calls(raw),
        by_default: false,
    };
    if asked == Modes::default() {
        if raw.continuous.is_some() {
            return Modes {
                cpu_samples: true,
                ..asked
            };
        }
        return Modes {
            heap_dump: true,
            heap_sites: true,
            by_default: true,
            ..asked
        };
    }
    asked
}

/// The compression that the name of the file selects.
fn packing(raw: &Raw) -> Option<Packing> {
    match &raw.destination {
        Some(RawDestination::File(name)) => Packing::of_name(name.as_ref()),
        _ => None,
    }
}

/// The contents that binary heap dumps leave out.
fn strip(raw: &Raw, format: Format) -> Result<Strip, OptionError> {
    let asked = match raw.strip.as_deref().map(Strip::parse) {
        None => None,
        Some(Ok(asked)) => Some(asked),
        Some(Err(reason)) => {
            return Err(Cause::BadValue {
                name: "strip",
                rule: "none|arrays|values|all-but=<pattern>[:...]".to_owned(),
                hint: Hint::new(reason),
            }
            .into());
        }
    };
    let strip = match (raw.dump_level, asked) {
        (2, asked) => asked.unwrap_or_default(),
        (level, Some(_)) => return Err(Cause::LevelWithStrip { level }.into()),
        (1, None) => Strip::Values,
        (_, None) => Strip::Contents,
    };
    if format == Format::Text && !strip.is_none() {
        let option = match &raw.strip {
            Some(asked) => format!("strip={asked}"),
            None => format!("dumplevel={}", raw.dump_level),
        };
        return Err(Cause::OnlyInBinary { option }.into());
    }
    Ok(strip)
}

/// The picture that the name of the file selects, unless `format` is given.
fn picture(raw: &Raw, destination: &Destination) -> Result<Option<Picture>, OptionError> {
    let Destination::File(path) = destination else {
        return Ok(None);
    };
    if raw.has_format {
        return Ok(None);
    }
    let Some(picture) = Picture::of_name(path) else {
        return match foreign_end(path) {
            Some(end) => Err(Cause::ForeignFormat {
                end,
                file: path.display().to_string(),
            }
            .into()),
            None => Ok(None),
        };
    };
    let modes = modes(raw);
    let has_stacks =
        modes.heap_sites || modes.cpu_samples || modes.monitor || modes.native || modes.native_lock;
    let mode = if modes.heap_dump {
        "heap dump"
    } else if modes.slow && !has_stacks {
        "table of slow calls"
    } else if modes.cpu_old {
        "profile of cpu=old"
    } else {
        return Ok(Some(picture));
    };
    Err(Cause::NoPicture {
        mode,
        file: path.display().to_string(),
    }
    .into())
}

fn signal(given: Option<&str>) -> Result<Option<i32>, OptionError> {
    match given {
        None | Some("auto") => Ok(None),
        Some(text) => match signals::number(text) {
            Ok(number) => Ok(Some(number)),
            Err(reason) => Err(Cause::BadValue {
                name: "signal",
                rule: "auto, or the name or number of a signal".to_owned(),
                hint: Hint::new(reason),
            }
            .into()),
        },
    }
}

fn patterns(name: &'static str, given: Option<&str>) -> Result<Patterns, OptionError> {
    let parsed = given.map_or_else(|| Ok(Patterns::default()), Patterns::parse);
    parsed.map_err(|reason| {
        Cause::BadValue {
            name,
            rule: "names of classes or packages, with colons between them".to_owned(),
            hint: Hint::new(reason),
        }
        .into()
    })
}

/// The shortest wait for a native lock that counts; `None` if none is recorded.
fn native_lock(raw: &Raw) -> Result<Option<Duration>, OptionError> {
    let given = raw.native_lock.as_deref().unwrap_or("n");
    native_lock::native_lock(given).map_err(|rule| {
        Cause::BadValue {
            name: "nativelock",
            rule: rule.to_owned(),
            hint: Hint::from(None),
        }
        .into()
    })
}

fn times_calls(raw: &Raw) -> bool {
    raw.slow.is_some() || raw.spans
}

fn slow(given: Option<&str>, spans: bool) -> Result<SlowMethods, OptionError> {
    let parsed = given.map_or_else(|| Ok(SlowMethods::default()), SlowMethods::parse);
    let parsed = parsed.map(|methods| match spans {
        true => methods.with_all_spans(),
        false => methods,
    });
    parsed.map_err(|reason| {
        Cause::BadValue {
            name: "slow",
            rule: "methods such as com.acme.Api.handle:200ms, with colons between them".to_owned(),
            hint: Hint::new(reason),
        }
        .into()
    })
}

fn thread_filter(given: Option<&str>) -> Result<ThreadFilter, OptionError> {
    let parsed = given.map_or_else(|| Ok(ThreadFilter::default()), ThreadFilter::parse);
    parsed.map_err(|reason| {
        Cause::BadValue {
            name: "filter",
            rule: "names of threads, with colons between them".to_owned(),
            hint: Hint::new(reason),
        }
        .into()
    })
}

/// The receiver of `continuous=`.
fn push(raw: &Raw, text: &str) -> Result<Destination, OptionError> {
    if let Some(first) = &raw.destination {
        let hint = Hint::new(format!(
            "continuous= sends profiles and writes none; leave out {first}"
        ));
        return Err(Cause::DestinationTwice { hint }.into());
    }
    let bad = |rule: &str, reason: String| {
        Cause::BadValue {
            name: "continuous",
            rule: rule.to_owned(),
            hint: Hint::new(reason),
        }
        .into()
    };
    let url = match text {
        "y" => None,
        text => {
            let url = PushUrl::parse(text);
            Some(url.map_err(|reason| bad("the URL of a receiver, or y", reason))?)
        }
    };
    let modes = modes(raw);
    let has_calls = modes.cpu_times || modes.monitor || modes.native || modes.native_lock;
    let has_stacks = modes.heap_sites || modes.cpu_samples || has_calls;
    if modes.heap_dump || !has_stacks || raw.format == Format::Binary {
        let reason = "name cpu=samples, cpu=wall, cpu=times, heap=sites, monitor=y, native= or nativelock=, and no format=b";
        return Err(bad("with modes whose costs have stacks", reason.to_owned()));
    }
    Ok(Destination::Push {
        url,
        every: Duration::from_secs(u64::try_from(raw.push_every).unwrap_or_default().max(1)),
    })
}

fn destination(raw: &Raw, process: &Process) -> Result<Destination, OptionError> {
    if let Some(text) = &raw.continuous {
        return push(raw, text);
    }
    match &raw.destination {
        None => Ok(Destination::File(raw.format.default_file_name().into())),
        Some(RawDestination::File(pattern)) => Ok(Destination::File(
            expand_file_name(pattern, process.pid, process.start).into(),
        )),
        Some(RawDestination::Unix(path)) => Ok(Destination::Unix(path.into())),
        Some(net @ RawDestination::Net { host, port }) => match port.parse::<u16>() {
            Ok(number) if number > 0 => Ok(Destination::Net {
                host: host.clone(),
                port: number,
            }),
            _ => {
                let hint = if port.contains(':') {
                    Hint::new(BRACKETS)
                } else {
                    Hint::NONE
                };
                Err(Cause::InvalidPort {
                    port: port.clone(),
                    net: net.to_string(),
                    hint,
                }
                .into())
            }
        },
    }
}
