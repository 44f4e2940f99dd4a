//! The Firefox Profiler's processed profile format, written by the crate that samply uses
//! (<https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md>).

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use fxprof_processed_profile::{
    CategoryColor, CategoryPairHandle, CpuDelta, Frame, FrameFlags, FrameInfo,
    Profile as FirefoxProfile, SamplingInterval, ThreadHandle, Timestamp, WeightType,
};
use hprof_format::ids::ThreadSerial;
use hprof_stacks::pictures::profile::Profile;
use hprof_stacks::{Measure, Weights};

use super::created;
use crate::open::Opened;

/// Writes a process for each measure, and in it a thread for each Java thread that the profile
/// distinguishes. HPROF does not say when a sample was taken, so they stand a millisecond apart.
///
/// # Errors
/// None but those of `serde_json`.
pub fn firefox(opened: &Opened, profile: &Profile<'_>, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let created = Duration::from_millis(created::millis(&opened.contents, opened.modified));
    let start = SystemTime::UNIX_EPOCH + created;
    let interval = SamplingInterval::from_millis(1);
    let mut firefox = FirefoxProfile::new(profile.title, start.into(), interval);
    firefox.set_os_name("JVM");
    // There is nothing that a symbol server could add.
    firefox.set_symbolicated(true);
    let method = firefox.add_category("Method", CategoryColor::Yellow).into();
    let class = firefox.add_category("Class", CategoryColor::Blue).into();
    let mut writer = Writer {
        profile,
        firefox,
        method,
        class,
    };
    for (pid, weights) in (1..).zip(&profile.weights) {
        writer.measure(pid, weights);
    }
    serde_json::to_writer(out, &writer.firefox)?;
    Ok(())
}

/// Sums above this are written in larger units, since each sample weighs 31 bits at most.
const MAX_SUM: u64 = 10_000 * i32::MAX as u64;

/// The unit, a power of 1,024, in which the weights of all rows add up to no more than [`MAX_SUM`].
fn unit(weights: &Weights) -> u64 {
    let rows = weights.rows.iter().map(|row| row.value);
    let sum = rows.chain([weights.missing()]).fold(0, u64::saturating_add);
    let mut unit = 1;
    while sum / unit > MAX_SUM {
        unit *= 1024;
    }
    unit
}

struct Writer<'a> {
    profile: &'a Profile<'a>,
    firefox: FirefoxProfile,
    method: CategoryPairHandle,
    class: CategoryPairHandle,
}

impl Writer<'_> {
    fn measure(&mut self, pid: u32, weights: &Weights) {
        let zero = Timestamp::from_millis_since_reference(0.0);
        let unit = unit(weights);
        let title = match unit {
            1 => weights.measure.title().to_owned(),
            unit => format!("{} / {unit}", weights.measure.title()),
        };
        let title = title.as_str();
        let process = self.firefox.add_process(title, pid, zero);
        let mut threads: HashMap<Option<ThreadSerial>, ThreadHandle> = HashMap::new();
        let mut time = 0;
        for row in weights.rows.iter().filter(|row| row.value > 0) {
            let stacks = self.profile.stacks;
            let java = stacks.trace(row.trace).and_then(|trace| trace.thread);
            let next = threads.len() as u32;
            let thread = *threads.entry(java).or_insert_with(|| {
                let tid = java.map_or(pid * 1_000_000 + next, ThreadSerial::get);
                let thread = self.firefox.add_thread(process, tid, zero, next == 0);
                let name = match java {
                    None => title.to_owned(),
                    Some(serial) => (self.profile.thread_name)(serial)
                        .unwrap_or_else(|| format!("thread {serial}")),
                };
                self.firefox.set_thread_name(thread, &name);
                self.firefox
                    .set_thread_samples_weight_type(thread, weight_type(weights.measure));
                thread
            });
            let frames = stacks.frames_of(row.trace).iter().rev();
            let mut names: Vec<(String, CategoryPairHandle)> = frames
                .map(|&at| (stacks.frame(at).name(), self.method))
                .collect();
            if let Some(class) = &row.class {
                names.push((class.to_string(), self.class));
            }
            if names.is_empty() {
                names.push(("<empty trace>".to_owned(), self.method));
            }
            self.sample(thread, &names, row.value.div_ceil(unit), &mut time);
        }
        if weights.missing() > 0 {
            let thread = self
                .firefox
                .add_thread(process, pid * 1_000_000 + 999_999, zero, false);
            self.firefox.set_thread_name(thread, "<below the cutoff>");
            self.firefox
                .set_thread_samples_weight_type(thread, weight_type(weights.measure));
            let names = [("<below the cutoff>".to_owned(), self.method)];
            self.sample(thread, &names, weights.missing().div_ceil(unit), &mut time);
        }
    }

    fn sample(
        &mut self,
        thread: ThreadHandle,
        names: &[(String, CategoryPairHandle)],
        mut weight: u64,
        time: &mut u32,
    ) {
        let frames: Vec<FrameInfo> = names
            .iter()
            .map(|(name, category)| FrameInfo {
                frame: Frame::Label(self.firefox.intern_string(name)),
                category_pair: *category,
                flags: FrameFlags::empty(),
            })
            .collect();
        let stack = self.firefox.intern_stack_frames(thread, frames.into_iter());
        // The library takes weights of 31 bits.
        while weight > 0 {
            let part = i32::try_from(weight).unwrap_or(i32::MAX);
            weight -= u64::from(part.unsigned_abs());
            let at = Timestamp::from_millis_since_reference(f64::from(*time));
            *time += 1;
            self.firefox
                .add_sample(thread, at, stack, CpuDelta::ZERO, part);
        }
    }
}

fn weight_type(measure: Measure) -> WeightType {
    match measure {
        measure if measure.is_time() => WeightType::TracingMs,
        measure if measure.unit() == "bytes" => WeightType::Bytes,
        _ => WeightType::Samples,
    }
}
