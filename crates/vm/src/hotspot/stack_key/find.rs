//! Places in code that a thread comes to for the first time, and their frames.

use std::sync::atomic::Ordering;

use super::{ALL, Frame, Stack, StackKeys, UNLOADED, WORD};
use crate::StackWalker;
use crate::hotspot::code_blobs::Blob;
use crate::hotspot::code_places::{Code, CodePlaces, Place, PlaceKey, StackHash};
use crate::hotspot::method_ids::is_id_of;

/// A place, as far as it is needed for a key.
pub(super) struct Found {
    pub(super) hash: u64,
    pub(super) frames: usize,
    pub(super) frame_bytes: usize,
}

/// The frames that a place stands for.
struct Frames {
    hash: StackHash,
    count: usize,
    /// True if all methods have ids; the hash means nothing else.
    have_ids: bool,
}

impl Frames {
    fn none() -> Self {
        Self {
            hash: StackHash::NONE,
            count: 0,
            have_ids: true,
        }
    }

    fn one_without_id() -> Self {
        Self {
            hash: StackHash::NONE,
            count: 1,
            have_ids: false,
        }
    }
}

/// The `wanted` innermost frames at a return address, or [`ALL`]; `None` if the address has no record of its own.
fn frames_at(walker: &StackWalker, pc: usize, wanted: usize) -> Option<Frames> {
    let mut frames = Frames::none();
    walker.frames_at(pc, &mut |frame| {
        frames.have_ids &= frame.method_id != 0;
        frames
            .hash
            .add_frame(frame.method_id as u64, frame.location as u64);
        frames.count += 1;
        wanted == ALL || frames.count < wanted
    })?;
    Some(frames)
}

impl StackKeys {
    /// Adds an interpreted frame that is not known yet. `None` if its method has no id, but will have one once the VM has given
    /// the stack: until then nothing tells it from an unloaded method at the same address.
    #[cold]
    pub(super) fn interpreted_place(
        &self,
        places: Option<&CodePlaces>,
        key: Option<PlaceKey>,
        method: usize,
        bytecode: usize,
        hash: &mut StackHash,
    ) -> Option<()> {
        let unloaded = UNLOADED.load(Ordering::Relaxed);
        let frame = match (&self.walker, key) {
            (Some(walker), Some(_)) => walker.interpreted_frame(method, bytecode),
            _ => None,
        };
        let mut found = StackHash::NONE;
        let frame = frame.filter(|frame| frame.method_id != 0);
        if frame.is_none() && key.is_some() && places.is_some_and(CodePlaces::waits_for_ids) {
            return None;
        }
        match frame {
            Some(frame) => found.add_frame(frame.method_id as u64, frame.location as u64),
            None => found.add_frame(method as u64 ^ u64::from(unloaded) << 48, bytecode as u64),
        }
        hash.add(found.of_place(), 1);
        let (Some(at), Some(places)) = (key, places) else {
            return Some(());
        };
        let as_told = (unloaded, UNLOADED.as_ptr().expose_provenance());
        let (id, id_at) = match frame {
            Some(frame) => match is_id_of(frame.method_id, method) {
                Some(true) => (method as u32, frame.method_id),
                // An old version of a method: it has the id of the current one, or one that outlives it.
                Some(false) => return Some(()),
                None => as_told,
            },
            None => as_told,
        };
        let code = Code {
            id,
            id_at,
            frame_words: 0,
            frames: 1,
        };
        places.add(Place::new(at, code, found));
        Some(())
    }

    /// Finds the code of a frame that is not known yet.
    #[cold]
    pub(super) fn place(
        &self,
        places: Option<&CodePlaces>,
        at: Option<PlaceKey>,
        stack: Stack,
        frame: Frame,
        wanted: usize,
    ) -> Option<Found> {
        let (id, id_at, frame_bytes, found) = match self.blobs.find(frame.pc)? {
            Blob::Method {
                compile_id,
                id_at,
                frame_bytes,
                is_old,
                original_pc,
            } => {
                let mut raw = StackHash::NONE;
                raw.add_frame(u64::from(compile_id), frame.pc as u64);
                let found = match (&self.walker, places) {
                    (Some(walker), Some(_)) => frames_at(walker, frame.pc, wanted),
                    _ if is_old => None,
                    _ => Some(Frames::one_without_id()),
                };
                let Some(mut found) = found else {
                    // The frame is due for deoptimization, or may be. A single one can be, of code that is
                    // not old (`Runtime1::counter_overflow`).
                    let original = frame.sp.checked_add(original_pc?)?;
                    raw.add_frame(stack.read(original, 0)? as u64, 0);
                    return Some(Found {
                        hash: raw.of_place(),
                        frames: 1,
                        frame_bytes,
                    });
                };
                if !found.have_ids {
                    found.hash = raw;
                }
                (compile_id, id_at, frame_bytes, found)
            }
            Blob::Stub {
                name,
                name_at,
                frame_bytes,
            } => (name, name_at, frame_bytes, Frames::none()),
        };
        if let (Some(at), Some(places), Ok(frame_words), Ok(frames)) = (
            at,
            places,
            u16::try_from(frame_bytes / WORD),
            u16::try_from(found.count),
        ) && (found.have_ids || !places.waits_for_ids())
        {
            let code = Code {
                id,
                id_at,
                frame_words,
                frames,
            };
            places.add(Place::new(at, code, found.hash));
        }
        Some(Found {
            hash: found.hash.of_place(),
            frames: found.count,
            frame_bytes,
        })
    }
}
