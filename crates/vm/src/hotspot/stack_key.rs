//! A number for the current thread's stack, much cheaper than the stack.
//!
//! Who records the same stacks again and again need not ask the VM for them each
//! time: it is enough to know that a stack is one it has seen. The frames of compiled
//! code have fixed sizes, so the return addresses are easily found, and they tell
//! method, bytecode and what is inlined. Interpreted frames hold their method and
//! bytecode. This is what the VM's own walk does (`frame_x86.inline.hpp`), without
//! making names of it.
//!
//! The key is a hash of the frames that the VM would give, ids of methods and bytecode indices, as far as methods have
//! ids: it does not change when a method is compiled. The frames that a place in code stands for are looked up once
//! ([`CodePlaces`]). Where they are not known, the place itself is hashed.
//!
//! An interpreted frame has the address of its method, which another method may get once classes were unloaded or
//! redefined. Up to JDK 24 the id is a place in memory that has the method's address until then ([`is_id_of`]). Later ids are
//! numbers, and unloading is counted ([`StackKeys::watch_unloading`]), so that such frames are looked up again after it. The
//! VM tells of it some milliseconds late, on its service thread; a method that gets the memory before is taken for the
//! unloaded one until then. Compiled code has a number that no other code gets.
//!
//! [`is_id_of`]: super::method_ids::is_id_of
//!
//! Wherever a frame is not of the kinds known here (for instance of a virtual thread
//! whose callers are still in the heap) there is no number, and the caller takes the
//! stack.

mod find;

use std::ops::Range;
use std::os::raw::c_char;
use std::sync::atomic::{AtomicU32, Ordering};

use hprof_native_headers as raw;
use hprof_walker::Machine;
use jni_sys::JNIEnv;

use find::Found;

use super::code_blobs::CodeBlobs;
use super::code_places::{CodePlaces, PlaceKey, StackHash};
use super::releases::layout::{Field, interpreted};
use super::walk_layout;
use crate::Fault;
use crate::hash::mix;
use crate::{JavaThreads, Jni, Jvmti, Release, Result, StackWalker, VmLibrary, VmStructs};

/// Makes keys of stacks.
pub struct StackKeys {
    machine: Machine,
    threads: JavaThreads,
    blobs: CodeBlobs,
    /// Tells the frames of a place, where it knows this VM.
    walker: Option<StackWalker>,
    interpreter: Range<usize>,
    /// From the frame pointer of an interpreted frame to the address of its bytecode, in words.
    bytecode: isize,
    /// Where native code returns to that has called a Java method.
    call_stub_return: usize,
    /// From the frame pointer of such a call to the address of the VM's description of it, in words.
    call_wrapper: isize,
    /// From there to the last Java frame before the call.
    caller_anchor: usize,
    /// From the VM's thread to its last Java frame.
    thread_anchor: usize,
    anchor: Anchor,
}

/// Offsets in a `JavaFrameAnchor`.
#[derive(Clone, Copy)]
struct Anchor {
    sp: usize,
    pc: usize,
    fp: usize,
}

/// A frame's address, and the address at which its code continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    sp: usize,
    fp: usize,
    pc: usize,
}

const WORD: usize = size_of::<usize>();

/// Stands for all frames of a place, where more of them are wanted than most places have. A place would be remembered for
/// each number of them otherwise.
const ALL: usize = 16;

/// HotSpot's event of a class that was unloaded (`jvmtiExtensions.cpp`).
const CLASS_UNLOAD: &str = "com.sun.hotspot.events.ClassUnload";

/// How often methods may have been freed, as far as is known: with each class that was unloaded, and each obsolete method that was seen.
static UNLOADED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn class_unload(
    _env: *mut raw::jvmtiEnv,
    _jni: *mut JNIEnv,
    _name: *const c_char,
) {
    UNLOADED.fetch_add(1, Ordering::Relaxed);
}

/// The part of the current thread's stack that may be read.
#[derive(Clone, Copy)]
struct Stack {
    low: usize,
    end: usize,
}

impl Stack {
    /// The word `index` words above an address.
    #[inline]
    fn read(self, base: usize, index: isize) -> Option<usize> {
        let address = base.checked_add_signed(index * WORD as isize)?;
        if address < self.low || address > self.end - WORD || !address.is_multiple_of(WORD) {
            return None;
        }
        // SAFETY: the word lies between the innermost frame and the end of the current thread's
        // stack. The VM may change a return address meanwhile.
        Some(unsafe { (address as *const usize).read_volatile() })
    }
}

impl StackKeys {
    /// Learns the layout of this VM, which runs. `None` when it does not tell, or on processors whose frames
    /// are not known here.
    pub fn learn(jvmti: &Jvmti, jni: &Jni) -> Option<Self> {
        if Fault::NoStackKeys.is_wanted() {
            return None;
        }
        let machine = Machine::HERE?;
        let release = Release::of(jvmti);
        let structs = VmStructs::of(VmLibrary::of(jvmti)?)?;
        Some(Self {
            machine,
            threads: JavaThreads::learn(structs, jvmti, jni)?,
            blobs: CodeBlobs::learn(structs)?,
            walker: StackWalker::learn(structs, release),
            bytecode: release.interpreted_bytecode(),
            interpreter: interpreter(structs)?,
            call_stub_return: {
                let stub = structs.address(Field::CallStubReturn)?;
                // SAFETY: the static field holds what vmStructs.cpp says, an address.
                unsafe { *(stub as *const usize) }
            },
            call_wrapper: walk_layout::call_wrapper(structs)?,
            caller_anchor: structs.offset(Field::CallAnchor)?,
            thread_anchor: structs.offset(Field::ThreadAnchor)?,
            anchor: Anchor {
                sp: structs.offset(Field::AnchorSp)?,
                pc: structs.offset(Field::AnchorPc)?,
                fp: structs.offset(Field::AnchorFp)?,
            },
        })
    }

    /// Lets `jvmti` tell of classes that are unloaded. Without that, an interpreted method may be taken for one that was
    /// unloaded before.
    ///
    /// # Errors
    /// The VM's error.
    pub fn watch_unloading(jvmti: &Jvmti) -> Result<()> {
        // No callback reported earlier unloads, but threads may remember frames.
        UNLOADED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the VM calls an extension event's callback with the parameters it declares; this one declares JNIEnv and a name.
        let callback = unsafe {
            std::mem::transmute::<
                unsafe extern "C" fn(*mut raw::jvmtiEnv, *mut JNIEnv, *const c_char),
                raw::jvmtiExtensionEvent,
            >(class_unload)
        };
        jvmti.set_extension_event(CLASS_UNLOAD, callback)
    }

    /// Notes that a thread has seen an obsolete method, which the VM will free.
    pub(super) fn saw_obsolete() {
        UNLOADED.fetch_add(1, Ordering::Relaxed);
    }

    /// A hash of what the `frames` innermost frames of the current thread are, and possibly of
    /// more: equal keys imply equal top N frames. Begins with the hash `start`. With `places`, which are the thread's, it is faster,
    /// and most stacks have one key each, as long as `frames` is.
    #[inline]
    pub fn key(
        &self,
        jni: &Jni,
        places: Option<&CodePlaces>,
        frames: usize,
        start: u64,
    ) -> Option<u64> {
        let (thread, end) = self.threads.own_stack(jni)?;
        // SAFETY: the anchor of the current thread, in the VM's thread.
        let mut frame = unsafe { self.last_frame(thread + self.thread_anchor) };
        // The word below holds the return address to the innermost frame.
        let stack = Stack {
            low: frame.sp.checked_sub(WORD)?,
            end,
        };
        if frame.pc == 0 {
            frame.pc = self.machine.code_address(stack.read(frame.sp, -1)?);
        }
        // A stack that is shorter than both of two numbers of frames must not have one key for both: it
        // may have more frames when those that are inlined count.
        let mut hash = StackHash::new(mix(start, frames as u64));
        let mut seen = 0;
        while seen < frames {
            let caller = if self.interpreter.contains(&frame.pc) {
                let word = |index| stack.read(frame.fp, index);
                self.add_interpreted(
                    places,
                    word(interpreted::METHOD)?,
                    word(self.bytecode)?,
                    &mut hash,
                )?;
                seen += 1;
                let pc = self.machine.code_address(word(interpreted::CALLER_PC)?);
                let saved_sp = word(interpreted::CALLER_SP)?;
                let is_interpreter = self.interpreter.contains(&pc);
                Frame {
                    sp: self.machine.caller_sp(frame.fp, saved_sp, is_interpreter),
                    fp: word(interpreted::CALLER_FP)?,
                    pc,
                }
            } else if frame.pc == self.call_stub_return {
                let wrapper = stack.read(frame.fp, self.call_wrapper)?;
                let anchor = wrapper.checked_add(self.caller_anchor)?;
                match self.caller(stack, anchor)? {
                    Some(caller) => caller,
                    None => {
                        hash.add(0, 1);
                        return Some(hash.key());
                    }
                }
            } else {
                let wanted = match frames - seen {
                    wanted @ ..ALL => wanted,
                    _ => ALL,
                };
                let at = PlaceKey::new(frame.pc, wanted);
                let found = match places.and_then(|places| places.find(at?)) {
                    Some(place) => Found {
                        hash: place.hash,
                        frames: usize::from(place.code.frames),
                        frame_bytes: usize::from(place.code.frame_words) * WORD,
                    },
                    None => self.place(places, at, stack, frame, wanted)?,
                };
                hash.add(found.hash, found.frames);
                seen += found.frames;
                let sp = frame.sp.checked_add(found.frame_bytes)?;
                Frame {
                    sp,
                    fp: stack.read(sp, -2)?,
                    pc: self.machine.code_address(stack.read(sp, -1)?),
                }
            };
            // Frames only ever lie further up.
            if caller.sp <= frame.sp {
                return None;
            }
            frame = caller;
        }
        Some(hash.key())
    }

    /// Adds an interpreted frame; `None` as for [`Self::interpreted_place`].
    #[inline]
    fn add_interpreted(
        &self,
        places: Option<&CodePlaces>,
        method: usize,
        bytecode: usize,
        hash: &mut StackHash,
    ) -> Option<()> {
        let key = places.and(PlaceKey::of_interpreted(method, bytecode));
        let known = key.and_then(|key| places?.find(key));
        match known {
            Some(place) => {
                hash.add(place.hash, 1);
                Some(())
            }
            None => self.interpreted_place(places, key, method, bytecode, hash),
        }
    }

    /// # Safety
    /// `anchor` is the address of one of the current thread's anchors.
    unsafe fn last_frame(&self, anchor: usize) -> Frame {
        // SAFETY: by the caller's promise, and the offsets are those of this VM.
        let word = |offset| unsafe { *((anchor + offset) as *const usize) };
        Frame {
            sp: word(self.anchor.sp),
            fp: word(self.anchor.fp),
            pc: word(self.anchor.pc),
        }
    }

    /// The Java frame that an anchor on the stack tells of. `Some(None)` when there is none.
    fn caller(&self, stack: Stack, anchor: usize) -> Option<Option<Frame>> {
        let word = |offset: usize| stack.read(anchor.checked_add(offset)?, 0);
        let frame = Frame {
            sp: word(self.anchor.sp)?,
            fp: word(self.anchor.fp)?,
            pc: word(self.anchor.pc)?,
        };
        Some(match (frame.sp, frame.pc) {
            (0, _) => None,
            (sp, 0) => Some(Frame {
                pc: self.machine.code_address(stack.read(sp, -1)?),
                ..frame
            }),
            _ => Some(frame),
        })
    }
}

/// Where the interpreter's code lies: it never moves.
pub(super) fn interpreter(structs: VmStructs) -> Option<Range<usize>> {
    let queue = structs.address(Field::Interpreter)?;
    let start = structs.offset(Field::StubBuffer)?;
    let length = structs.offset(Field::StubLimit)?;
    // SAFETY: the static field holds what vmStructs.cpp says, a pointer to a StubQueue, with an address
    // and an int at these offsets.
    unsafe {
        let queue = *(queue as *const usize);
        if queue == 0 {
            return None;
        }
        let start = *((queue + start) as *const usize);
        let length = usize::try_from(*((queue + length) as *const i32)).ok()?;
        Some(start..start.checked_add(length)?)
    }
}
