//! Which engine takes stacks.

use std::sync::OnceLock;

use parking_lot::RwLock;

use super::signal::{SampleShape, SignalEngine};
use super::wall::WallThreads;
use crate::options::{self, Settings};
use crate::os::perf_event::PerfEvent;
use crate::os::signals::{Installed, SignalNumber};
use crate::report;
use crate::vm::Jvmti;

/// Samples of the signal engine can have frames of native code.
pub const HAS_C_FRAMES: bool = cfg!(target_arch = "x86_64");

/// How stacks are taken.
#[derive(Clone, Copy)]
pub enum Engine {
    /// No CPU samples are wanted.
    None,
    /// Timers and signals.
    Signal(&'static SignalEngine, Installed),
    /// The VM's own stack dump.
    Safepoint,
}

/// The engine of the run, which may get one while it runs, and its threads on the wall clock.
pub struct Sampling {
    engine: RwLock<Engine>,
    /// The threads that `cpu=wall` samples; none otherwise.
    pub wall: WallThreads,
}

impl Sampling {
    /// A run that begins with this engine.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine: RwLock::new(engine),
            wall: WallThreads::default(),
        }
    }

    /// How stacks are taken at the moment.
    pub fn engine(&self) -> Engine {
        *self.engine.read()
    }

    /// Exchanges the engine; returns the one before.
    pub fn set_engine(&self, engine: Engine) -> Engine {
        std::mem::replace(&mut *self.engine.write(), engine)
    }

    /// Returns true if stacks are taken.
    pub fn is_on(&self) -> bool {
        !matches!(self.engine(), Engine::None)
    }
}

/// The one signal engine of this process: a signal may be on its way to it at any time, so it is
/// used again rather than freed.
static SIGNAL_ENGINE: OnceLock<&'static SignalEngine> = OnceLock::new();

/// The engine that cpu=samples uses in this VM, ready for its first thread.
///
/// # Errors
/// A sentence that says why there is none, and what else works.
pub fn choose(jvmti: &Jvmti, settings: &Settings) -> Result<Engine, String> {
    if settings.engine == options::Engine::Safepoint {
        return Ok(Engine::Safepoint);
    }
    let event = settings.event.as_ref();
    let (interval, has_stacks) = (settings.interval, settings.c_stack && HAS_C_FRAMES);
    let event = event.map(|sampling| PerfEvent::probe(sampling, interval, has_stacks));
    let event = event.transpose().map_err(|refused| refused.to_string())?;
    let has_event = event.is_some();
    let wanted = settings.signal.map(SignalNumber);
    let shape = SampleShape {
        depth: settings.depth.max(1),
        interval: settings.interval,
        has_c_frames: has_stacks,
        event,
    };
    let started = match SIGNAL_ENGINE.get() {
        Some(&engine) => engine
            .install_again(shape, wanted)
            .map(|installed| (engine, installed)),
        None => SignalEngine::new(jvmti, shape)
            .and_then(|engine| engine.install(wanted))
            .inspect(|(engine, _)| {
                let _ = SIGNAL_ENGINE.set(engine);
            }),
    };
    let mode = if settings.samples_wall() {
        "cpu=wall"
    } else {
        "cpu=samples"
    };
    match started {
        Ok((engine, installed)) => {
            engine.set_wall(settings.samples_wall());
            Ok(Engine::Signal(engine, installed))
        }
        Err(error) if has_event => Err(format!("event= cannot use the signal engine: {error}")),
        Err(error) if settings.engine == options::Engine::Auto && settings.signal.is_none() => {
            report::note(&format!(
                "{error}: {mode} uses the safepoint engine, which is biased"
            ));
            Ok(Engine::Safepoint)
        }
        Err(error) => Err(format!(
            "{mode} cannot use the signal engine: {error}; engine=safepoint works everywhere"
        )),
    }
}
