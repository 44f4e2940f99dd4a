//! The tables of a profile.

use hprof_analysis::contents::{Contents, Format};

use crate::TableError;
use crate::batch::Cell;
use crate::export::{Export, Exported, Subject};
use crate::folder::Writing;
use crate::schema::VERSION;
use crate::stacks;

/// Writes all of them.
pub fn write(export: &Export<'_>, contents: &Contents) -> Result<Exported, TableError> {
    let mut writing = export.folder.writing(export.labels);
    let counts = stacks::write(&mut writing, contents)?;
    let id_bytes = match contents.format {
        Format::Binary { id_size, .. } => id_size.bytes(),
        Format::Text | Format::Foreign(_) => 0,
    };
    let facts = Facts {
        kind: "profile",
        file_bytes: contents.bytes,
        id_bytes,
        threads: contents.threads.len() as u64,
        stacks: counts.stacks,
        samples: counts.samples,
        ..Facts::default()
    };
    facts.write(&mut writing, export.subject)?;
    (export.progress)(2 * contents.bytes);
    let files = writing.publish()?;
    Ok(Exported { files })
}

/// The figures of the table `summary`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    pub kind: &'static str,
    pub file_bytes: u64,
    pub id_bytes: usize,
    pub objects: u64,
    pub shallow: u64,
    pub live_objects: u64,
    pub live_bytes: u64,
    pub classes: u64,
    pub loaders: u64,
    pub roots: u64,
    pub threads: u64,
    pub suspects: u64,
    pub duplicate_waste: u64,
    pub string_waste: Option<u64>,
    pub stacks: u64,
    pub samples: u64,
}

impl Facts {
    /// Writes the table `summary`.
    pub fn write(&self, writing: &mut Writing<'_>, subject: &Subject) -> Result<(), TableError> {
        let notes = (!subject.notes.is_empty()).then(|| Cell::text(&subject.notes.join("\n")));
        let row = [
            Cell::text(self.kind),
            Cell::text(&subject.file),
            Cell::count(self.file_bytes),
            Cell::text(&subject.sha256),
            subject.created_millis.map(Cell::count).into(),
            subject.build.as_deref().map(Cell::text).into(),
            Cell::text(env!("CARGO_PKG_VERSION")),
            Cell::small(VERSION as usize),
            Cell::small(self.id_bytes),
            Cell::count(self.objects),
            Cell::count(self.shallow),
            Cell::count(self.live_objects),
            Cell::count(self.live_bytes),
            Cell::count(self.classes),
            Cell::count(self.loaders),
            Cell::count(self.roots),
            Cell::count(self.threads),
            Cell::count(self.suspects),
            Cell::count(self.duplicate_waste),
            self.string_waste.map(Cell::count).into(),
            Cell::count(self.stacks),
            Cell::count(self.samples),
            Cell::Boolean(subject.is_partial),
            notes.into(),
        ];
        writing.table("summary", |file| file.rows([row]))?;
        Ok(())
    }
}
