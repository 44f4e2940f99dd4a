//! The tables `roots` and `threads`.

use hprof_analysis::graph::{GraphRoot, NOTHING};
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::Snapshot;
use hprof_format::ids::{ThreadSerial, TraceSerial};
use rustc_hash::FxHashMap;

use crate::TableError;
use crate::batch::Cell;
use crate::folder::Writing;

/// Writes `roots`.
pub fn roots(writing: &mut Writing<'_>, snapshot: &Snapshot) -> Result<(), TableError> {
    let graph = snapshot.graph();
    let threads = || graph.roots().iter().filter(|root| root.is_thread());
    let by_serial: FxHashMap<u32, ObjectNumber> =
        threads().map(|root| (root.thread, root.object())).collect();
    let row = |root: &GraphRoot, thread: Option<ObjectNumber>| {
        let thread = thread.or_else(|| by_serial.get(&root.thread).copied());
        let frame = (root.frame != NOTHING).then(|| Cell::small(root.frame as usize));
        [
            Cell::id(graph.id(root.object())),
            Cell::text(snapshot.class_name(root.object())),
            Cell::text(snapshot.root_label(root)),
            thread.map(|thread| Cell::id(graph.id(thread))).into(),
            frame.into(),
            Cell::count(snapshot.retained(root.object())),
        ]
    };
    writing.table("roots", |file| {
        let own = graph.roots().iter().map(|root| row(root, None));
        let locals = graph.locals().iter();
        file.rows(own.chain(locals.map(|(thread, root)| row(root, Some(*thread)))))
    })?;
    Ok(())
}

/// Writes `threads`; gives their number.
pub fn write(writing: &mut Writing<'_>, snapshot: &Snapshot) -> Result<u64, TableError> {
    let graph = snapshot.graph();
    let stacks = &snapshot.contents().stacks;
    let traces = stacks.traces();
    let mut by_thread: FxHashMap<ThreadSerial, TraceSerial> = FxHashMap::default();
    for (serial, trace) in &traces {
        if let Some(thread) = trace.thread {
            by_thread.entry(thread).or_insert(*serial);
        }
    }
    let roots = graph.roots().iter().filter(|root| root.is_thread());
    let by_root: FxHashMap<u32, u32> = roots.map(|root| (root.thread, root.trace)).collect();
    // As `Snapshot::stack` has it: a trace without frames stands for none.
    let stack_of = |serial: u32| {
        let of_root = by_root
            .get(&serial)
            .copied()
            .filter(|&trace| trace != NOTHING);
        let of_root = of_root.map(TraceSerial::new);
        let of_root = of_root.filter(|&trace| !stacks.frames_of(trace).is_empty());
        of_root.or_else(|| by_thread.get(&ThreadSerial::new(serial)).copied())
    };
    writing.table("threads", |file| {
        file.rows(snapshot.threads().into_iter().map(|thread| {
            let stack = stack_of(thread.serial);
            let top = stack.and_then(|stack| stacks.frames_of(stack).first().copied());
            let top = top.map(|frame| Cell::text(&stacks.frame(frame).name()));
            [
                Cell::id(graph.id(thread.object)),
                Cell::count(u64::from(thread.serial)),
                thread.name.as_deref().map(Cell::text).into(),
                Cell::text(snapshot.class_name(thread.object)),
                snapshot.thread_state(thread.object).map(Cell::text).into(),
                Cell::count(thread.retained_bytes),
                Cell::small(thread.locals.len()),
                Cell::small(thread.stack.len()),
                top.into(),
                stack
                    .map(|stack| Cell::count(u64::from(stack.get())))
                    .into(),
            ]
        }))
    })
}
