//! Segments that the servers of a fleet share: each sends those that it makes and takes those of the others, and one of them at a time
//! merges and removes.
//!
//! Invariant: a segment counts in the fleet from its publication until others replace it, and each of these is one transaction of
//! the database. A server holds what the list of the fleet has, and changes to a later list in one step, so that no row counts
//! twice or is missing between two segments.
//!
//! A file `NUMBER.shared` beside a segment has its name in the fleet. It is on the disk before the fleet knows the name, so a
//! server that was killed at any moment publishes no segment under two names.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::keeping::{self, Retention};
use crate::segment::Segment;
use crate::{Pushed, Shared, log};

/// When a file is asked for again that was missing or damaged.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// The name of a segment in the fleet: 32 hexadecimal digits by chance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FleetId(String);

impl FleetId {
    fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(format!("{:032x}", u128::from_ne_bytes(bytes))))
    }

    /// The name with these digits, if they are one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_name = text.len() == 32 && text.bytes().all(is_digit);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A segment as the fleet knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSegment {
    /// Its name.
    pub id: FleetId,
    /// How often it was merged.
    pub level: u32,
    /// The bytes of its file.
    pub bytes: u64,
    /// The SHA-256 of its file, in hexadecimal digits.
    pub sha256: String,
}

/// The state of a name in the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// Its segment does not count yet.
    Open,
    /// Its segment was published, and may have been replaced since.
    Published,
}

/// The database and the storage that the servers of a fleet share. All calls block.
pub trait Fleet {
    /// The segments that count, of one moment.
    ///
    /// # Errors
    /// All calls fail if the database or the storage does.
    fn list(&self) -> io::Result<Vec<FleetSegment>>;
    /// Notes a name and what it stands for, unless it is known.
    ///
    /// # Errors
    /// If the database fails.
    fn reserve(&self, segment: &FleetSegment) -> io::Result<Reservation>;
    /// Sends the file of a segment.
    ///
    /// # Errors
    /// If the storage fails.
    fn send(&self, id: &FleetId, file: &Path) -> io::Result<()>;
    /// Fetches the file of a segment, and compares its SHA-256.
    ///
    /// # Errors
    /// If the storage fails, or has other bytes.
    fn fetch(&self, segment: &FleetSegment, to: &Path) -> io::Result<()>;
    /// Has a segment count whose name is reserved and whose file is sent. False if the name is not reserved any more.
    ///
    /// # Errors
    /// If the database fails.
    fn publish(&self, id: &FleetId) -> io::Result<bool>;
    /// Has a segment count in the place of others, or removes these. False, and nothing is changed, unless the new name is reserved and
    /// all others count.
    ///
    /// # Errors
    /// If the database fails.
    fn replace(&self, new: Option<&FleetId>, gone: &[FleetId]) -> io::Result<bool>;
    /// True if this server is the one that merges and removes now.
    ///
    /// # Errors
    /// If the database fails.
    fn is_keeper(&self) -> io::Result<bool>;
    /// Removes the files of segments that have not counted for a while.
    ///
    /// # Errors
    /// If the database or the storage fails.
    fn sweep(&self, keep: Retention) -> io::Result<()>;
}

/// The name of a segment of this server.
#[derive(Debug, Clone)]
struct Named {
    id: FleetId,
    is_published: bool,
}

impl Named {
    fn published(id: FleetId) -> Self {
        let is_published = true;
        Self { id, is_published }
    }
}

/// The segments of this server that have a name in the fleet.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By their numbers here; none before the folder was read.
    named: Option<BTreeMap<u64, Named>>,
    /// Files that came for a list which was not followed to its end, by their numbers.
    waiting: BTreeMap<FleetId, u64>,
    /// Segments whose files are missing or damaged, and when they were asked for last.
    unreadable: BTreeMap<FleetId, Instant>,
}

fn marker(shared: &Shared, number: u64) -> PathBuf {
    shared.segment(number).with_extension("shared")
}

/// Writes the name of a segment beside it.
fn mark(shared: &Shared, number: u64, id: &FleetId) -> io::Result<()> {
    let mut file = File::create(marker(shared, number))?;
    file.write_all(id.as_str().as_bytes())?;
    file.sync_all()?;
    log::sync_folder(&shared.folder)
}

/// Removes a file that may have gone.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads the names that files beside segments have, and removes those of segments that have gone.
fn read_names(shared: &Shared) -> io::Result<BTreeMap<u64, Named>> {
    let held = shared.held.read().segments.clone();
    let held: HashSet<u64> = held.iter().map(|segment| segment.number).collect();
    let mut named = BTreeMap::new();
    for entry in fs::read_dir(&shared.folder)? {
        let path = entry?.path();
        let Some(number) = log::number_of(&path).filter(|_| {
            path.extension()
                .is_some_and(|extension| extension == "shared")
        }) else {
            continue;
        };
        // A file of a crash may be empty: the fleet did not know its name.
        match FleetId::parse(&fs::read_to_string(&path)?) {
            Some(id) if held.contains(&number) => {
                // The fleet says whether it is.
                let is_published = false;
                named.insert(number, Named { id, is_published });
            }
            _ => remove(&path)?,
        }
    }
    Ok(named)
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => sum.update(buffer.get(..length).unwrap_or_default()),
        }
    }
    Ok(sum
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Sends a segment under a name that is marked. Gives what the fleet knew of the name.
fn send(
    shared: &Shared,
    fleet: &dyn Fleet,
    segment: &Segment,
    id: &FleetId,
) -> io::Result<Reservation> {
    let path = shared.segment(segment.number);
    let about = FleetSegment {
        id: id.clone(),
        level: segment.level,
        bytes: segment.bytes,
        sha256: sha256(&path)?,
    };
    let reservation = fleet.reserve(&about)?;
    if reservation == Reservation::Open {
        fleet.send(id, &path)?;
    }
    Ok(reservation)
}

/// Publishes the segments of this server that the fleet does not know.
fn publish(shared: &Shared, fleet: &dyn Fleet, named: &mut BTreeMap<u64, Named>) -> io::Result<()> {
    if named.values().any(|it| !it.is_published) {
        // After a start nearly all of them are, and need not be read for that.
        let list: HashSet<FleetId> = fleet.list()?.into_iter().map(|it| it.id).collect();
        for known in named.values_mut() {
            known.is_published |= list.contains(&known.id);
        }
    }
    let segments = shared.held.read().segments.clone();
    for segment in segments {
        let number = segment.number;
        let id = match named.get(&number) {
            Some(known) if known.is_published => continue,
            Some(known) => known.id.clone(),
            None => {
                let id = FleetId::new()?;
                mark(shared, number, &id)?;
                let is_published = false;
                named.insert(
                    number,
                    Named {
                        id: id.clone(),
                        is_published,
                    },
                );
                id
            }
        };
        if send(shared, fleet, &segment, &id)? == Reservation::Open && !fleet.publish(&id)? {
            return Err(io::Error::other("the fleet has dropped a reserved name"));
        }
        named.insert(number, Named::published(id));
    }
    Ok(())
}

/// Has this server hold what the list of the fleet has.
fn follow(shared: &Shared, fleet: &dyn Fleet, names: &mut Names) -> io::Result<()> {
    let list = fleet.list()?;
    let live: HashMap<&FleetId, &FleetSegment> = list.iter().map(|it| (&it.id, it)).collect();
    let named = names.named.get_or_insert_default();
    let here: HashSet<FleetId> = named.values().map(|it| it.id.clone()).collect();
    let gone = named
        .iter()
        .filter(|(_, it)| it.is_published && !live.contains_key(&it.id));
    let gone: Vec<u64> = gone.map(|(number, _)| *number).collect();
    let unwanted: Vec<(FleetId, u64)> = names
        .waiting
        .iter()
        .filter(|(id, _)| !live.contains_key(id))
        .map(|(id, number)| (id.clone(), *number))
        .collect();
    for (id, number) in unwanted {
        drop_files(shared, number);
        names.waiting.remove(&id);
    }
    names.unreadable.retain(|id, _| live.contains_key(id));
    let mut new = Vec::new();
    for about in list.iter().filter(|it| !here.contains(&it.id)) {
        let asked = names.unreadable.get(&about.id);
        if asked.is_some_and(|asked| asked.elapsed() < AGAIN) {
            continue;
        }
        let known = names.waiting.get(&about.id).copied();
        let number = known.unwrap_or_else(|| shared.next_segment.fetch_add(1, Ordering::Relaxed));
        let has_file = known.is_some();
        match take(shared, fleet, about, number, has_file) {
            Ok(segment) => {
                names.waiting.insert(about.id.clone(), number);
                names.unreadable.remove(&about.id);
                new.push((Arc::new(segment), about.id.clone()));
            }
            Err(error) => {
                drop_files(shared, number);
                names.waiting.remove(&about.id);
                if !is_of_file(&error) {
                    return Err(error);
                }
                tracing::error!(
                    segment = about.id.as_str(),
                    %error,
                    "a segment of pushed profiles cannot be fetched, and answers lack it"
                );
                names.unreadable.insert(about.id.clone(), Instant::now());
            }
        }
    }
    if new.is_empty() && gone.is_empty() {
        return Ok(());
    }
    log::sync_folder(&shared.folder)?;
    let segments: Vec<Arc<Segment>> = new.iter().map(|(segment, _)| Arc::clone(segment)).collect();
    keeping::change(shared, &segments, &gone)?;
    unname(shared, named, &gone);
    for (segment, id) in new {
        names.waiting.remove(&id);
        named.insert(segment.number, Named::published(id));
    }
    Ok(())
}

/// Fetches a segment, unless its file is here.
fn take(
    shared: &Shared,
    fleet: &dyn Fleet,
    about: &FleetSegment,
    number: u64,
    has_file: bool,
) -> io::Result<Segment> {
    let path = shared.segment(number);
    if !has_file {
        let part = path.with_extension("new");
        fleet.fetch(about, &part)?;
        mark(shared, number, &about.id)?;
        fs::rename(&part, &path)?;
    }
    Segment::open(&path, number, about.level)
}

/// True where one file is missing or damaged, which keeps no other from coming.
fn is_of_file(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::InvalidData
    )
}

/// Removes files that do not count here. Those that stay go at the next start.
fn drop_files(shared: &Shared, number: u64) {
    let path = shared.segment(number);
    for path in [path.with_extension("new"), path, marker(shared, number)] {
        if let Err(error) = remove(&path) {
            tracing::warn!(%error, path = %path.display(), "a file of pushed profiles stays");
        }
    }
}

/// The names of segments that are published.
fn names_of(named: &BTreeMap<u64, Named>, segments: &[Arc<Segment>]) -> Vec<FleetId> {
    let names = segments.iter().filter_map(|it| named.get(&it.number));
    names.map(|it| it.id.clone()).collect()
}

/// Merges and removes for the whole fleet.
fn keep(
    shared: &Shared,
    fleet: &dyn Fleet,
    named: &mut BTreeMap<u64, Named>,
    keep: Retention,
    now: u32,
) -> io::Result<()> {
    let published = |named: &BTreeMap<u64, Named>| {
        let mut segments = shared.held.read().segments.clone();
        segments.retain(|it| named.get(&it.number).is_some_and(|it| it.is_published));
        segments
    };
    let gone = keeping::too_much(published(named), keep, now);
    if !gone.is_empty() && fleet.replace(None, &names_of(named, &gone))? {
        tracing::info!(
            segments = gone.len(),
            "pushed profiles of the fleet are removed"
        );
        forget(shared, named, &[], &gone)?;
    }
    while let Some((due, level)) = keeping::due(&published(named)) {
        let merged = Arc::new(keeping::merged(shared, &due, level, now)?);
        let id = FleetId::new()?;
        let number = merged.number;
        let gone = names_of(named, &due);
        let replaced = mark(shared, number, &id)
            .and_then(|()| send(shared, fleet, &merged, &id))
            .and_then(|_| fleet.replace(Some(&id), &gone));
        if !matches!(replaced, Ok(true)) {
            // Another server has merged them, or the fleet fails; if it has replaced them all the same, the next list says so.
            drop_files(shared, number);
            return replaced.map(drop);
        }
        forget(shared, named, &[merged], &due)?;
        named.insert(number, Named::published(id));
    }
    Ok(())
}

/// Puts segments in the place of others here, as the fleet has done.
fn forget(
    shared: &Shared,
    named: &mut BTreeMap<u64, Named>,
    new: &[Arc<Segment>],
    gone: &[Arc<Segment>],
) -> io::Result<()> {
    let gone: Vec<u64> = gone.iter().map(|segment| segment.number).collect();
    keeping::change(shared, new, &gone)?;
    unname(shared, named, &gone);
    Ok(())
}

/// Forgets the names of segments that have gone.
fn unname(shared: &Shared, named: &mut BTreeMap<u64, Named>, gone: &[u64]) {
    for &number in gone {
        named.remove(&number);
        drop_files(shared, number);
    }
}

impl Pushed {
    /// Shares segments with the other servers of a fleet: sends, takes, and merges and removes for all where this server is the one that
    /// does, at this second since 1970-01-01 UTC. It takes the place of [`Pushed::keep`]. Gives how many segments are missing here, as their
    /// files are missing or damaged.
    ///
    /// # Errors
    /// If the fleet or the disk fails. What was done counts, and the next call does the rest.
    pub fn share(&self, fleet: &dyn Fleet, retention: Retention, now: u32) -> io::Result<usize> {
        let shared = &self.shared;
        let mut names = shared.keeping.lock();
        publish(shared, fleet, known(shared, &mut names)?)?;
        follow(shared, fleet, &mut names)?;
        if fleet.is_keeper()? {
            let named = names.named.get_or_insert_default();
            keep(shared, fleet, named, retention, now)?;
            fleet.sweep(retention)?;
        }
        Ok(names.unreadable.len())
    }

    /// Sends what the fleet does not have, as the first part of [`Pushed::share`].
    ///
    /// # Errors
    /// If the fleet or the disk fails.
    pub fn hand_over(&self, fleet: &dyn Fleet) -> io::Result<()> {
        self.make_segment()?;
        let shared = &self.shared;
        let mut names = shared.keeping.lock();
        publish(shared, fleet, known(shared, &mut names)?)
    }
}

/// The names, which are read at first.
fn known<'a>(shared: &Shared, names: &'a mut Names) -> io::Result<&'a mut BTreeMap<u64, Named>> {
    if names.named.is_none() {
        names.named = Some(read_names(shared)?);
    }
    Ok(names.named.get_or_insert_default())
}
