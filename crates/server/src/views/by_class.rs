//! Sets of objects by class: what an object retains, and what the instances of a class refer to or
//! are held by.

use std::sync::Arc;

use hprof_analysis::numbers::{ClassNumber, ObjectNumber, Place};
use serde::Deserialize;
use utoipa::IntoParams;

use super::ViewError;
use super::later::{LONG_PATIENCE, Later};
use super::object::class_name;
use super::opened::Opened;
use super::page::TableQuery;
use super::records::{Of, Records};
use super::references::Direction;
use super::table::{Cell, Links, Table, bytes, count, text};

/// Which references of the instances of a class are wanted.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ClassReferencesQuery {
    /// `out` for the classes that instances refer to, `in` for those that refer to instances.
    #[serde(default)]
    #[param(inline)]
    pub direction: Direction,
}

/// The objects of a class within a set.
#[derive(Debug, Clone, Default)]
pub struct ClassPart {
    name: String,
    class: Option<u64>,
    objects: u64,
    shallow: u64,
    references: u64,
}

const NAME: Of<ClassPart> = (text("name", "Class"), |row| Cell::from(row.name.as_str()));
const OBJECTS: Of<ClassPart> = (count("objects", "Objects"), |row| row.objects.into());
const SHALLOW: Of<ClassPart> = (bytes("shallow", "Shallow size"), |row| row.shallow.into());
const REFERENCES: Of<ClassPart> = (count("references", "References"), |row| {
    row.references.into()
});

/// Sums by class, in the order of the classes' numbers.
struct Sums<'a> {
    opened: &'a Opened,
    parts: Vec<ClassPart>,
}

impl<'a> Sums<'a> {
    fn new(opened: &'a Opened) -> Self {
        let classes = opened.snapshot.graph().classes().list().len();
        Self {
            opened,
            parts: vec![ClassPart::default(); classes],
        }
    }

    fn add(&mut self, object: ObjectNumber, references: u64, is_new: bool) {
        let graph = self.opened.snapshot.graph();
        let part = &mut self.parts[graph.class_of(object).index()];
        part.references += references;
        if is_new {
            part.objects += 1;
            part.shallow += graph.size(object);
        }
    }

    fn rows(self) -> Vec<ClassPart> {
        let opened = self.opened;
        let numbered = self.parts.into_iter().enumerate();
        let used = numbered.filter(|(_, part)| part.objects > 0);
        used.map(|(at, part)| {
            let class = ClassNumber::new(at);
            ClassPart {
                name: class_name(opened, class).name,
                class: Some(opened.snapshot.graph().classes().get(class).id).filter(|&id| id != 0),
                ..part
            }
        })
        .collect()
    }
}

fn links(row: &ClassPart) -> Links {
    Links {
        class: row.class,
        ..Links::default()
    }
}

/// The retained set of an object by class: what would be free without it, itself included.
///
/// # Errors
/// If the dump has no such object, or the query names no column.
pub fn retained_set(
    opened: &Arc<Opened>,
    id: &str,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let object = opened.object(id)?;
    let dominators = opened.snapshot.dominators();
    let mut sums = Sums::new(opened);
    if let Some(place) = dominators.place(object) {
        for at in place.index()..dominators.end(place).index() {
            sums.add(dominators.object(Place::new(at)), 0, true);
        }
    }
    let rows = sums.rows();
    let note = rows
        .is_empty()
        .then(|| "no root reaches this object, so it keeps nothing alive".to_owned());
    let records = Records::new(rows, &[NAME, OBJECTS, SHALLOW])
        .about(links)
        .largest_first("shallow");
    Ok(records.page(query)?.with_note(note))
}

/// The classes that the live instances of a class refer to, or those whose live instances refer to
/// them.
///
/// # Errors
/// If the dump has no such class, the query names no column, or a large dump takes longer than a
/// request may.
pub fn class_references(
    opened: &Arc<Opened>,
    id: &str,
    which: ClassReferencesQuery,
    query: &TableQuery,
) -> Result<Table, ViewError> {
    let class = opened.class(id)?;
    let key = (class, which.direction);
    let later = opened.class_references.of(key, Later::default);
    let work = move |opened: &Arc<Opened>| Ok(work_out(opened, class, which.direction));
    let found = later.ask(opened, work, LONG_PATIENCE)?;
    let rows = found.ok_or_else(|| {
        ViewError::Busy(
            "the references of this class are still being counted; ask again".to_owned(),
        )
    })?;
    Records::new(&rows[..], &[NAME, OBJECTS, REFERENCES, SHALLOW])
        .about(links)
        .largest_first("objects")
        .page(query)
}

fn work_out(opened: &Opened, class: ClassNumber, direction: Direction) -> Vec<ClassPart> {
    let (graph, dominators) = (opened.snapshot.graph(), opened.snapshot.dominators());
    let mut sums = Sums::new(opened);
    // Targets are met once for each reference, but are one object each.
    let mut seen = match direction {
        Direction::Out => vec![false; graph.len()],
        Direction::In => Vec::new(),
    };
    for object in dominators.places().map(|place| dominators.object(place)) {
        match direction {
            Direction::Out if graph.class_of(object) == class => {
                for target in graph.references(object) {
                    let is_new = !std::mem::replace(&mut seen[target.index()], true);
                    sums.add(target, 1, is_new);
                }
            }
            Direction::Out => {}
            Direction::In => {
                let targets = graph.references(object).into_iter();
                let held = targets.filter(|&it| graph.class_of(it) == class).count() as u64;
                if held > 0 {
                    sums.add(object, held, true);
                }
            }
        }
    }
    sums.rows()
}
