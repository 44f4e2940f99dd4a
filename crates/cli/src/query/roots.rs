//! The table `roots`.

use hprof_analysis::graph::{GraphRoot, NOTHING};
use hprof_analysis::numbers::ObjectNumber;

use super::Heap;
use super::table::{Cell, Column, Key, Rows};

/// All roots, what stacks hold included, or those of one object.
pub struct Roots {
    left: std::vec::IntoIter<(Option<ObjectNumber>, GraphRoot)>,
    row: Option<(Option<ObjectNumber>, GraphRoot)>,
}

impl Rows for Roots {
    const NAME: &'static str = "roots";
    const ABOUT: &'static str = "a reason why an object is alive without any reference to it";
    const COLUMNS: &'static [Column] = &[
        ("object", "TEXT", "id of the object"),
        ("class", "TEXT", "name of its class"),
        (
            "kind",
            "TEXT",
            "what holds it, such as 'local variable' or 'JNI global reference'",
        ),
        ("thread", "TEXT", "id of the thread whose stack holds it"),
        ("method", "TEXT", "the method whose frame holds it"),
        ("retained", "INTEGER", "bytes that the object keeps alive"),
    ];
    const KEYS: &'static [Key] = &[(0, 1)];

    fn estimate(heap: &Heap) -> usize {
        let graph = heap.snapshot.graph();
        graph.roots().len() + graph.locals().len()
    }

    fn start(heap: &Heap, key: Option<(usize, &str)>) -> std::io::Result<Self> {
        let graph = heap.snapshot.graph();
        let roots = graph.roots().iter().map(|root| (None, *root));
        let locals = graph
            .locals()
            .iter()
            .map(|(thread, root)| (Some(*thread), *root));
        let object = key.map(|(_, id)| heap.object(id));
        let is_wanted = |row: &(Option<ObjectNumber>, GraphRoot)| {
            object.is_none_or(|object| object == Some(row.1.object()))
        };
        let rows: Vec<_> = roots.chain(locals).filter(is_wanted).collect();
        Ok(Self {
            left: rows.into_iter(),
            row: None,
        })
    }

    fn advance(&mut self, _: &Heap) -> bool {
        self.row = self.left.next();
        self.row.is_some()
    }

    fn cell<'a>(&'a self, heap: &'a Heap, column: usize) -> Cell<'a> {
        let Some((thread, root)) = &self.row else {
            return Cell::Null;
        };
        match column {
            0 => heap.id(root.object()),
            1 => heap.class(root.object()),
            2 => Cell::from(heap.snapshot.root_label(root)),
            3 => {
                let of_serial = || {
                    let mut threads = heap.threads().iter();
                    let found = threads.find(|it| it.serial == root.thread)?;
                    Some(found.object)
                };
                let thread = thread.or_else(|| of_serial().filter(|_| root.thread != NOTHING));
                thread.map(|thread| heap.id(thread)).into()
            }
            4 => heap.snapshot.frame_of(root).map(Cell::from).into(),
            _ => Cell::count(heap.snapshot.retained(root.object())),
        }
    }
}
