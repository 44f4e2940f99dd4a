//! Where traces are in the tree of a page.

use hprof_format::ids::{ThreadSerial, TraceSerial};
use rustc_hash::FxHashMap;

use crate::call_tree::{CUT_OFF, EMPTY, LEFT_OUT, UNKNOWN_THREAD, shorten};
use crate::{FrameIndex, Stacks};

/// No node: stands for the parent of roots.
const ABOVE: u32 = u32::MAX;

/// The nodes of a tree by parent and name.
pub(super) struct Places<'a> {
    nodes: FxHashMap<(u32, u32), u32>,
    /// The places of names in the page.
    names: &'a FxHashMap<&'a str, u32>,
    stacks: &'a Stacks,
    thread_name: &'a dyn Fn(ThreadSerial) -> Option<String>,
    /// The roots are threads.
    has_threads: bool,
    /// The names of frames that were looked up, if the page has them.
    frames: FxHashMap<FrameIndex, Option<u32>>,
}

impl<'a> Places<'a> {
    /// The nodes in the order of a walk; `up` says how many levels a node's parent lies above the node before.
    pub(super) fn new(
        (name, up): (&[u32], &[usize]),
        has_threads: bool,
        names: &'a FxHashMap<&'a str, u32>,
        stacks: &'a Stacks,
        thread_name: &'a dyn Fn(ThreadSerial) -> Option<String>,
    ) -> Self {
        let mut nodes = FxHashMap::default();
        let mut way: Vec<u32> = Vec::new();
        for (node, (&name, &up)) in (0..).zip(name.iter().zip(up)) {
            way.truncate(way.len().saturating_sub(up));
            let parent = way.last().copied().unwrap_or(ABOVE);
            nodes.insert((parent, name), node);
            way.push(node);
        }
        Self {
            nodes,
            names,
            stacks,
            thread_name,
            has_threads,
            frames: FxHashMap::default(),
        }
    }

    /// The node of a trace's innermost method. A trace that was left out of the sums, as the profiler's cutoff does, is
    /// where they are, or else at the innermost method that the tree has; `None` if there is neither.
    pub(super) fn of(&mut self, trace: TraceSerial) -> Option<u32> {
        let mut path: Vec<Option<u32>> = Vec::new();
        let name = |name: &str| self.names.get(name).copied();
        if self.has_threads {
            let thread = self.stacks.trace(trace).and_then(|trace| trace.thread);
            let thread = thread.and_then(self.thread_name);
            path.push(name(thread.as_deref().unwrap_or(UNKNOWN_THREAD)));
        }
        let roots = path.len();
        for &frame in self.stacks.frames_of(trace).iter().rev() {
            let found = self
                .frames
                .entry(frame)
                .or_insert_with(|| name(&self.stacks.frame(frame).name()));
            path.push(*found);
        }
        if path.len() == roots {
            path.push(name(EMPTY));
        }
        shorten(&mut path, name(LEFT_OUT));
        let mut at = ABOVE;
        for name in &path {
            match name.and_then(|name| self.nodes.get(&(at, name))) {
                Some(&node) => at = node,
                None => return self.cut_off().or((at != ABOVE).then_some(at)),
            }
        }
        Some(at)
    }

    /// The node of what the cutoff left out.
    fn cut_off(&self) -> Option<u32> {
        let name = |name: &str| self.names.get(name).copied();
        let above = match self.has_threads {
            true => *self.nodes.get(&(ABOVE, name(UNKNOWN_THREAD)?))?,
            false => ABOVE,
        };
        self.nodes.get(&(above, name(CUT_OFF)?)).copied()
    }
}

#[cfg(test)]
mod tests {
    use hprof_format::model::Line;

    use super::*;
    use crate::Trace;

    #[test]
    fn traces_are_found_by_thread_and_frames() {
        let mut stacks = Stacks::default();
        let mut add = |serial: u32, thread: u32, frames: &[&str]| {
            let frames = frames
                .iter()
                .map(|name| stacks.intern_parts("A", name, None, Line::Unknown))
                .collect();
            let thread = Some(ThreadSerial::new(thread));
            stacks.add(TraceSerial::new(serial), Trace { thread, frames });
        };
        add(1, 7, &["inner", "outer"]);
        add(2, 7, &["outer"]);
        add(3, 7, &["other", "outer"]);
        add(4, 8, &["outer"]);
        add(5, 7, &[]);
        let all = [
            "t",
            "A.outer",
            "A.inner",
            EMPTY,
            UNKNOWN_THREAD,
            CUT_OFF,
            "A.other",
        ];
        let names: FxHashMap<&str, u32> = all.into_iter().zip(0..).collect();
        let thread_name = |thread: ThreadSerial| (thread.get() == 7).then(|| "t".to_owned());
        // The threads t and unknown; in t the methods and the empty stack.
        let (name, up) = ([0, 1, 2, 3, 4, 5], [0, 0, 0, 2, 2, 0]);
        let mut places = Places::new((&name, &up), true, &names, &stacks, &thread_name);
        let found: Vec<_> = (1..=6).map(|it| places.of(TraceSerial::new(it))).collect();
        // What the tree lacks is below the cutoff.
        assert_eq!(
            found,
            [Some(2), Some(1), Some(5), Some(5), Some(3), Some(5)]
        );
        let mut places = Places::new((&name[..3], &up[..3]), true, &names, &stacks, &thread_name);
        let found: Vec<_> = (1..=4).map(|it| places.of(TraceSerial::new(it))).collect();
        assert_eq!(found, [Some(2), Some(1), Some(1), None]);
    }
}
