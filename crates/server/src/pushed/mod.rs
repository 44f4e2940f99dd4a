//! Profiles that other programs push (docs/continuous.md): takes requests for the [store](hprof_pushed), has it look after its files,
//! and draws its answers.

mod sharing;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hprof_pushed::{
    CostsQuery, Entry, NotQueued, Protocol, Pushed as Store, QueryError, Retention, Taken, Window,
    Written, Wrong,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::config::PushedRetention;
use crate::problem::Problem;
use crate::state::AppState;
use crate::time::Millis;
use crate::views::ViewError;
use crate::views::page::compile;
use crate::views::profile::{Flame, FlameQuery, draw};

/// The longest body of a request, in bytes.
pub const MAX_BODY: usize = 16 << 20;
/// The bytes of all bodies that are being received at once.
const MAX_UNDER_WAY: usize = 64 << 20;
/// Bodies that are decoded at once.
const DECODERS: usize = 2;
/// How long the end of a server waits until others have what it received.
const HAND_OVER: Duration = Duration::from_secs(10);
/// How often files are looked after.
const PAUSE: Duration = Duration::from_secs(10);
/// How long after a failure they are looked after again: on a full disk a merge would fail without end.
const AGAIN: Duration = Duration::from_secs(60);

/// Why a request is not taken.
#[derive(Debug)]
pub enum Refusal {
    /// It is not as its protocol has it.
    Invalid(String),
    /// It is too large.
    TooLarge(String),
    /// Others come first; the sender may repeat it.
    Busy,
    /// The disk does not take it; the sender may repeat it.
    Disk(io::Error),
    /// The server fails.
    Failed(Problem),
}

impl From<Wrong> for Refusal {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::Invalid(detail) => Self::Invalid(detail),
            Wrong::TooLarge(detail) => Self::TooLarge(detail),
        }
    }
}

impl From<QueryError> for ViewError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Invalid(detail) => Self::Invalid(detail),
            QueryError::TooLarge(detail) => Self::TooLong(detail),
            QueryError::Disk(error) => Self::failed(error),
        }
    }
}

pub use sharing::{Sharing, SharingFigures};

/// The store, and the limits of what comes at once.
pub struct Pushed {
    /// The store.
    pub store: Store,
    /// The exchange with the other servers of a fleet; none on a machine alone.
    pub sharing: Option<Sharing>,
    room: Arc<Semaphore>,
    decoders: Arc<Semaphore>,
}

/// The room of a body, until it is dropped.
pub struct Room(#[expect(dead_code, reason = "held for its end")] OwnedSemaphorePermit);

impl Pushed {
    /// Opens the store in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// If the disk or the index fails.
    pub fn open(folder: &Path, is_of_fleet: bool) -> io::Result<Self> {
        let (store, sharing) = match is_of_fleet {
            false => (Store::open(folder)?, None),
            true => {
                let store = Store::open_with(folder, sharing::FRESHNESS)?;
                (store, Some(Sharing::new(folder)?))
            }
        };
        Ok(Self {
            store,
            sharing,
            room: Arc::new(Semaphore::new(MAX_UNDER_WAY)),
            decoders: Arc::new(Semaphore::new(DECODERS)),
        })
    }

    /// Room for a body of that many bytes; none if too many come at once.
    pub fn room(&self, bytes: usize) -> Option<Room> {
        let bytes = u32::try_from(bytes).ok()?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(bytes);
        room.ok().map(Room)
    }

    /// Takes a request.
    ///
    /// # Errors
    /// If it is wrong, or cannot be kept now.
    pub async fn take(
        &self,
        state: &AppState,
        protocol: Protocol,
        body: Vec<u8>,
        is_packed: bool,
    ) -> Result<Taken, Refusal> {
        let taken = self.take_uncounted(state, protocol, body, is_packed).await;
        if taken.is_err() {
            self.store.count_refused();
        }
        taken
    }

    async fn take_uncounted(
        &self,
        state: &AppState,
        protocol: Protocol,
        body: Vec<u8>,
        is_packed: bool,
    ) -> Result<Taken, Refusal> {
        let entry = Entry {
            protocol,
            is_packed,
            came: u64::try_from(Millis::now().0 / 1000).unwrap_or_default(),
            body,
        };
        let place = Arc::clone(&self.decoders).acquire_owned().await;
        let place = place.map_err(|error| Refusal::Failed(Problem::internal(error)))?;
        let decoded = state.blocking(move |_| {
            let _place = place;
            Ok(entry.decode())
        });
        let decoded = decoded.await.map_err(Refusal::Failed)??;
        let taken = decoded.taken();
        let (done, answer) = oneshot::channel();
        let queued = self.store.write(decoded, |written| {
            // The client may be gone.
            let _: Result<(), io::Result<Written>> = done.send(written);
        });
        queued.map_err(|why| match why {
            NotQueued::Full => Refusal::Busy,
            NotQueued::Ended => Refusal::Failed(ended()),
        })?;
        let written = answer.await.map_err(|_| Refusal::Failed(ended()))?;
        written.map_err(Refusal::Disk)?;
        Ok(taken)
    }
}

fn ended() -> Problem {
    Problem::internal("the thread of pushed profiles has ended")
}

/// Looks after the store's files again and again, and shares them with the other servers of a fleet.
pub(crate) async fn run(state: AppState) {
    let is_of_fleet = state.pushed().is_some_and(|it| it.sharing.is_some());
    let usual = if is_of_fleet { sharing::PAUSE } else { PAUSE };
    // A server of a fleet that begins has nothing of the others.
    if !is_of_fleet {
        tokio::time::sleep(usual).await;
    }
    loop {
        // A failure is in the log, and the next look may succeed.
        let kept = state.blocking(keep).await;
        let pause = match kept {
            Err(_) if !is_of_fleet => AGAIN,
            _ => usual,
        };
        tokio::time::sleep(pause).await;
    }
}

fn keep(state: &AppState) -> Result<(), Problem> {
    let Some(pushed) = state.pushed() else {
        return Ok(());
    };
    let PushedRetention { days, bytes } = state.config().keep_pushed;
    let retention = Retention { days, bytes };
    match &pushed.sharing {
        Some(sharing) => sharing.share(state, retention),
        None => {
            let now = u32::try_from(Millis::now().0 / 1000).unwrap_or(u32::MAX);
            let kept = pushed.store.keep(retention, now);
            kept.map_err(Problem::internal)?;
        }
    }
    Ok(())
}

/// Gives the other servers of a fleet what only this one has, before it ends.
pub(crate) async fn hand_over(state: AppState) {
    if state.pushed().is_none_or(|it| it.sharing.is_none()) {
        return;
    }
    let handed = state.blocking(|state| {
        let sharing = state.pushed().and_then(|it| it.sharing.as_ref());
        let left = sharing.map_or(Ok(()), |sharing| sharing.leave(state));
        left.map_err(Problem::internal)
    });
    if !matches!(tokio::time::timeout(HAND_OVER, handed).await, Ok(Ok(()))) {
        tracing::warn!(
            "the last pushed profiles are on this server's disk only, and count when a server with its folder starts"
        );
    }
}

/// A flame graph of a window.
///
/// # Errors
/// If the query makes no sense, the answer is too large, or the disk fails.
pub fn flame(
    store: &Store,
    (query, window): (&CostsQuery, Window),
    cut: &FlameQuery,
    is_inverted: bool,
) -> Result<Flame, ViewError> {
    let filter = filter_of(cut)?;
    let (tree, unit) = store.call_tree(query, window, filter.as_ref(), is_inverted)?;
    let mut flame = draw(&tree, None, unit, cut.least)?;
    if flame.total == 0 {
        flame.notes.push(store.nothing(query, window)?.to_string());
    }
    if hprof_pushed::is_state(&query.kind) {
        flame
            .notes
            .push("the last values of each series in the window".to_owned());
    }
    Ok(flame)
}

/// A flame graph of one question with the difference to another, whose values are scaled to the same sum.
///
/// # Errors
/// As [`flame`] has them.
pub fn compare(
    store: &Store,
    before: (&CostsQuery, Window),
    after: (&CostsQuery, Window),
    cut: &FlameQuery,
    is_inverted: bool,
) -> Result<Flame, ViewError> {
    let filter = filter_of(cut)?;
    let filter = filter.as_ref();
    let (old, _) = store.call_tree(before.0, before.1, filter, is_inverted)?;
    let (new, unit) = store.call_tree(after.0, after.1, filter, is_inverted)?;
    let mut flame = draw(&new, Some(&old), unit.clone(), cut.least)?;
    for (tree, (query, window), which) in [(&old, before, "before"), (&new, after, "after")] {
        if tree.total == 0 {
            let reason = store.nothing(query, window)?;
            flame.notes.push(format!("{which}: {reason}"));
        }
    }
    if old.total != new.total {
        flame.notes.push(format!(
            "the window before has {} {unit} in all, and is scaled to {}",
            old.total, new.total
        ));
    }
    flame
        .notes
        .push("frames that only the window before has are not shown".to_owned());
    Ok(flame)
}

fn filter_of(cut: &FlameQuery) -> Result<Option<regex::Regex>, ViewError> {
    let filter = cut.filter.as_deref().filter(|text| !text.is_empty());
    filter.map(compile).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-11-14, in seconds.
    const START: u64 = 1_700_000_000;

    fn put(store: &Store, from: u64, stacks: &str) {
        let ingest = hprof_pushed::Ingest {
            name: "shop".to_owned(),
            from: Some(from.to_string()),
            until: Some((from + 10).to_string()),
        };
        let entry = Entry {
            protocol: Protocol::Ingest(ingest, "text/plain".to_owned()),
            is_packed: false,
            came: from + 10,
            body: stacks.as_bytes().to_vec(),
        };
        let (done, answer) = oneshot::channel();
        let queued = store.write(entry.decode().unwrap(), |written| {
            done.send(written).unwrap();
        });
        queued.unwrap();
        answer.blocking_recv().unwrap().unwrap();
    }

    #[test]
    fn differences_are_of_stacks() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        put(&store, START, "main;work 4\nmain;idle 4\n");
        put(&store, START + 10, "main;work 12\nmain;idle 4\n");
        let query = |selector: &str| CostsQuery {
            selector: Some(selector.to_owned()),
            kind: "samples".to_owned(),
            by: None,
        };
        let window = |from: u64, to: u64| Window {
            from: Some(from as i64 * 1000),
            to: Some(to as i64 * 1000),
        };
        let question = query("service=\"shop\"");
        let (old, new) = (window(START, START + 10), window(START + 10, START + 20));
        assert_eq!(new.before().from, old.from);
        let cut = FlameQuery::default();
        let flame = compare(&store, (&question, old), (&question, new), &cut, false).unwrap();
        let main = &flame.root.c[0];
        let names: Vec<_> = main
            .c
            .iter()
            .map(|it| (&*flame.frames[it.f as usize], it.d))
            .collect();
        // Eight samples are scaled to sixteen.
        assert_eq!(names, [("work", Some(4)), ("idle", Some(-4))]);
        let flame = flame_of_nothing(&store, &query("service=\"none\""), old);
        assert_eq!(flame.notes, [hprof_pushed::Nothing::NoSeries.to_string()]);
    }

    fn flame_of_nothing(store: &Store, query: &CostsQuery, window: Window) -> Flame {
        flame(store, (query, window), &FlameQuery::default(), false).unwrap()
    }
}
