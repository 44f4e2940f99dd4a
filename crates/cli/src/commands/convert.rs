//! `hprof-rs convert`: profiles for other tools.

mod format;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_analysis::contents::{ForeignKind, Format};
use hprof_analysis::stacks::Weights;
use hprof_analysis::whole_file::WholeFile;
use hprof_stacks::pictures::about::{About, Run};
use hprof_stacks::pictures::flame_graph::Drawing;
use hprof_stacks::pictures::page::{Beside, Start};
use hprof_stacks::pictures::profile::{Profile, View, all_weights};
use hprof_stacks::pictures::{collapsed, flame_graph, page, pprof, speedscope};
use hprof_stacks::slow_table::{Most, SlowTable};

use self::format::{To, format_of_name, no_format, suits, value_name};
use crate::by_time;
use crate::calls::CallsArgument;
use crate::export::{self, Resource, heap_views, old_view};
use crate::measure::{MeasureArgument, OwnArgument};
use crate::open::{self, FileArgument, Opened, Times};
use crate::render::foreign;
use crate::render::out::{self, Out, tell};
use crate::render::screen::{count, percent, plural};
use crate::sources::PageSourcesArgument;
use crate::window::{Bound, WindowArgument};
use crate::written;

/// Convert a profile or heap dump to a picture or to the format of another tool.
///
/// Pictures of profiles are flame graphs of their stacks. Pictures of heap dumps show the bytes of
/// each package and class. Pages, pprof, speedscope and HPROF files hold all measures of the profile,
/// unless --measure names one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Convert {
    #[command(flatten)]
    file: FileArgument,

    /// The output; the ending of its name selects the format [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The format [default: by the name of the output].
    #[arg(long, value_enum)]
    to: Option<To>,

    #[command(flatten)]
    measure: MeasureArgument,

    /// Convert only what happened from this time on, of files that have times (JFR): a clock time (14:03:10), a date
    /// with it, or a distance from the start (+30s) or the end (-10s).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<Bound>,

    /// Convert only what happened before this time.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<Bound>,

    #[command(flatten)]
    calls: CallsArgument,

    /// If the file has both, convert the heap dump instead of the stacks.
    #[arg(long, conflicts_with_all = ["measure", "event"])]
    heap: bool,

    #[command(flatten)]
    own: OwnArgument,

    #[command(flatten)]
    sources: PageSourcesArgument,

    /// The title of pictures [default: the name of the file].
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Draw the outermost method on top.
    #[arg(long)]
    icicle: bool,

    /// Draw each stack from its innermost method, so that a method with many callers is one
    /// frame.
    #[arg(long)]
    inverted: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs convert java.hprof.txt -o profile.html       flame graphs and tables, one page
  hprof-rs convert java.hprof.txt -o profile.svg        a flame graph alone
  hprof-rs convert --measure live-bytes java.hprof -o memory.svg
  hprof-rs convert heap.hprof -o heap.html              the bytes of each package
  hprof-rs convert java.hprof.txt -o profile.pb.gz && go tool pprof -http :8000 profile.pb.gz
  hprof-rs convert recording.jfr -o profile.otlp        for OpenTelemetry's collector; .otlp.gz is smaller
  hprof-rs convert java.hprof.txt -o profile.speedscope.json    for https://www.speedscope.app
  hprof-rs convert java.hprof.txt -o profile.firefox.json       for https://profiler.firefox.com
  hprof-rs convert java.hprof.txt -o profile.jfr        for jfr and JDK Mission Control
  hprof-rs convert --to collapsed java.hprof.txt | grep -v Finalizer > stacks.collapsed
  hprof-rs convert java.hprof.txt --sources . -o profile.html   with source lines and their shares
  hprof-rs convert recording.jfr -o profile.html        JFR, collapsed, pprof and others too
  hprof-rs convert --event alloc recording.jfr -o alloc.svg
  hprof-rs convert --event jdk.SocketRead --measure time recording.jfr -o reads.svg
  hprof-rs convert --from 14:03:10 --until 14:03:25 recording.jfr -o slow.html
  hprof-rs convert --slow java.hprof.txt -o slow.html   within slow calls (slow=com.acme.Api.handle:200ms)
  hprof-rs convert --to csv heap.hprof | head           a table for spreadsheets
  hprof-rs convert java.hprof -o java.hprof.txt         binary to text, and back";

impl Convert {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let to = self.format()?;
        if to != To::Html {
            self.sources.refuse()?;
        }
        // Only a table and a picture are made of the objects of a heap dump.
        let with_heap = matches!(to, To::Csv | To::Json | To::Html | To::Svg | To::Collapsed);
        let window = self.window();
        let times = Times {
            window: Some(&window),
            calls: self.calls.part(),
            are_wanted: matches!(to, To::Html | To::Jfr | To::Otlp),
            lanes_are_wanted: to == To::Html,
        };
        if self.measure.event_type()?.is_some()
            && matches!(to, To::Text | To::Binary | To::Jfr | To::Json)
        {
            bail!(
                "{} has no place for events of one type; .html, .svg, .collapsed, .csv, .pb.gz, .otlp, .speedscope.json and \
                 .firefox.json have, and `hprof-rs samples --event ... --json` prints JSON",
                value_name(to)
            );
        }
        let opened = self.measure.open(&self.file, with_heap, times)?;
        open::warn_of_damage(&opened);
        if !self.heap && !matches!(to, To::Csv | To::Json | To::Text | To::Binary) {
            warn_of_cut_stacks(&opened);
        }
        let mut bytes = Vec::new();
        self.convert(to, &opened, &mut bytes)?;
        let bytes = to.harmless(bytes);
        match &self.output {
            None => {
                if matches!(to, To::Pprof | To::Otlp | To::Jfr) && out::is_terminal() {
                    bail!("{} is no text; name a file with -o", value_name(to));
                }
                let mut out = Out::new();
                out.data().write_all(&bytes)?;
                out.flush()?;
            }
            Some(path) => {
                let fail = || format!("cannot write {}", path.display());
                write_whole(path, &bytes).with_context(fail)?;
                written::say(path, to.next());
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn window(&self) -> WindowArgument {
        WindowArgument {
            from: self.from,
            until: self.until,
        }
    }

    fn format(&self) -> anyhow::Result<To> {
        if let Some(to) = self.to {
            let named = self.output.as_deref().and_then(format_of_name);
            if let Some(named) = named.filter(|&named| !suits(named, to)) {
                bail!(
                    "{} is a name for {}, but --to asks for {}: change one of them or leave --to out",
                    self.output.as_deref().unwrap_or(Path::new("-")).display(),
                    value_name(named),
                    value_name(to),
                );
            }
            return Ok(to);
        }
        let Some(path) = &self.output else {
            bail!(
                "say what to convert to: -o FILE, or --to FORMAT; `hprof-rs help convert` lists them"
            );
        };
        format_of_name(path).with_context(|| format!("{}, or give --to", no_format(path)))
    }

    fn convert(&self, to: To, opened: &Opened, out: &mut Vec<u8>) -> anyhow::Result<()> {
        let contents = &opened.contents;
        match to {
            To::Text | To::Binary => {
                let measure = self.measure.asked();
                if measure.is_some() {
                    // Says what is there if the measure is not.
                    self.measure.weights(opened)?;
                }
                return export::hprof(opened, to == To::Binary, measure, out);
            }
            To::Json => return export::json(opened, out),
            To::Csv if self.measure.asked().is_none() => {
                let weights = match self.heap {
                    true => Vec::new(),
                    false => all_weights(contents),
                };
                return export::csv(opened, &weights, out);
            }
            _ => {}
        }
        let title = self.title(opened);
        let has_profile = !self.heap && Weights::first_of(contents).is_some();
        let has_old = !contents.old_cpu.is_empty() && !self.heap;
        let wants_all = self.measure.asked().is_none();
        if self.heap || !has_profile && !has_old && wants_all && !contents.dumps.is_empty() {
            return match to {
                To::Html | To::Svg | To::Collapsed => {
                    self.picture(to, heap_views(opened)?.into(), opened, out)
                }
                _ => bail!(
                    "{} {}; its heap dump can become .html, .svg, .collapsed, .csv or .json",
                    opened.name,
                    match self.heap {
                        true => "was to be shown without stacks",
                        false => "holds no stacks",
                    }
                ),
            };
        }
        let draws = matches!(to, To::Html | To::Svg | To::Collapsed);
        if !has_profile && wants_all && has_old && draws {
            return self.picture(to, vec![old_view(contents)], opened, out);
        }
        // Says what is there if the measure is not.
        let has_calls_only = to == To::Jfr && !has_profile && !contents.slow.methods.is_empty();
        let weights = match self.measure.asked() {
            None if has_calls_only => Vec::new(),
            asked => {
                let first = self.measure.weights(opened)?;
                match asked {
                    Some(_) => vec![first],
                    None => all_weights(contents),
                }
            }
        };
        let thread_name = |serial| contents.thread(serial)?.name.clone();
        let remarks = contents.remarks();
        let profile = Profile {
            title: &title,
            stacks: &contents.stacks,
            weights,
            thread_name: &thread_name,
            remarks: &remarks,
            own: self.own.rule(),
            depth: contents.stack_limit(),
        };
        match to {
            To::Pprof => pprof::write(&profile, out)?,
            To::Otlp => {
                let resource = Resource::of_environment().context("OTEL_RESOURCE_ATTRIBUTES")?;
                let request = export::otlp(opened, &profile, &resource)?;
                match self.is_gzipped() {
                    true => gzip(&request, out)?,
                    false => out.extend(request),
                }
            }
            To::Jfr => {
                let part = self.window().chosen(contents);
                export::jfr(opened, &profile, part, out)?;
            }
            To::Speedscope => {
                serde_json::to_writer(&mut *out, &speedscope::document(&profile))?;
                out.push(b'\n');
            }
            To::Firefox => export::firefox(opened, &profile, out)?,
            To::Csv => export::csv(opened, &profile.weights, out)?,
            _ => {
                let mut views = match to {
                    // A page turns stacks around by itself.
                    To::Html => profile.page_views(),
                    _ => profile.views(self.inverted),
                };
                if to == To::Html && wants_all && !contents.dumps.is_empty() {
                    views.extend(heap_views(opened)?);
                }
                self.picture(to, views, opened, out)?;
            }
        }
        Ok(())
    }

    fn picture(
        &self,
        to: To,
        views: Vec<View>,
        opened: &Opened,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let remarks = &opened.contents.comments;
        let first = views
            .first()
            .context("there is nothing to draw: nothing was counted")?;
        let text = match to {
            To::Collapsed => {
                let lines = collapsed::lines(&first.tree);
                lines.iter().map(|line| format!("{line}\n")).collect()
            }
            To::Svg => {
                let drawing = Drawing {
                    is_icicle: self.icicle,
                    ..Drawing::of(first, &self.about(opened).title, remarks)
                };
                flame_graph::svg(first, &drawing)?
            }
            _ => {
                let start = Start {
                    is_icicle: self.icicle,
                    shows_callers: self.inverted,
                };
                let contents = &opened.contents;
                let thread_name = |serial| contents.thread(serial)?.name.clone();
                let times = by_time::times_of_page(opened, &thread_name);
                let strips = contents.call_strips();
                let beside = Beside {
                    times: times.as_ref(),
                    sources: self.sources.of_page(&views)?,
                    slow: SlowTable::of(&contents.slow, &strips, Most::OF_PAGES),
                };
                page::html_with(&self.about(opened), &views, start, &beside)
            }
        };
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn about(&self, opened: &Opened) -> About {
        let mut about = about(opened);
        if let Some(title) = &self.title {
            about.title.clone_from(title);
        }
        about
    }

    /// The name asks for compression.
    fn is_gzipped(&self) -> bool {
        let output = self.output.as_deref();
        let end = output.and_then(Path::extension);
        end.is_some_and(|end| end.eq_ignore_ascii_case("gz"))
    }

    fn title(&self, opened: &Opened) -> String {
        let title = self.title.clone();
        foreign::written(&title.unwrap_or_else(|| titled(opened)))
    }
}

fn gzip(bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(bytes)?;
    packed.finish()?;
    Ok(())
}

/// The name of the file, and the type of its events that is shown.
fn titled(opened: &Opened) -> String {
    let name = base_name(&opened.name);
    match &opened.event {
        Some(event) => format!("{name}: {event}"),
        None => name,
    }
}

/// The head of the page for a file.
pub(super) fn about(opened: &Opened) -> About {
    let remarks = opened.contents.remarks();
    let run = Run {
        file: &titled(opened),
        remarks: &remarks,
        stacks: Some(&opened.contents.stacks),
        depth: opened.contents.settings.map(|it| usize::from(it.depth)),
        duration: None,
    };
    About::of(&run, &opened.contents)
}

/// Says on standard error that callers are missing, as a picture does not.
fn warn_of_cut_stacks(opened: &Opened) {
    let Some(weights) = Weights::first_of(&opened.contents) else {
        return;
    };
    let Some(depth) = open::depth(opened, &weights) else {
        return;
    };
    // A stack or two of the greatest length need not be cut.
    if depth.cut_cost.saturating_mul(100) > weights.total {
        tell!(
            "hprof-rs: {}: {} of {} end at {} frames and lack their callers ({} of all {}); record \
             with {}{} to have them",
            opened.name,
            count(depth.cut as u64),
            plural(depth.stacks as u64, "stack", "stacks"),
            depth.limit,
            percent(depth.cut_cost, weights.total),
            weights.measure.unit(),
            match opened.contents.format {
                Format::Foreign(ForeignKind::Jfr) => "-XX:FlightRecorderOptions=stackdepth=",
                _ => "depth=",
            },
            (depth.limit * 4).clamp(64, 2048),
        );
    }
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(
        || path.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Writes a file under a temporary name first, so that no reader finds half of it. What is no plain
/// file is written to as it is.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = write_whole_with(path, |file| Ok(file.write_all(bytes)?));
    written.map_err(|error| error.downcast().unwrap_or_else(io::Error::other))
}

/// As [`write_whole`], for what is written piece by piece; `-` is standard output.
pub(super) fn write_whole_with<T>(
    path: &Path,
    write: impl FnOnce(&mut File) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if path == Path::new("-") {
        return write(&mut File::from(out::stdout_as_file()?));
    }
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return write(&mut File::options().write(true).open(path)?);
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(written::mode(path));
    let mut file = WholeFile::for_path(path, 0o600)?;
    let written = write(file.file_mut())?;
    file.file().set_permissions(mode)?;
    file.publish(path)?;
    Ok(written)
}

/// Checks that a file of this name can be written, before the work for it begins; gives it as an argument.
pub(super) fn check_name(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let text = path
        .to_str()
        .with_context(|| format!("{name} is no text"))?;
    if path.is_dir() {
        bail!("{name} is a folder; give the name of a file in it");
    }
    if format_of_name(path).is_none() {
        bail!("{}", no_format(path));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
