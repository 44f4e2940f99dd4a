//! Profiles as pictures: `file=cpu.html` and its like.
//!
//! A picture needs the whole profile, so [`PictureRecorder`] keeps what is written to it. Of traces that
//! are, each once, those that the agent's own tables hold anyway.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{
    CpuKind, Header, HeapClass, HeapInstance, HeapObjectArray, HeapPrimitiveArray, HeapRoot,
    HeapSummary, HeapTotals, MonitorDump, OldCpuRow, Settings, SiteOrder, ThreadStart, Trace,
};
use hprof_format::rank::{RankedCpuTable, RankedMonitorTable, RankedSiteTable};
use hprof_format::writer::{HeapWriter, InnermostMethod, MonitorWriter, ProfileWriter};
use hprof_stacks::call_strips::CallStrips;
use hprof_stacks::events::{self, Chunk};
use hprof_stacks::lanes;
use hprof_stacks::pictures::about::{About, Run, depth_of};
#[cfg(feature = "svg")]
use hprof_stacks::pictures::flame_graph::{self, Drawing};
use hprof_stacks::pictures::otlp::{self, Origin, Resource};
use hprof_stacks::pictures::page::{Beside, Start};
use hprof_stacks::pictures::profile::{Profile, View, all_weights};
use hprof_stacks::pictures::times::Times;
use hprof_stacks::pictures::{collapsed, page, pprof, speedscope};
use hprof_stacks::requests::Requests;
use hprof_stacks::slow::Slow;
use hprof_stacks::slow_table::{Most, SlowTable};
use hprof_stacks::timeline::{Timeline, Window};
use hprof_stacks::{Frame, RunFacts, SiteRow, SiteTable, Stacks};
use hprof_wire::marks::Mark;

use super::sums::Sums;
use crate::options::Picture;
use crate::os::random::random;
use crate::sink::PushSink;

/// Samples whose times are drawn, at most: each takes about 60 bytes for the moment.
const MAX_DRAWN: usize = 2_000_000;

/// Keeps a profile until it is drawn.
#[derive(Default)]
pub struct PictureRecorder {
    stacks: Stacks,
    /// The threads that traces name, or may come to name.
    threads: BTreeMap<ThreadSerial, Box<str>>,
    keeps_threads: bool,
    sums: Sums,
    /// How long the profile has been written.
    micros: u64,
    /// The line about program and agent.
    identity: Option<String>,
    remarks: Vec<String>,
    /// Samples with their times.
    chunks: Vec<Chunk>,
    /// Timed calls.
    slow: Slow,
    /// The remarks are those of a dump that is over.
    are_remarks_old: bool,
}

impl PictureRecorder {
    /// An empty profile. `keeps_threads` tells that traces will name their threads.
    pub fn new(keeps_threads: bool) -> Self {
        Self {
            keeps_threads,
            ..Self::default()
        }
    }

    /// The times of samples, or why they are not drawn.
    fn timeline(&self) -> (Option<Timeline>, Option<String>) {
        let Some(span) = events::span(&self.chunks) else {
            return (None, None);
        };
        let samples = self.chunks.iter().flat_map(Chunk::events).count();
        if samples > MAX_DRAWN {
            let warning = format!(
                "The times of {samples} samples are too many to be drawn in the profiled program. Record to a file \
                 that ends in .hprof or .jfr, and make the page of it: hprof-rs convert FILE -o page.html"
            );
            return (None, Some(warning));
        }
        let timeline = events::timeline(&self.chunks, &self.stacks, span, span);
        (Some(timeline), None)
    }

    /// Draws all that was written so far.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn draw(&mut self, picture: Picture, path: &Path, out: &mut dyn Write) -> io::Result<()> {
        self.are_remarks_old = true;
        let title = path.file_name().map(|name| name.to_string_lossy());
        let title = title.unwrap_or_default();
        let thread_name = |serial: ThreadSerial| self.threads.get(&serial).map(|n| n.to_string());
        let snapshot = self.sums.snapshot();
        let remarks: Vec<String> = (self.identity.iter().chain(&self.remarks))
            .cloned()
            .collect();
        let profile = Profile {
            title: &title,
            stacks: &self.stacks,
            weights: all_weights(&snapshot),
            thread_name: &thread_name,
            remarks: &remarks,
            own: None,
            depth: depth_of(&remarks),
        };
        let about = || {
            let run = Run {
                file: &title,
                remarks: &remarks,
                duration: Some(Duration::from_micros(self.micros)),
                stacks: Some(&self.stacks),
                depth: None,
            };
            About::of(&run, &snapshot)
        };
        match picture {
            Picture::Pprof => pprof::write(&profile, out),
            Picture::Speedscope => {
                serde_json::to_writer(out, &speedscope::document(&profile)).map_err(Into::into)
            }
            Picture::Html => {
                let mut about = about();
                let (timeline, warning) = self.timeline();
                about.warnings.extend(warning);
                let interval = self.chunks.first().map(|chunk| chunk.interval);
                let times = timeline.as_ref().map(|timeline| Times {
                    lanes: lanes::of_samples(
                        timeline,
                        &self.stacks,
                        interval.unwrap_or(0).max(1),
                        timeline.span,
                        &thread_name,
                    ),
                    ..Times::of(timeline, timeline.span, &self.stacks, &thread_name)
                });
                let views = profile.page_views();
                let strips = CallStrips::new(&self.stacks, timeline.as_ref(), interval);
                let beside = Beside {
                    times: times.as_ref(),
                    slow: SlowTable::of(&self.slow, &strips, Most::OF_PAGES),
                    ..Beside::default()
                };
                let page = page::html_with(&about, &views, Start::default(), &beside);
                out.write_all(page.as_bytes())
            }
            // `profile/load.rs` refuses the name.
            #[cfg(not(feature = "svg"))]
            Picture::Svg => Err(io::ErrorKind::Unsupported.into()),
            #[cfg(feature = "svg")]
            Picture::Svg => match profile.views(false).first() {
                Some(view) => {
                    let drawing = Drawing::of(view, &about().title, &remarks);
                    out.write_all(flame_graph::svg(view, &drawing)?.as_bytes())
                }
                None => out.write_all(flame_graph::empty(&title).as_bytes()),
            },
            Picture::Collapsed => {
                let views: Vec<View> = profile.views(false);
                let lines = views.first().map(|view| collapsed::lines(&view.tree));
                for line in lines.unwrap_or_default() {
                    writeln!(out, "{line}")?;
                }
                Ok(())
            }
        }
    }
}

impl PictureRecorder {
    /// Gives a receiver what was written since the last time, if there is anything.
    ///
    /// # Errors
    /// None, as it is written to memory.
    pub fn push(&mut self, push: &mut PushSink) -> io::Result<()> {
        self.are_remarks_old = true;
        self.chunks.clear();
        let (from, to) = push.span();
        let snapshot = self.sums.take();
        let mut weights = all_weights(&snapshot);
        weights.retain(|it| it.total > 0);
        if weights.is_empty() {
            return Ok(());
        }
        let thread_name = |serial: ThreadSerial| self.threads.get(&serial).map(|n| n.to_string());
        let profile = Profile {
            title: "",
            stacks: &self.stacks,
            weights,
            thread_name: &thread_name,
            remarks: &self.remarks,
            own: None,
            depth: depth_of(&self.remarks),
        };
        let identity = self.identity.as_deref().and_then(Mark::parse);
        let main = match &identity {
            Some(Mark::Agent(identity)) => &*identity.main,
            _ => "",
        };
        let resource = push.resource(main);
        let mut id = [0; 16];
        id[..8].copy_from_slice(&random().to_le_bytes());
        id[8..].copy_from_slice(&(random() ^ to.unsigned_abs()).to_le_bytes());
        let attributes = Resource::attributes(resource);
        let origin = Origin {
            resource: &attributes,
            span: Window { from, to },
            timeline: None,
            requests: &Requests::default(),
            id,
            version: env!("CARGO_PKG_VERSION"),
        };
        push.send(otlp::packed(&otlp::request(&profile, &origin))?);
        Ok(())
    }
}

impl ProfileWriter for PictureRecorder {
    fn begin(&mut self, _header: &Header<'_>) -> io::Result<()> {
        Ok(())
    }

    fn set_time(&mut self, micros_since_creation: u64) {
        self.micros = micros_since_creation;
    }

    fn settings(&mut self, _settings: &Settings) -> io::Result<()> {
        Ok(())
    }

    fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()> {
        if self.keeps_threads {
            self.threads.insert(thread.serial, thread.name.into());
        }
        Ok(())
    }

    fn thread_end(&mut self, _thread: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    fn trace(&mut self, trace: &Trace<'_>) -> io::Result<()> {
        if self.has_trace(trace.serial) {
            return Ok(());
        }
        let frames = trace.frames.iter().map(|frame| {
            self.stacks.intern(Frame {
                class_name: frame.class_name.into(),
                method: frame.method.into(),
                source_file: frame.source_file.map(Into::into),
                line: frame.line,
            })
        });
        let frames = frames.collect();
        let thread = trace.thread;
        self.stacks
            .add(trace.serial, hprof_stacks::Trace { thread, frames });
        Ok(())
    }

    fn has_trace(&self, serial: TraceSerial) -> bool {
        self.stacks.trace(serial).is_some()
    }

    fn cpu_table(
        &mut self,
        table: &RankedCpuTable,
        _ctime: &str,
        _innermost: InnermostMethod<'_>,
    ) -> io::Result<()> {
        let sum = match table.kind() {
            CpuKind::Samples => &mut self.sums.samples,
            CpuKind::Times => &mut self.sums.times,
        };
        let sum = sum.get_or_insert_default();
        sum.add(table);
        Ok(())
    }

    fn old_cpu_table(&mut self, _rows: &[OldCpuRow<'_>]) -> io::Result<()> {
        Ok(())
    }

    fn comment(&mut self, text: &str) -> io::Result<()> {
        if std::mem::take(&mut self.are_remarks_old) {
            self.remarks.clear();
        }
        self.remarks.extend(text.lines().map(str::to_owned));
        Ok(())
    }

    fn mark(&mut self, text: &str) -> io::Result<()> {
        if text.starts_with("hprof-rs agent:") {
            self.identity = Some(text.to_owned());
        } else if RunFacts::is_one(text) {
            return self.comment(text);
        }
        if self.slow.take(text) {
            return Ok(());
        }
        if let Some(chunk) = Chunk::parse(text) {
            if chunk.is_first {
                self.chunks.clear();
            }
            self.chunks.push(chunk);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MonitorWriter for PictureRecorder {
    fn wait(&mut self, _: &str, _: u64, _: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    fn waited(&mut self, _: &str, _: u64, _: ThreadSerial) -> io::Result<()> {
        Ok(())
    }

    fn monitor_dump(&mut self, _dump: &MonitorDump<'_>) -> io::Result<()> {
        Ok(())
    }

    fn monitor_table(&mut self, table: &RankedMonitorTable<'_>, _ctime: &str) -> io::Result<()> {
        let sum = match table.is_native() {
            true => &mut self.sums.native_locks,
            false => &mut self.sums.monitors,
        };
        sum.get_or_insert_default().add(table);
        Ok(())
    }
}

/// Objects are not drawn; the options do not allow a heap dump here.
impl HeapWriter for PictureRecorder {
    fn site_table(&mut self, table: &RankedSiteTable<'_>, _ctime: &str) -> io::Result<()> {
        let row = |row: &hprof_format::model::SiteRow<'_>| SiteRow {
            trace: row.trace,
            class_name: row.class_name.into(),
            live_bytes: row.live_bytes,
            live_objects: row.live_objects,
            allocated_bytes: row.allocated_bytes,
            allocated_objects: row.allocated_objects,
        };
        let totals = table.totals();
        self.sums.sites = Some(SiteTable {
            order: SiteOrder::LiveBytes,
            is_native: table.is_native(),
            totals: Some(SiteRow {
                trace: TraceSerial::SYSTEM,
                class_name: Box::default(),
                live_bytes: totals.live_bytes,
                live_objects: totals.live_objects,
                allocated_bytes: totals.allocated_bytes,
                allocated_objects: totals.allocated_objects,
            }),
            rows: table.rows().iter().map(|ranked| row(&ranked.row)).collect(),
        });
        Ok(())
    }

    fn heap_summary(&mut self, _summary: &HeapSummary) -> io::Result<()> {
        Ok(())
    }

    fn heap_class_names(&mut self, _class: &HeapClass<'_>) -> io::Result<()> {
        Ok(())
    }

    fn heap_begin(&mut self, _totals: &HeapTotals, _ctime: &str) -> io::Result<()> {
        Ok(())
    }

    fn heap_root(&mut self, _root: &HeapRoot<'_>) -> io::Result<()> {
        Ok(())
    }

    fn heap_instance(&mut self, _instance: &HeapInstance<'_>) -> io::Result<()> {
        Ok(())
    }

    fn heap_object_array(&mut self, _array: &HeapObjectArray<'_>) -> io::Result<()> {
        Ok(())
    }

    fn heap_primitive_array(&mut self, _array: &HeapPrimitiveArray<'_>) -> io::Result<()> {
        Ok(())
    }

    fn heap_encoded(&mut self, _length: u32) -> io::Result<&mut dyn Write> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn heap_class(&mut self, _class: &HeapClass<'_>) -> io::Result<()> {
        Ok(())
    }

    fn heap_end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_format::ids::ObjectId;
    use hprof_format::model::{CpuRow as Row, CpuTable as Table, Frame as ModelFrame, Line};

    fn recorder() -> PictureRecorder {
        let mut recorder = PictureRecorder::new(false);
        let frame = |method| ModelFrame {
            class_name: "App",
            class_id: ObjectId::NULL,
            method,
            signature: "()V",
            source_file: None,
            line: Line::Unknown,
        };
        recorder
            .trace(&Trace {
                serial: TraceSerial::new(300_001),
                thread: None,
                frames: &[frame("hot"), frame("main")],
            })
            .unwrap();
        recorder
    }

    fn add_samples(recorder: &mut PictureRecorder, cost: u64) {
        let rows = [Row {
            cost,
            count: cost,
            trace: TraceSerial::new(300_001),
        }];
        let table = Table {
            kind: CpuKind::Samples,
            total: cost + 1,
            rows: &rows,
        };
        let table = RankedCpuTable::new(&table, 0.0);
        recorder.cpu_table(&table, "", &|_| None).unwrap();
    }

    fn drawn(recorder: &mut PictureRecorder, picture: Picture) -> String {
        let mut out = Vec::new();
        recorder
            .draw(picture, Path::new("d/cpu.x"), &mut out)
            .unwrap();
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn dumps_add_up_and_the_last_remarks_count() {
        let mut recorder = recorder();
        add_samples(&mut recorder, 3);
        recorder.comment("remark=one").unwrap();
        assert!(drawn(&mut recorder, Picture::Html).contains("remark=one"));
        add_samples(&mut recorder, 4);
        recorder.comment("remark=two").unwrap();
        let lines = drawn(&mut recorder, Picture::Collapsed);
        assert_eq!(lines, "App.main;App.hot 7\n<below the cutoff> 2\n");
        let page = drawn(&mut recorder, Picture::Html);
        assert!(page.contains("remark=two") && !page.contains("remark=one"));
    }

    #[test]
    fn a_profile_without_samples_is_a_file_all_the_same() {
        let mut recorder = recorder();
        assert_eq!(drawn(&mut recorder, Picture::Collapsed), "");
        #[cfg(feature = "svg")]
        assert!(drawn(&mut recorder, Picture::Svg).contains("<svg"));
        assert!(drawn(&mut recorder, Picture::Html).contains("<html"));
        assert!(drawn(&mut recorder, Picture::Speedscope).starts_with('{'));
        assert!(!drawn(&mut recorder, Picture::Pprof).is_empty());
    }
}
