//! From the VM's method ids to names and lines.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hprof_format::model::Line;

use super::methods::{FrameId, Method, MethodId, MethodTable};
use crate::vm::{JMethodId, LineEntry, StackFrame, Vm};

/// A method id of the VM and a place in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The method; [`JMethodId::NONE`] when the VM had no id for it.
    pub method: JMethodId,
    /// Where it stands, `None` in a native method.
    pub bytecode: Option<u32>,
}

impl From<&StackFrame> for Location {
    fn from(frame: &StackFrame) -> Self {
        Self {
            method: frame.method,
            bytecode: u32::try_from(frame.location).ok(),
        }
    }
}

/// Looks names up, and remembers them while they are fresh: a class can be
/// redefined, so what is remembered is forgotten after a while. Ids of unloaded
/// methods are never passed to the VM again once they are known.
pub struct Resolver {
    lines_wanted: bool,
    methods: HashMap<JMethodId, Resolved>,
    frames: HashMap<Location, FrameId>,
    filled: Instant,
    unknown: u64,
}

struct Resolved {
    id: MethodId,
    lines: Box<[LineEntry]>,
}

/// How long a name is trusted.
const FRESH: Duration = Duration::from_secs(30);
/// How many methods and locations are remembered at most.
const MAX_REMEMBERED: usize = 1 << 16;

impl Resolver {
    /// A resolver that looks for line numbers, or not (`lineno=n`).
    pub fn new(lines_wanted: bool) -> Self {
        Self {
            lines_wanted,
            methods: HashMap::new(),
            frames: HashMap::new(),
            filled: Instant::now(),
            unknown: 0,
        }
    }

    /// The frame for a location. A method that has gone is `<Unknown Method>`.
    pub fn frame(&mut self, vm: Vm<'_>, table: &mut MethodTable, location: Location) -> FrameId {
        if let Some(&frame) = self.frames.get(&location) {
            return frame;
        }
        if self.methods.len().max(self.frames.len()) >= MAX_REMEMBERED {
            self.forget();
        }
        let lines_wanted = self.lines_wanted;
        let resolved = match self.methods.entry(location.method) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let names = look_up(vm, location.method);
                self.unknown += u64::from(names.is_none());
                let lines = if lines_wanted && names.is_some() {
                    vm.jvmti.line_numbers(location.method).into_boxed_slice()
                } else {
                    Box::default()
                };
                let id = table.intern(names.unwrap_or_else(unknown_method));
                entry.insert(Resolved { id, lines })
            }
        };
        let line = match location.bytecode {
            None => Line::Native,
            Some(index) => line_of(&resolved.lines, index),
        };
        let frame = table.frame(resolved.id, line);
        self.frames.insert(location, frame);
        frame
    }

    /// Forgets what has been remembered for long. Called between samples.
    pub fn refresh(&mut self) {
        if self.filled.elapsed() > FRESH {
            self.forget();
        }
    }

    /// Returns true if line numbers are wanted.
    pub fn lines_wanted(&self) -> bool {
        self.lines_wanted
    }

    /// How many methods had no names any more when they were looked up.
    pub fn unknown_methods(&self) -> u64 {
        self.unknown
    }

    fn forget(&mut self) {
        self.methods.clear();
        self.frames.clear();
        self.filled = Instant::now();
    }
}

fn look_up(vm: Vm<'_>, method: JMethodId) -> Option<Method> {
    let Vm { jvmti, jni } = vm;
    if method == JMethodId::NONE || !vm.knows_method(method) {
        return None;
    }
    // The class first: the local reference keeps it, and so the method, alive.
    let class = jvmti.declaring_class(jni, method).ok()?;
    let names = jvmti.method_name(method).ok()?;
    let signature = jvmti.class_signature(class.get()).ok()?;
    Some(Method {
        class_name: super::java_class_name(&signature),
        name: names.name,
        descriptor: names.descriptor,
        source_file: jvmti.source_file(class.get()),
    })
}

fn unknown_method() -> Method {
    Method {
        class_name: "<Unknown Class>".to_owned(),
        name: "<Unknown Method>".to_owned(),
        descriptor: "()V".to_owned(),
        source_file: None,
    }
}

/// The line of a bytecode index: that of the last entry at or before it.
fn line_of(lines: &[LineEntry], index: u32) -> Line {
    let after = lines.partition_point(|entry| entry.start <= index);
    match after.checked_sub(1).and_then(|last| lines.get(last)) {
        Some(entry) if entry.line > 0 => Line::Number(entry.line),
        _ => Line::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_until_the_next_one_starts() {
        let entry = |start, line| LineEntry { start, line };
        let lines = [entry(0, 10), entry(5, 11), entry(9, 70_000)];
        assert_eq!(line_of(&lines, 0), Line::Number(10));
        assert_eq!(line_of(&lines, 4), Line::Number(10));
        assert_eq!(line_of(&lines, 5), Line::Number(11));
        assert_eq!(line_of(&lines, 500), Line::Number(70_000));
        assert_eq!(line_of(&[], 3), Line::Unknown);
        assert_eq!(line_of(&[entry(4, 1)], 3), Line::Unknown);
    }
}
