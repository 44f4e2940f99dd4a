//! `hprof-rs live`: the methods of a running JVM on the screen, as `top` shows processes.

mod keys;
mod view;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use crossterm::event::{self, Event};
use crossterm::{cursor, execute, queue, style, terminal};
use hprof_server::events::Events;
use hprof_server::live::{
    End, JvmId, Live as Recordings, Machine, Mode, Pid, Recording, Refused, check_options,
};
use hprof_server::temporary_folder;
use hprof_server::views::profile::ProfileQuery;
use hprof_stacks::{Measure, Own, OwnCosts, by_method};

use crate::measure::OwnArgument;
use crate::render::out::{is_terminal, screen, tell};
use crate::render::screen::{printable, printable_lines};
use crate::serve::LocalMachine;
use keys::Action;
use view::{Facts, View};

/// Show the methods of a running JVM while it runs.
///
/// The command loads the agent, and shows each second which methods take CPU time; keys switch to what is
/// allocated and to the locks that threads wait for. It takes the agent out again when it ends.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Live {
    /// The JVM's process id, or a part of its program's name, as `hprof-rs ps` shows them.
    #[arg(value_name = "PID", value_parser = crate::jvm::pick::pid)]
    pid: u32,

    /// Record all threads on the wall clock, waiting ones too, instead of CPU time; threads that wait for work are
    /// hidden. The keys W and c change the clock later, and begin anew.
    #[arg(long)]
    wall: bool,

    /// Record allocations from the start, too; the key a begins with them later, unless locks have begun.
    #[arg(long)]
    alloc: bool,

    /// Record locks from the start, too; the key l begins with them later, unless allocations have begun.
    #[arg(long)]
    lock: bool,

    /// More options of the agent, such as `interval=1` or `depth=200`.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true
    )]
    options: String,

    #[command(flatten)]
    own: OwnArgument,
}

const EXAMPLES: &str = "\
Keys:
  c  CPU samples     W  wall clock     a  allocated bytes     l  lock contention
  w  of the last 10 s, of the last minute, of all
  t  order by own, self or total cost   /  only stacks with a method that matches
  p  pause     arrows, PgUp, PgDn, Home  scroll     q  quit

Example:
  hprof-rs live 4242

What is to be kept: hprof-rs record 4242 -d 30 -o cpu.html";

/// How often the screen is drawn.
const EACH: Duration = Duration::from_secs(1);
/// How long a key is waited for.
const KEY: Duration = Duration::from_millis(200);

/// The terminal as programs for the whole screen have it. Dropped, it is as before.
struct Screen;

impl Screen {
    fn take() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let taken = Self;
        execute!(screen(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(taken)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(screen(), cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

impl Live {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        if !is_terminal() {
            bail!(
                "`live` shows a screen, and standard output is no terminal; write a file: \
                 hprof-rs record {} -d 30 -o cpu.html",
                self.pid
            );
        }
        check_options(&self.options, &[]).map_err(anyhow::Error::msg)?;
        let pid = Pid(self.pid);
        let refused = |refused: Refused| anyhow::Error::msg(refused.text);
        if let Some(why) = LocalMachine.jvm(pid).map_err(refused)?.refusal {
            bail!("{why}");
        }
        let clock = if self.wall { Mode::Wall } else { Mode::Cpu };
        let mut modes = vec![clock];
        modes.extend(self.alloc.then_some(Mode::Alloc));
        modes.extend(self.lock.then_some(Mode::Lock));
        // For its user alone.
        let folder = temporary_folder("")?;
        let events = Arc::new(Events::default());
        let live = Recordings::new(Arc::new(LocalMachine), None, folder.path(), events);
        let id = JvmId::Process(pid);
        live.attach(id, &modes, &self.options).map_err(refused)?;
        let mut session = Session {
            recording: live.recording(id).context("the recording has gone")?,
            live,
            id,
            options: &self.options,
            own: self.own.rule(),
        };
        let shown = session.show();
        let recording = &session.recording;
        if recording.is_live()
            && let Err(late) = session.live.detach(recording)
        {
            tell!("hprof-rs: {}", printable_lines(&late.text));
        }
        shown?;
        let ended = session.recording.status().ended;
        if let Some(ended) = ended.filter(|why| !matches!(why, End::Requested(_))) {
            tell!("hprof-rs: {}", printable_lines(&ended.to_string()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A recording, and what it takes to begin another.
struct Session<'a> {
    live: Recordings,
    id: JvmId,
    options: &'a str,
    own: Option<Own>,
    recording: Arc<Recording>,
}

impl Session<'_> {
    /// Draws the screen until the user or the program ends it.
    fn show(&mut self) -> anyhow::Result<()> {
        let _screen = Screen::take().context("cannot take the terminal")?;
        let mut view = View::default();
        if self.recording.started().contains(&Mode::Wall) {
            view.measure = Measure::Wall;
        }
        let mut drawn = None::<Instant>;
        while self.recording.is_live() {
            self.recording.touch();
            let mut is_changed = false;
            if event::poll(KEY)? {
                is_changed = true;
                match event::read()? {
                    Event::Key(key) => match view.press(key) {
                        Action::Quit => return Ok(()),
                        Action::Start(mode) => view.message = self.begin(mode)?,
                        Action::Draw => {}
                        Action::Nothing => is_changed = false,
                    },
                    Event::Resize(..) => {}
                    _ => is_changed = false,
                }
            }
            let is_due = drawn.is_none_or(|drawn| drawn.elapsed() >= EACH);
            if is_changed || is_due && !view.is_paused {
                let facts = facts(&self.recording, &view, self.own.as_ref());
                draw(&view.lines(&facts, terminal::size()?))?;
                drawn = Some(Instant::now());
            }
        }
        Ok(())
    }

    /// Records in this mode, too. The agent takes some modes from the start of a run only, so the
    /// recording may begin anew. Gives a sentence for the user.
    fn begin(&mut self, mode: Mode) -> anyhow::Result<Option<String>> {
        let before = self.recording.started();
        let is_other_clock = mode.is_clock() && before.iter().any(|it| it.is_clock());
        if before.contains(&mode)
            || !is_other_clock && self.live.start(&self.recording, &[mode]).is_ok()
        {
            return Ok(None);
        }
        let refused = |refused: Refused| anyhow::Error::msg(refused.text);
        self.live.detach(&self.recording).map_err(refused)?;
        let stays = |it: &&Mode| !(mode.is_clock() && it.is_clock());
        let mut all: Vec<Mode> = before.iter().filter(stays).copied().collect();
        all.push(mode);
        let mut message = format!("counting begins anew, with mode {}", mode.word());
        if let Err(why) = self.live.attach(self.id, &all, self.options) {
            message = printable(&why.text);
            let again = self.live.attach(self.id, &before, self.options);
            again.map_err(refused)?;
        }
        let recording = self.live.recording(self.id);
        self.recording = recording.context("the recording has gone")?;
        Ok(Some(message))
    }
}

/// The numbers on the screen.
fn facts(recording: &Recording, view: &View, own: Option<&Own>) -> Facts {
    let status = recording.status();
    let mut facts = Facts {
        program: printable(&recording.facts.name),
        pid: recording.facts.pid.0,
        seconds: status.seconds,
        agent: status.cost.map(|cost| cost.cpu_percent),
        timeline: recording
            .timeline()
            .buckets
            .iter()
            .map(|bucket| bucket.samples)
            .collect(),
        modes: recording.started(),
        notes: status.notes,
        ..Facts::default()
    };
    let Ok(profile) = recording.profile(view.window()) else {
        return facts;
    };
    let query = ProfileQuery {
        dimension: Some(view.measure.name().to_owned()),
        busy: true,
        ..ProfileQuery::default()
    };
    match profile.weights(&query, view.filter()) {
        Ok(weights) => {
            facts.total = weights.total;
            facts.methods = by_method(profile.stacks(), &weights);
            let own = OwnCosts::of(profile.stacks(), &weights, own, profile.stack_limit());
            facts.headline = own.headline;
            facts.notes.extend(own.cut.map(|cut| cut.to_string()));
            facts.own = own
                .rows
                .into_iter()
                .map(|row| (row.name, row.cost))
                .collect();
        }
        // Nothing was counted yet, or the pattern is not whole yet.
        Err(_) if view.filter().is_none() => {}
        Err(error) => facts.notes.push(error.to_string()),
    }
    facts
}

fn draw(lines: &[view::Line]) -> io::Result<()> {
    let mut out = screen();
    queue!(out, terminal::BeginSynchronizedUpdate)?;
    for (row, line) in (0..).zip(lines) {
        queue!(out, cursor::MoveTo(0, row))?;
        match line.is_head {
            true => queue!(out, style::SetAttribute(style::Attribute::Reverse))?,
            false => queue!(out, style::SetAttribute(style::Attribute::Reset))?,
        }
        queue!(out, style::Print(&line.text))?;
        queue!(out, terminal::Clear(terminal::ClearType::UntilNewLine))?;
        queue!(out, style::SetAttribute(style::Attribute::Reset))?;
    }
    queue!(
        out,
        terminal::Clear(terminal::ClearType::FromCursorDown),
        terminal::EndSynchronizedUpdate
    )?;
    io::Write::flush(&mut out)
}
