//! Results of a walk over the whole dump: worked out once, in the background.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::ViewError;
use super::opened::Opened;

/// How long a view waits for work in the background before it answers without.
pub const PATIENCE: Duration = Duration::from_millis(100);
/// How long a view waits that has nothing to show without.
pub const LONG_PATIENCE: Duration = Duration::from_secs(20);

/// A value that is worked out once.
#[derive(Debug)]
pub struct Later<T> {
    state: Mutex<State<T>>,
    done: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Idle,
    Working,
    Done(Arc<T>),
    Failed(String),
}

impl<T> Default for Later<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State::Idle),
            done: Condvar::new(),
        }
    }
}

/// The turn of those who walk over dumps: one at a time, so that pages stay fast meanwhile.
pub type Turn = Arc<Mutex<()>>;

impl<T: Send + Sync + 'static> Later<T> {
    /// The value, if it is there within a time; starts the work if no other caller has. The work
    /// holds on to the analysis.
    ///
    /// # Errors
    /// If the work has failed, or no thread can be started for it.
    pub fn ask(
        self: &Arc<Self>,
        opened: &Arc<Opened>,
        work: impl FnOnce(&Arc<Opened>) -> Result<T, ViewError> + Send + 'static,
        patience: Duration,
    ) -> Result<Option<Arc<T>>, ViewError> {
        let mut state = self.state.lock();
        if matches!(*state, State::Idle) {
            let (opened, this) = (Arc::clone(opened), Arc::clone(self));
            let run = move || {
                let turn = Arc::clone(&opened.turn);
                let _turn = turn.lock();
                let found = catch_unwind(AssertUnwindSafe(|| work(&opened)));
                this.finish(found.unwrap_or_else(|_| {
                    Err(ViewError::failed(
                        "a view broke on this dump; see the server's log",
                    ))
                }));
            };
            let thread = std::thread::Builder::new().name("view".to_owned());
            thread.spawn(run).map_err(ViewError::failed)?;
            *state = State::Working;
        }
        if matches!(*state, State::Working) {
            self.done.wait_while_for(
                &mut state,
                |state| matches!(state, State::Working),
                patience,
            );
        }
        match &*state {
            State::Done(value) => Ok(Some(Arc::clone(value))),
            State::Failed(error) => Err(ViewError::Failed(error.clone())),
            State::Idle | State::Working => Ok(None),
        }
    }

    fn finish(&self, found: Result<T, ViewError>) {
        *self.state.lock() = match found {
            Ok(value) => State::Done(Arc::new(value)),
            Err(error) => State::Failed(error.to_string()),
        };
        self.done.notify_all();
    }
}
