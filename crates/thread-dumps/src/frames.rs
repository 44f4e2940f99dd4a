//! Frames and stacks, each kept once: thousands of threads wait in the same few places.

use rustc_hash::FxHashMap;

/// The frames of one stack that are kept; a JVM prints 1024 by itself.
const MAX_FRAMES: usize = 2048;

/// A stack among those of all dumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

/// All frames and stacks.
#[derive(Debug, Default)]
pub struct Frames {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, u32>,
    stacks: Vec<Box<[u32]>>,
    ids: FxHashMap<Box<[u32]>, StackId>,
}

impl Frames {
    /// The stack of these frames, innermost first.
    pub(crate) fn stack<'a>(&mut self, frames: impl Iterator<Item = &'a str>) -> StackId {
        let mut stack = Vec::new();
        for frame in frames.take(MAX_FRAMES) {
            let next = self.names.len() as u32;
            let number = match self.numbers.get(frame) {
                Some(number) => *number,
                None => {
                    self.names.push(frame.into());
                    self.numbers.insert(frame.into(), next);
                    next
                }
            };
            stack.push(number);
        }
        if let Some(id) = self.ids.get(&stack[..]) {
            return *id;
        }
        let id = StackId(self.stacks.len() as u32);
        let stack: Box<[u32]> = stack.into();
        self.stacks.push(stack.clone());
        self.ids.insert(stack, id);
        id
    }

    /// The frames of a stack, innermost first.
    pub fn of(&self, stack: StackId) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        let numbers = self.stacks.get(stack.0 as usize);
        let numbers = numbers.map(|it| &it[..]).unwrap_or_default();
        numbers.iter().map(|number| &*self.names[*number as usize])
    }
}
