//! The table `threads`.

use super::Heap;
use super::table::{Cell, Column, Rows};

/// All threads.
pub struct Threads {
    next: usize,
}

impl Rows for Threads {
    const NAME: &'static str = "threads";
    const ABOUT: &'static str = "a thread that ran when the dump was taken";
    const COLUMNS: &'static [Column] = &[
        ("id", "TEXT", "id of the thread object"),
        ("name", "TEXT", "name"),
        ("class", "TEXT", "name of the class of the thread object"),
        (
            "retained",
            "INTEGER",
            "bytes that it keeps alive: its object and its stack",
        ),
        ("frames", "INTEGER", "number of frames"),
        (
            "locals",
            "INTEGER",
            "number of objects that its stack holds",
        ),
        ("top", "TEXT", "the method that it is in"),
        ("stack", "TEXT", "all methods, innermost first, a line each"),
    ];

    fn estimate(heap: &Heap) -> usize {
        let roots = heap.snapshot.graph().roots().iter();
        roots.filter(|root| root.is_thread()).count()
    }

    fn start(_: &Heap, _: Option<(usize, &str)>) -> std::io::Result<Self> {
        Ok(Self { next: 0 })
    }

    fn advance(&mut self, heap: &Heap) -> bool {
        self.next += 1;
        self.next <= heap.threads().len()
    }

    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a> {
        let Some(thread) = heap.threads().get(self.next.wrapping_sub(1)) else {
            return Cell::Null;
        };
        match column {
            0 => heap.id(thread.object),
            1 => thread.name.as_deref().map(Cell::from).into(),
            2 => heap.class(thread.object),
            3 => Cell::count(thread.retained_bytes),
            4 => Cell::count(thread.stack.len() as u64),
            5 => Cell::count(thread.locals.len() as u64),
            6 => thread
                .stack
                .first()
                .map(|top| Cell::from(top.as_str()))
                .into(),
            _ => Cell::from(thread.stack.join("\n")),
        }
    }
}
