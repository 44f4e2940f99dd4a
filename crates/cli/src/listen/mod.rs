//! The front-end of `net=`: takes the streams of any number of agents, saves each as a file, and
//! sends commands.
//!
//! One thread per agent reads its stream ([`agent`]) into a file ([`save`]) and follows its records
//! ([`follow`]); all tell the [`hub`], which knows the agents, their commands and what was answered.
//! [`console`] carries out commands, [`report`] and [`board`] show what happens. What an agent sends
//! is nowhere held in memory, and whatever it sends, only its own stream suffers.

mod address;
mod agent;
mod agents;
#[cfg(feature = "serve")]
mod background;
mod board;
mod console;
mod follow;
mod grammar;
mod hub;
mod prompt;
mod protocol;
mod quiet;
mod reply;
mod report;
mod save;
mod script;

use crate::render::out::{self, tell};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use address::SocketFile;
pub use address::{Address, Listener};
#[cfg(feature = "serve")]
pub use background::Background;
pub use grammar::help;
pub use hub::Limits;
pub use script::{Step, parse as parse_script};

use agents::Answer;
use board::Board;
use console::{Console, Next};
use hub::Hub;
use report::{Event, Report};

/// How long the end of a program's profile may be on its way.
const LAST_BYTES: Duration = Duration::from_secs(30);
/// The stack size of a thread that reads a stream, in bytes.
const STACK: usize = 256 * 1024;

/// How to listen.
#[derive(Debug)]
pub struct Settings {
    /// Where.
    pub address: Address,
    /// Where files go.
    pub folder: PathBuf,
    /// The script, if any.
    pub script: Option<Vec<Step>>,
    /// True to report everything as JSON.
    pub json: bool,
    /// Who may connect how often, and be silent for how long.
    pub limits: Limits,
}

/// A running listener.
struct Running {
    hub: Arc<Hub>,
    _socket: OwnSocket,
}

/// Opens the sockets and takes what comes, in the background.
fn start(settings: &Settings, report: Report) -> anyhow::Result<Running> {
    save::prepare(&settings.folder).with_context(|| settings.folder.display().to_string())?;
    let listeners = settings.address.bind()?;
    let (answers, incoming) = channel::<Answer>();
    let folder = settings.folder.clone();
    let hub = Arc::new(Hub::new(folder, settings.limits, report, answers));
    spawn("answers", {
        let hub = Arc::clone(&hub);
        move || {
            for answer in incoming {
                let table = reply::table(&answer);
                hub.report.event(&Event::Answered {
                    answer: &answer,
                    table: table.as_ref(),
                });
                hub.shown(&answer);
            }
        }
    })?;
    let running = Running {
        hub: Arc::clone(&hub),
        _socket: OwnSocket::of(&listeners),
    };
    for listener in listeners {
        hub.report.event(&Event::Listening {
            address: &listener.shown(),
            folder: &settings.folder,
        });
        let hub = Arc::clone(&hub);
        spawn("accept", move || accept(&hub, &listener))?;
    }
    Ok(running)
}

/// Listens until the user quits. The status is a failure if a command was.
///
/// # Errors
/// If it cannot listen, or not save.
pub fn listen(settings: Settings) -> anyhow::Result<ExitCode> {
    // Before anybody can know that it listens: a signal would end it without saving.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let running = start(&settings, Report::new(settings.json))?;
    let hub = &running.hub;
    if !settings.address.is_local() {
        tell!(
            "hprof-rs: everybody who can reach this address can send profiles, and read none; \
             they are not encrypted"
        );
    }
    close_on_signals(hub, signals)?;
    let is_terminal = out::is_terminal() && !settings.json;
    let board = is_terminal.then(|| Board::start(hub)).flatten();
    let steps = settings.script;
    let is_scripted = steps.is_some();
    let console = std::thread::Builder::new()
        .name("console".to_owned())
        .spawn({
            let hub = Arc::clone(hub);
            move || {
                let mut console = Console::new(&hub);
                let next = match &steps {
                    Some(steps) => console.run_script(steps),
                    None => console.interact(),
                };
                if next == Next::Quit {
                    hub.close();
                }
            }
        })?;
    // Without commands it runs until a signal arrives.
    hub.wait(None, |_| false);
    if is_scripted {
        let _ = console.join();
    }
    wait_for_streams(hub);
    drop(board);
    hub.report.finish();
    if !settings.json {
        let words = hub.with_agents(report::last_words);
        hub.report.event(&Event::Text(&words));
    }
    Ok(match hub.failures() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Runs a program whose JVMs send their profiles to this process, and shows these at its end.
/// Returns the program's exit status.
///
/// # Errors
/// If it cannot listen or not save. If the program cannot be started, as [`io::Error`].
pub fn run_program(settings: &Settings, program: &mut Command) -> anyhow::Result<ExitCode> {
    let running = start(settings, Report::quiet())?;
    let hub = &running.hub;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let mut child = program.spawn()?;
    let pid = rustix::process::Pid::from_child(&child);
    spawn("signals", move || {
        for signal in signals.forever() {
            // The terminal has sent it to the program as well.
            let is_shared = signal == SIGINT && io::stdin().is_terminal();
            if let (false, Some(signal)) =
                (is_shared, rustix::process::Signal::from_named_raw(signal))
            {
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    })?;
    let status = child.wait()?;
    // What is on its way comes in; a JVM that outlives the program is not waited for.
    hub.wait(Some(LAST_BYTES), |agents| {
        agents.iter().all(|it| it.end.is_some())
    });
    hub.close();
    wait_for_streams(hub);
    let files = hub.with_agents(|agents| {
        let files = agents
            .iter()
            .filter_map(|agent| agent.end.as_ref()?.file.clone());
        files.collect::<Vec<PathBuf>>()
    });
    if files.is_empty() {
        tell!("hprof-rs: no profile came; was it a JVM?");
    }
    for file in files {
        tell!("hprof-rs: the profile is in {}", file.display());
        if let Some(table) = reply::overview(&file) {
            for line in table.text().lines() {
                tell!("{line}");
            }
        }
        tell!(
            "hprof-rs: look at it with: hprof-rs summary {}",
            file.display()
        );
    }
    use std::os::unix::process::ExitStatusExt;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(code
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Each stream ends by itself within its grace; a disk may take longer.
fn wait_for_streams(hub: &Hub) {
    while !hub.with_agents(|agents| agents.iter().all(|agent| agent.end.is_some())) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn accept(hub: &Arc<Hub>, listener: &Listener) {
    loop {
        let (stream, peer) = match listener.accept() {
            Ok(found) => found,
            // Out of descriptors, or a peer that has gone already.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
        };
        if let Err(why) = hub.admit(&peer) {
            stream.close();
            hub.report.event(&Event::Refused(&why));
            continue;
        }
        let number = hub.add(stream.try_clone().ok(), &peer);
        let for_agent = Arc::clone(hub);
        let name = format!("agent {number}");
        let builder = std::thread::Builder::new().name(name).stack_size(STACK);
        let started = builder.spawn(move || agent::serve(&for_agent, number, stream));
        if let Err(error) = started {
            hub.end(
                number,
                agents::End {
                    fault: Some(format!("there is no thread for it: {error}")),
                    is_cut: true,
                    file: None,
                },
            );
        }
    }
}

fn close_on_signals(hub: &Arc<Hub>, mut signals: Signals) -> anyhow::Result<()> {
    let hub = Arc::clone(hub);
    spawn("signals", move || {
        for signal in signals.forever() {
            if hub.is_closing() {
                // Asked twice: at once.
                std::process::exit(128 + signal);
            }
            hub.close();
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).context("cannot start a thread")?;
    Ok(())
}

/// Removes the Unix socket in the end: the thread that accepts never gives it back.
struct OwnSocket(Option<SocketFile>);

impl OwnSocket {
    fn of(listeners: &[Listener]) -> Self {
        Self(listeners.iter().find_map(|listener| match listener {
            Listener::Unix(_, file) => Some(file.clone()),
            Listener::Tcp(_) => None,
        }))
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            file.remove();
        }
    }
}
