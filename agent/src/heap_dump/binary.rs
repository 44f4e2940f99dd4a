//! heap=dump in the binary format: the VM's file becomes the profile's, or is copied.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;

use crossbeam_channel::bounded;
use hprof_format::writer::ProfileWriter;

use super::ids::DumpIds;
use super::in_place::{InPlace, Region};
use super::parts::Part;
use super::reader::{DumpError, DumpReader, Growth};
use super::splice::{Placed, Splice};
use super::survey::Survey;
use super::vm_dump::Place;
use super::write::Content;
use super::{Failure, Request, follow};
use crate::options::Strip;
use crate::output::Host;
use crate::sink::Body;

/// A dump with fewer bytes of objects is copied: it has less room in front of them than it would fill.
const LARGE: u64 = 16 << 20;
/// A profile with more bytes is not moved in front of the VM's objects.
const MOST_BEFORE: u64 = 16 << 20;
/// Bytes of a record's head.
const RECORD_HEAD: u64 = 9;

/// Writes all objects; returns their number.
///
/// # Errors
/// [`Failure`].
pub fn dump(
    request: &Request<'_>,
    writer: &mut (dyn ProfileWriter + Send),
    ids: &mut DumpIds<'_>,
) -> Result<u64, Failure> {
    let host = request.host.as_ref().filter(|_| request.content.arrays);
    let found = host.and_then(|host| Some((host, host.length()?)));
    match found.filter(|(_, length)| *length <= MOST_BEFORE) {
        Some((host, length)) => in_place(request, host, length, writer, ids),
        None => copy(request, writer, ids),
    }
}

fn copy(
    request: &Request<'_>,
    writer: &mut (dyn ProfileWriter + Send),
    ids: &mut DumpIds<'_>,
) -> Result<u64, Failure> {
    let place = Place::create(request.output).map_err(Failure::NoDump)?;
    let live = request.prepare(ids);
    let mut splice = Splice::new(writer, ids, request.content, false);
    let (dumped, read) = follow(request, &place, live, true, &mut splice);
    conclude(dumped, read.map(|_| ()), splice)
}

fn conclude(
    dumped: Result<(), String>,
    read: Result<(), DumpError>,
    splice: Splice<'_, '_>,
) -> Result<u64, Failure> {
    match (dumped, read) {
        (_, Err(DumpError::Output(error))) => Err(error.into()),
        (Err(reason), _) if splice.has_begun() => Err(Failure::CutOff(reason)),
        (Err(reason), _) => Err(Failure::NoDump(reason)),
        (Ok(()), Err(error)) if splice.has_begun() => Err(Failure::CutOff(error.to_string())),
        (Ok(()), Err(error)) => Err(Failure::NoDump(error.to_string())),
        (Ok(()), Ok(())) => Ok(splice.end()?),
    }
}

fn in_place(
    request: &Request<'_>,
    host: &Host,
    before: u64,
    writer: &mut (dyn ProfileWriter + Send),
    ids: &mut DumpIds<'_>,
) -> Result<u64, Failure> {
    let place = Place::create(request.output).map_err(Failure::NoDump)?;
    let live = request.prepare(ids);
    let growth = Growth::default();
    let content = request.content;
    let (place, growth) = (&place, &growth);
    let look = move || look(place, growth, content, host, before);
    let (dumped, looked) = thread::scope(|scope| {
        let reader = thread::Builder::new()
            .name("HPROF heap dump".to_owned())
            .spawn_scoped(scope, look);
        let dumped = place.dump(request.dumper, request.vm.jni, live, growth);
        let panicked = |_| Err(DumpError::Read(io::Error::other("internal error")));
        let looked = reader.ok().map(|it| it.join().unwrap_or_else(panicked));
        (dumped, looked)
    });
    // When there are no more threads to be had: one after the other.
    let looked = looked.unwrap_or_else(look);
    let mut splice = Splice::new(writer, ids, content, false);
    let seen = match looked {
        Ok(seen) => seen,
        Err(error) => {
            host.release();
            return conclude(dumped, Err(error), splice);
        }
    };
    let suited = seen.scan.as_ref().and_then(|scan| scan.suited(LARGE));
    let region = suited.filter(|_| !seen.is_refused);
    let read = match (region, seen.scan, seen.rest) {
        (Some(region), Some(scan), rest) => {
            let found = Found {
                file: seen.file,
                path: seen.path,
                region,
            };
            let taken = found.take(scan, seen.names, host, &mut splice);
            host.release();
            taken?;
            match (seen.read, rest) {
                (Ok(()), Some((reader, parts))) => reader.objects(&parts, &mut splice),
                (read, _) => read,
            }
        }
        (_, scan, rest) => {
            host.release();
            if let Some(scan) = scan {
                splice.set_threads(scan.into_threads());
            }
            match rest {
                Some((reader, parts)) => {
                    splice.set_names(seen.names.unwrap_or_default());
                    reader.objects(&parts, &mut splice)
                }
                None => DumpReader::new(&seen.file, growth, true)
                    .and_then(|reader| reader.read(&mut splice)),
            }
        }
    };
    conclude(dumped, read, splice)
}

/// The findings of the thread that reads a dump while the VM writes it.
struct Seen<'g> {
    /// The file that has the objects, or the first part of them.
    file: File,
    path: PathBuf,
    /// Objects that were read, and blanked, where they are.
    scan: Option<InPlace>,
    /// They cannot stay there, and are among those that are still unread.
    is_refused: bool,
    /// Names, if the scan has none.
    names: Option<Survey>,
    /// The reader and the parts that are still unread.
    rest: Option<(DumpReader<'g>, Vec<Part>)>,
    /// How reading went.
    read: Result<(), DumpError>,
}

/// Reads a dump while the VM writes it.
fn look<'g>(
    place: &Place,
    growth: &'g Growth,
    content: Content,
    host: &Host,
    before: u64,
) -> Result<Seen<'g>, DumpError> {
    let main = place.file(growth)?;
    thread::scope(|scope| {
        let (tell, first) = bounded(1);
        let mut reader = DumpReader::new(&main, growth, false)?;
        reader.take_parts(place.parts().tell(tell));
        let names = main.try_clone()?;
        let scanner = thread::Builder::new()
            .name("HPROF heap dump objects".to_owned())
            .spawn_scoped(scope, move || {
                let part = first.recv().ok()?;
                scan_part(&part, &names, growth, content, host, before)
            });
        let mut scan = InPlace::new(main.try_clone()?, content, true);
        let mut parts = reader.names(&mut scan)?;
        if parts.is_empty() {
            host.reserve(room(0, reader.offset(), reader.offset()));
            let read = reader.objects(&[], &mut scan);
            return Ok(Seen {
                file: main.try_clone()?,
                path: place.path(),
                scan: Some(scan),
                is_refused: false,
                names: None,
                rest: None,
                read,
            });
        }
        let scanned = scanner.ok().and_then(|it| it.join().ok().flatten());
        let mut seen = Seen {
            file: parts[0].file.try_clone()?,
            path: parts[0].name.clone().unwrap_or_default(),
            scan: None,
            is_refused: true,
            names: Some(scan.survey),
            rest: None,
            read: Ok(()),
        };
        if let Some((scan, read)) = scanned {
            seen.scan = Some(scan);
            if let Some(read) = read {
                parts.remove(0);
                (seen.is_refused, seen.read) = (false, read);
            }
        }
        seen.rest = Some((reader, parts));
        Ok(seen)
    })
}

/// Reads the first of the parts while the VM writes it, if it may stay where it is. Returns what was read of it, and
/// blanked, and how reading went: `None` for a part that is copied later ([`stay`]).
fn scan_part(
    part: &Part,
    main: &File,
    growth: &Growth,
    content: Content,
    host: &Host,
    before: u64,
) -> Option<(InPlace, Option<Result<(), DumpError>>)> {
    // Names of classes and fields come last.
    if part.name.is_none() || matches!(content.strip, Strip::AllBut(_)) {
        return None;
    }
    let mut scan = InPlace::new(part.file.try_clone().ok()?, content, false);
    let read = stay(&mut scan, part, main, growth, host, before);
    Some((scan, read))
}

/// Makes the VM leave room in front of a large part, and reads it. `main` is the file that has the names. `None` for a
/// part that is not suited, or that the VM no longer writes. When the file system refuses to move it, the dump is cut off.
fn stay(
    scan: &mut InPlace,
    part: &Part,
    main: &File,
    growth: &Growth,
    host: &Host,
    before: u64,
) -> Option<Result<(), DumpError>> {
    let mut reader = DumpReader::new(&part.file, growth, false).ok()?;
    while scan.suited(LARGE).is_none() {
        reader.step(scan).ok()??;
    }
    let head = scan.region.map_or(0, |region| region.start);
    let room = room(before, head, main.metadata().ok()?.len());
    if !part.make_room(room).ok()? {
        return None;
    }
    host.reserve(room);
    scan.shift(room);
    let mut rest = || {
        reader.shift(room)?;
        while reader.step(scan)?.is_some() {}
        Ok(())
    };
    Some(rest())
}

/// How many bytes more than the `head` of the first part come before objects at the most: what is `before` the
/// dump, and what the VM's file of `names` has.
fn room(before: u64, head: u64, names: u64) -> u64 {
    /// Bytes that the VM may still write: HotSpot's buffer, and stacks of virtual threads.
    const MORE: u64 = 2 << 20;
    // Names of arrays in Java source are longer than the VM's.
    (before + names + names / 8 + head / 8 + MORE).next_multiple_of(4096)
}

/// Objects in a file of the VM.
struct Found {
    file: File,
    path: PathBuf,
    region: Region,
}

impl Found {
    /// Has `host` take them, behind what `splice` writes before objects.
    fn take(
        self,
        scan: InPlace,
        names: Option<Survey>,
        host: &Host,
        splice: &mut Splice<'_, '_>,
    ) -> Result<(), Failure> {
        let region = self.region;
        let unreadable = |error: io::Error| Failure::NoDump(DumpError::from(error).to_string());
        let length = self.file.metadata().map_err(unreadable)?.len();
        let end = match region.end <= length {
            true => region.end,
            false => region.sure_end,
        };
        let objects = scan.objects;
        let (survey, threads, roots) = scan.finish(names);
        let first = region.first_segment_end.min(end) - region.start;
        let first = u32::try_from(first).map_err(|e| unreadable(io::Error::other(e)))?;
        if let Some(last) = end.checked_sub(region.last_segment + RECORD_HEAD)
            && region.last_segment >= region.first_segment_end
            && let Ok(last) = u32::try_from(last)
        {
            let at = region.last_segment + RECORD_HEAD - 4;
            let written = self.file.write_all_at(&last.to_be_bytes(), at);
            written.map_err(unreadable)?;
        }
        splice.set_names(survey);
        splice.begin_before(objects, threads, first)?;
        let moved = host.take(&Body {
            file: &self.file,
            path: &self.path,
            start: region.start,
            end,
            attached: RECORD_HEAD,
        })?;
        splice.set_placed(Placed {
            roots,
            file: Some(host.handle()?),
            moved,
        });
        Ok(())
    }
}
