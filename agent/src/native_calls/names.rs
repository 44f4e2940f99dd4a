//! The names of stacks, and what is needed to take them.

use hprof_format::ids::{ThreadSerial, TraceSerial};

use super::capture::{Capture, Java, MAX_JAVA};
use super::known::KnownPlaces;
use super::redirect::{self, Owner};
use super::stacks::{Stacks, Stored};
use crate::cpu_samples::{CSymbols, CodeCache, StackPart, location, make_method_ids};
use crate::os::imports::{self, Lead};
use crate::os::maps::{Mapping, mappings};
use crate::recording::{Activity, Context, Run};
use crate::report;
use crate::vm::{Release, StackKeys, StackWalker, Vm, VmHandle, VmLibrary, VmStructs, pin_library};

/// The frame of stacks that found no room.
const OVERFLOW: &str = "<more stacks than are kept>";

/// Names stacks, and follows the libraries that are loaded.
pub struct StackNames {
    owner: Owner,
    /// The option, for notes.
    option: &'static str,
    symbols: CSymbols,
    /// By the places of stacks.
    traces: Vec<Option<TraceSerial>>,
    /// Stacks that were there at the last look.
    seen: u32,
    /// Objects that were loaded at the last change of import tables; `None` before the first.
    loads: Option<u64>,
    is_refusal_reported: bool,
}

impl StackNames {
    /// Names for the stacks of a mode with this option.
    pub fn new(owner: Owner, option: &'static str) -> Self {
        Self {
            owner,
            option,
            symbols: CSymbols::default(),
            traces: Vec::new(),
            seen: 0,
            loads: None,
            is_refusal_reported: false,
        }
    }

    /// Prepares to take stacks of Java and native code.
    pub fn start(&self, cx: &Context<'_>, capture: &Capture) {
        // A thread may be in a hook when nothing else needs the library any more.
        pin_library();
        make_method_ids(cx.vm);
        let java = java(cx.run, cx.vm);
        if java.as_ref().is_some_and(|java| java.keys.is_some()) {
            let _ = StackKeys::watch_unloading(cx.vm.jvmti);
        }
        let (option, depth) = (self.option, cx.run.settings.depth);
        if java.is_none() && depth > 0 {
            report::note(&format!(
                "{option}: stacks of this VM are not as the agent knows them: they have no frames of Java"
            ));
        }
        if depth > MAX_JAVA {
            report::note(&format!(
                "{option}: stacks have {MAX_JAVA} frames of Java at most"
            ));
        }
        capture.set_java(java.filter(|_| depth > 0));
        capture.set_depth(depth);
        capture.set_per_thread(cx.run.settings.thread);
        capture.set_own(own_code());
    }

    /// Leads the calls of libraries that were loaded meanwhile to the hooks. `lost` says what is not seen where that is refused.
    pub fn follow_libraries(&mut self, lost: &str) {
        let loads = imports::loads();
        if self.loads == Some(loads) {
            return;
        }
        let changed = redirect::lead(self.owner, Lead::ToHooks);
        // A library that is being loaded now is looked at again.
        self.loads = (changed.waiting == 0).then_some(loads);
        if changed.refused > 0 && !self.is_refusal_reported {
            self.is_refusal_reported = true;
            report::note(&format!(
                "{}: the kernel refuses to change {} entries of import tables: {lost}",
                self.option, changed.refused
            ));
        }
    }

    /// Leads all calls to the functions themselves again. No hook may take stacks any more.
    pub fn end(&self, capture: &Capture) {
        // A library that is being loaded has no hooks yet.
        let back = redirect::lead(self.owner, Lead::Back);
        if back.refused > 0 {
            report::note(&format!(
                "{}: {} entries of import tables still lead to the agent, which only passes the calls on",
                self.option, back.refused
            ));
        }
        redirect::set(self.owner, Vec::new(), 0);
        capture.set_code(None);
    }

    /// Does what a mode has to do all the time: follows libraries, and names new stacks. `lost` says what is not seen where import
    /// tables cannot be changed.
    pub fn tick(
        &mut self,
        cx: &mut Context<'_>,
        (capture, stacks): (&Capture, &Stacks),
        lost: &str,
    ) -> Activity {
        self.follow_libraries(lost);
        let is_unfinished = self.advance_rules(capture);
        match self.resolve(cx, stacks) {
            _ if is_unfinished => Activity::Unfinished,
            true => Activity::Busy,
            false => Activity::Idle,
        }
    }

    /// The kernel has refused to change entries, and a line says so.
    pub fn is_refusal_reported(&self) -> bool {
        self.is_refusal_reported
    }

    /// Reads more of the rules for callers of native code. Returns true if there is more to read.
    fn advance_rules(&mut self, capture: &Capture) -> bool {
        let (code, is_unfinished) = match cfg!(target_arch = "x86_64") {
            true => self.symbols.advance_rules(),
            false => (None, false),
        };
        if let Some(code) = code {
            capture.set_code(Some(code));
        }
        is_unfinished
    }

    /// Looks names of new stacks up, while their classes are loaded. Returns true if there were any.
    pub fn resolve(&mut self, cx: &mut Context<'_>, stacks: &Stacks) -> bool {
        let count = stacks.count();
        if count == self.seen {
            return false;
        }
        self.seen = count;
        self.traces.resize(stacks.places(), None);
        for index in 0..self.traces.len() {
            if self.trace(index).is_some() {
                continue;
            }
            let Some(stored) = stacks.get(index) else {
                continue;
            };
            let trace = self.trace_of(cx, &stored);
            if let Some(place) = self.traces.get_mut(index) {
                *place = Some(trace);
            }
        }
        true
    }

    /// The trace of the stack at a place, if it was looked up.
    pub fn trace(&self, index: usize) -> Option<TraceSerial> {
        self.traces.get(index).copied().flatten()
    }

    /// Forgets all stacks.
    pub fn clear(&mut self) {
        self.traces.clear();
        self.seen = 0;
    }

    fn trace_of(&mut self, cx: &mut Context<'_>, stored: &Stored<'_>) -> TraceSerial {
        let per_thread = cx.run.settings.thread;
        let serial = || {
            let known = cx.run.threads.get(stored.thread);
            known.map_or(ThreadSerial::new(0), |known| known.serial)
        };
        let thread = per_thread.then(serial).filter(|serial| serial.get() != 0);
        if stored.is_overflow {
            return cx.names.intern_label(thread, OVERFLOW);
        }
        let mut inner = Vec::new();
        let mut java = Vec::new();
        for frame in &stored.frames {
            match frame.part() {
                StackPart::Code(address) => inner.push(self.symbols.frame(cx.names, address)),
                StackPart::Java => java.push(location(frame)),
                StackPart::Failure(_) => {}
            }
        }
        let trace = cx
            .names
            .intern_between(cx.vm, thread, (&inner, java.into_iter(), None));
        cx.names.with_a_frame(trace)
    }
}

/// An address in the VM's library; 0 if it is not known.
pub fn vm_address(vm: Vm<'_>) -> usize {
    let entry = VmLibrary::of(vm.jvmti).and_then(|vm| vm.symbol(c"JNI_CreateJavaVM"));
    entry.map_or(0, |address| address as usize)
}

/// The walker of Java stacks; `None` where this VM lacks the tables for it.
fn java(run: &Run, vm: Vm<'_>) -> Option<Java> {
    let structs = VmLibrary::of(vm.jvmti).and_then(VmStructs::of)?;
    Some(Java {
        vm: VmHandle::known()?,
        threads: *run.java_threads.get()?,
        walker: StackWalker::learn(structs, Release::of(vm.jvmti))?,
        cache: CodeCache::of(structs),
        keys: StackKeys::learn(vm.jvmti, vm.jni),
        places: KnownPlaces::new(),
    })
}

/// The mapping of the agent's own code.
fn own_code() -> std::ops::Range<usize> {
    let mappings = mappings();
    Mapping::of(&mappings, own_code as *const () as usize).map_or(0..0, Mapping::range)
}
