//! The tables of a heap dump.

mod classes;
mod findings;
mod objects;
mod references;
mod threads;

use std::collections::HashSet;

use hprof_analysis::duplicates::duplicates;
use hprof_analysis::leaks::{LeakOptions, leaks};
use hprof_analysis::snapshot::Snapshot;

use crate::TableError;
use crate::export::{Export, Exported};
use crate::profile::Facts;
use crate::stacks;

/// The groups of equal arrays that the table `duplicates` has.
const DUPLICATES: usize = 1000;

/// Writes all of them.
pub fn write(export: &Export<'_>, snapshot: &Snapshot) -> Result<Exported, TableError> {
    // Suspects with their paths have nothing to do with the rest, and take one thread.
    let (leaks, same, sums) = std::thread::scope(|scope| {
        let leaks = scope.spawn(|| leaks(snapshot, LeakOptions::default()));
        let same = duplicates(snapshot, DUPLICATES);
        let sums = classes::Sums::new(snapshot);
        let leaks = match leaks.join() {
            Ok(leaks) => leaks,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (leaks, same, sums)
    });
    let (leaks, same, sums) = (leaks?, same?, sums?);
    let mut writing = export.folder.writing(export.labels);
    objects::write(&mut writing, export, snapshot)?;
    references::write(&mut writing, export, snapshot)?;
    classes::write(&mut writing, snapshot, &sums)?;
    threads::roots(&mut writing, snapshot)?;
    let threads = threads::write(&mut writing, snapshot)?;
    findings::suspects(&mut writing, snapshot, &leaks)?;
    findings::duplicates(&mut writing, snapshot, &same, export.has_texts)?;
    if export.has_texts {
        findings::strings(&mut writing, snapshot)?;
    }
    let counts = stacks::write(&mut writing, snapshot.contents())?;
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let described = || {
        graph
            .classes()
            .list()
            .iter()
            .filter(|class| class.is_described)
    };
    let loaders: HashSet<u64> = described().map(|class| class.loader).collect();
    let facts = Facts {
        kind: "heap",
        file_bytes: snapshot.file().len() as u64,
        id_bytes: graph.id_size().bytes(),
        objects: graph.len() as u64,
        shallow: 8 * graph.sizes().total(),
        live_objects: dominators.len() as u64,
        live_bytes: dominators.live_bytes(),
        classes: described().count() as u64,
        loaders: loaders.len() as u64,
        roots: (graph.roots().len() + graph.locals().len()) as u64,
        threads,
        suspects: leaks.suspects.len() as u64,
        duplicate_waste: same.wasted_bytes,
        string_waste: same.wasted_in_strings,
        stacks: counts.stacks,
        samples: counts.samples,
    };
    facts.write(&mut writing, export.subject)?;
    let files = writing.publish()?;
    Ok(Exported { files })
}
