//! heap=dump: all objects, and what keeps them alive.
//!
//! The VM's own dumper writes the heap into a file, which becomes the profile's ([`in_place`]), or is
//! copied into a binary profile while the VM writes it ([`splice`]). For text it is read twice: once for what is about
//! classes, threads and roots ([`survey`]), and once for the objects ([`text`]).
//! Nothing is kept for each object. Before the dump the mode costs nothing.
//!
//! In the profile all serials and names are the profile's own; object and class ids are the VM's
//! addresses.

mod binary;
mod ids;
mod in_place;
mod monitors;
mod parts;
mod primitive_array;
mod reader;
mod recorder;
mod sizes;
mod splice;
mod strip;
mod survey;
mod text;
mod thread_objects;
mod vm_dump;
mod vm_names;
mod write;

pub use ids::PROFILE_THREAD;
pub use recorder::HeapDumpRecorder;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hprof_format::writer::ProfileWriter;

use crate::heap_sites::SitesProfile;
use crate::output::Host;
use crate::report;
use crate::vm::{GlobalRef, Vm, VmDumper};
use ids::DumpIds;
use monitors::HeldMonitors;
use reader::{DumpError, DumpReader, Growth, Visitor};
use splice::Splice;
use vm_dump::Place;
use write::Content;

/// Why there is no dump, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Nothing was written.
    #[error("no heap dump: {0}")]
    NoDump(String),
    /// The profile has a heap dump without its end.
    #[error("the heap dump is cut off: {0}")]
    CutOff(String),
    /// The profile cannot be written; the owner of the output reports that.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// The treatment of unreachable objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// Collect them first, so that the dump is without.
    Collect,
    /// The collector has stopped; it ran a last time before the VM began to exit.
    CollectedBefore,
    /// The VM is shutting down; its collector is unavailable.
    NotCollected,
}

/// The message after a dump.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// Objects and arrays.
    pub objects: u64,
    /// Which of them may be garbage.
    pub garbage: Garbage,
    /// From the beginning to the end.
    pub time: Duration,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        let objects = self.objects;
        let garbage = match self.garbage {
            Garbage::Collect => "after a garbage collection",
            Garbage::CollectedBefore => "garbage collected before the exit",
            Garbage::NotCollected => "garbage not collected",
        };
        write!(f, "heap dump: {objects} objects, {seconds:.1} s, {garbage}")
    }
}

/// Who asks for a dump.
pub struct Request<'a> {
    /// The VM's dumper.
    pub dumper: VmDumper,
    /// The VM as the profile thread sees it.
    pub vm: Vm<'a>,
    /// Where the profile is. Its folder must have room for a copy.
    pub output: &'a Path,
    /// The profile's file, if the VM's may take its place.
    pub host: Option<Host>,
    /// The contents of the dump.
    pub content: Content,
    /// The present time as text.
    pub ctime: &'a str,
    /// The treatment of unreachable objects.
    pub garbage: Garbage,
    /// The agent's threads.
    pub own_threads: &'a [Arc<GlobalRef>],
    /// The VM collects garbage in the pause of its dump, if asked to.
    pub collects_in_pause: bool,
}

/// Writes all objects, or those that a garbage collection leaves. With `sites` each has the trace of
/// its allocation.
///
/// # Errors
/// [`Failure`].
pub fn dump(
    request: &Request<'_>,
    writer: &mut (dyn ProfileWriter + Send),
    ids: &mut DumpIds<'_>,
    sites: Option<&mut SitesProfile>,
) -> Result<Summary, Failure> {
    let started = Instant::now();
    let objects = if request.content.text {
        text::dump(request, writer, ids, sites)?
    } else {
        match sites {
            Some(sites) => joined_binary(request, writer, ids, sites)?,
            None => binary::dump(request, writer, ids)?,
        }
    };
    Ok(Summary {
        objects,
        garbage: request.garbage,
        time: started.elapsed(),
    })
}

/// Copies a dump whose objects have traces: they are known when the VM has written all of it.
fn joined_binary(
    request: &Request<'_>,
    writer: &mut (dyn ProfileWriter + Send),
    ids: &mut DumpIds<'_>,
    sites: &mut SitesProfile,
) -> Result<u64, Failure> {
    let (place, (dumped, file)) = locate(request, ids, sites, &mut |place, live| {
        let growth = Growth::default();
        let dumped = place.dump(request.dumper, request.vm.jni, live, &growth);
        (dumped, place.file(&growth))
    })?;
    dumped.map_err(Failure::NoDump)?;
    let file = file.map_err(|error| Failure::NoDump(error.to_string()))?;
    drop(place);
    let growth = Growth::default();
    growth.finish();
    let mut splice = Splice::new(writer, ids, request.content, true);
    match DumpReader::new(&file, &growth, true).and_then(|it| it.read(&mut splice)) {
        Ok(()) => Ok(splice.end()?),
        Err(DumpError::Output(error)) => Err(error.into()),
        Err(error) if splice.has_begun() => Err(Failure::CutOff(error.to_string())),
        Err(error) => Err(Failure::NoDump(error.to_string())),
    }
}

/// How the VM's dumping went, and what was made of its file.
type Taken<R> = (Result<(), String>, R);

/// Has `dump` dump the VM's heap in such a way that the traces of the objects are known. `dump`
/// gets a place and whether the VM is to collect garbage.
fn locate<R>(
    request: &Request<'_>,
    ids: &mut DumpIds<'_>,
    sites: &mut SitesProfile,
    dump: &mut dyn FnMut(&Place, bool) -> Taken<R>,
) -> Result<(Arc<Place>, Taken<R>), Failure> {
    /// A collector that moves objects at any time may do so during each dump.
    const MAX_TRIES: u32 = 3;
    let mut tries = 0;
    loop {
        tries += 1;
        let place = Arc::new(Place::create(request.output).map_err(Failure::NoDump)?);
        let live = request.prepare(ids);
        let watched = Arc::clone(&place);
        sites.expect_dump(Box::new(move || watched.has_content()));
        let result = dump(&place, live);
        let located = sites.locate(request.vm, ids.names());
        let is_located = located.is_some();
        ids.set_located(located.unwrap_or_default());
        if is_located || result.0.is_err() {
            return Ok((place, result));
        }
        if tries == MAX_TRIES {
            report::error(
                "objects were moved while the heap was dumped: the heap dump does not tell where \
                 they were allocated",
            );
            return Ok((place, result));
        }
    }
}

impl Request<'_> {
    /// Collects garbage if the VM's dumper is not to, and returns whether it is. Right before the dump, monitors that are
    /// held get references.
    fn prepare(&self, ids: &mut DumpIds<'_>) -> bool {
        let collects = self.collect();
        let monitors = HeldMonitors::find(self.vm, self.own_threads);
        if monitors.is_cut_off {
            report::note(
                "the heap dump lacks some MONITOR USED roots: asking all threads for their monitors took too long",
            );
        }
        ids.set_monitors(monitors);
        collects
    }

    fn collect(&self) -> bool {
        if self.garbage != Garbage::Collect || self.collects_in_pause {
            return self.garbage == Garbage::Collect;
        }
        if let Err(error) = self.vm.jvmti.force_garbage_collection() {
            report::error(&format!(
                "cannot collect garbage before the heap dump ({error})"
            ));
        }
        false
    }
}

/// Lets the VM dump its heap, and shows the dump to `visitor` on another thread meanwhile: the VM
/// writes with one thread, or few, and stands still otherwise. Returns how both went.
fn follow<V: Visitor + Send>(
    request: &Request<'_>,
    place: &Place,
    live: bool,
    frees: bool,
    visitor: &mut V,
) -> (Result<(), String>, Result<File, DumpError>) {
    let growth = Growth::default();
    let read = |visitor: &mut V| {
        let file = place.file(&growth)?;
        let mut reader = DumpReader::new(&file, &growth, frees)?;
        // A file that is read once only need not hold all.
        if frees {
            reader.take_parts(place.parts());
        }
        reader.read(visitor)?;
        Ok(file)
    };
    let (dumped, read_meanwhile) = thread::scope(|scope| {
        let reader = thread::Builder::new()
            .name("HPROF heap dump".to_owned())
            .spawn_scoped(scope, || read(&mut *visitor));
        let dumped = place.dump(request.dumper, request.vm.jni, live, &growth);
        let panicked = |_| Err(DumpError::Read(io::Error::other("internal error")));
        let result = reader.ok().map(|it| it.join().unwrap_or_else(panicked));
        (dumped, result)
    });
    // When there are no more threads to be had: one after the other.
    let read = read_meanwhile.unwrap_or_else(|| read(visitor));
    (dumped, read)
}
