//! A heap dump as tables for SQL.
//!
//! SQLite asks for rows through virtual tables (<https://sqlite.org/vtab.html>), so that a query
//! needs no copy of the dump: what it holds at a time is a row of each table, and what sorting and
//! grouping need, for which SQLite has temporary files.

mod classes;
mod errors;
mod fields;
mod functions;
mod notes;
mod objects;
pub mod recorded;
mod references;
mod roots;
mod strings;
mod table;
mod text;
mod threads;

use std::sync::{Arc, OnceLock};

use hprof_analysis::graph::Inbound;
use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::paths::PathSearch;
use hprof_analysis::retained::{GroupSum, Grouping, freed_without, group_sums, loader_name};
use hprof_analysis::snapshot::{ClassCount, Snapshot, ThreadInfo};
use rusqlite::Connection;

pub use errors::explain;
pub use functions::FUNCTIONS;
pub use table::{Cell, Column, cell_of};
pub use text::{check, check_of, prepare};

use notes::Notes;
use table::Rows;

/// A heap dump, and what is made of it when a query first needs it.
pub struct Heap {
    snapshot: Snapshot,
    inbound: OnceLock<Option<Inbound>>,
    paths: PathSearch,
    threads: OnceLock<Vec<ThreadInfo>>,
    sums: OnceLock<Vec<ClassCount>>,
    retained: OnceLock<Option<Vec<GroupSum>>>,
    notes: Notes,
}

/// A table for people: name, what a row is, columns.
pub type About = (&'static str, &'static str, &'static [Column]);

/// All tables.
pub const TABLES: [About; 7] = [
    about::<objects::Objects>(),
    about::<classes::Classes>(),
    about::<references::References>(),
    about::<fields::Fields>(),
    about::<strings::Strings>(),
    about::<roots::Roots>(),
    about::<threads::Threads>(),
];

const fn about<R: Rows>() -> About {
    (R::NAME, R::ABOUT, R::COLUMNS)
}

/// A connection to the tables of a heap dump.
///
/// # Errors
/// Errors of SQLite.
pub fn connect(snapshot: Snapshot) -> rusqlite::Result<(Connection, Arc<Heap>)> {
    let heap = Arc::new(Heap {
        snapshot,
        inbound: OnceLock::new(),
        paths: PathSearch::new(),
        threads: OnceLock::new(),
        sums: OnceLock::new(),
        retained: OnceLock::new(),
        notes: Notes::default(),
    });
    let connection = Connection::open_in_memory()?;
    table::register::<objects::Objects>(&connection, &heap)?;
    table::register::<classes::Classes>(&connection, &heap)?;
    table::register::<references::References>(&connection, &heap)?;
    table::register::<fields::Fields>(&connection, &heap)?;
    table::register::<strings::Strings>(&connection, &heap)?;
    table::register::<roots::Roots>(&connection, &heap)?;
    table::register::<threads::Threads>(&connection, &heap)?;
    functions::register(&connection, &heap)?;
    Ok((connection, heap))
}

impl Heap {
    /// The identifier of an object.
    fn id(&self, object: ObjectNumber) -> Cell<'static> {
        Cell::from(format!("{:#x}", self.snapshot.graph().id(object)))
    }

    /// The object with an identifier as people write it: with or without `0x`, in upper or lower case.
    fn named(&self, id: &str) -> Option<ObjectNumber> {
        let id = u64::from_str_radix(notes::digits(id)?, 16).ok()?;
        self.snapshot.graph().number(id)
    }

    /// The object with an identifier as [`Heap::id`] writes it.
    fn object(&self, id: &str) -> Option<ObjectNumber> {
        let digits = id.strip_prefix("0x")?;
        let id = u64::from_str_radix(digits, 16).ok()?;
        self.snapshot.graph().number(id)
    }

    /// The name of an object's class.
    fn class(&self, object: ObjectNumber) -> Cell<'_> {
        Cell::from(self.snapshot.class_name(object))
    }

    /// The classes of a name; several loaders may have one each.
    fn classes_named(&self, name: &str) -> Vec<ClassNumber> {
        let classes = self.snapshot.graph().classes();
        let is_named = |&class: &ClassNumber| classes.get(class).name == name;
        classes.numbers().filter(is_named).collect()
    }

    /// Who refers to each object; `None` if there is no room for that.
    fn inbound(&self) -> Option<&Inbound> {
        let make = || Inbound::new(self.snapshot.graph(), self.snapshot.store()).ok();
        self.inbound.get_or_init(make).as_ref()
    }

    fn threads(&self) -> &[ThreadInfo] {
        self.threads.get_or_init(|| self.snapshot.threads())
    }

    /// The sums of all classes, by number.
    fn sums(&self) -> &[ClassCount] {
        self.sums.get_or_init(|| self.snapshot.class_counts())
    }

    /// The memory that would be free without all objects of a class.
    fn retained(&self, class: ClassNumber) -> Cell<'static> {
        let classes = self.snapshot.graph().classes();
        let all = self.retained.get_or_init(|| {
            let each = Grouping {
                group_of: classes.numbers().map(ClassNumber::get).collect(),
                groups: classes.list().len(),
            };
            let (sums, is_exact) = group_sums(&self.snapshot, &[each]).ok()?.pop()?;
            is_exact.then_some(sums)
        });
        let bytes = match all {
            Some(sums) => sums.get(class.index()).map(|sum| sum.retained_bytes),
            // One class at a time is slow, and always exact.
            None => {
                let graph = self.snapshot.graph();
                let freed = freed_without(&self.snapshot, |it| graph.class_of(it) == class);
                freed.ok().map(|freed| freed.bytes)
            }
        };
        bytes.map(Cell::count).into()
    }

    fn loader(&self, loader: u64) -> Cell<'_> {
        Cell::from(loader_name(&self.snapshot, loader))
    }
}
