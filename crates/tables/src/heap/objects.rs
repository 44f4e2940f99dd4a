//! The table `objects`.

use hprof_analysis::graph::Array;
use hprof_analysis::numbers::{ClassNumber, ObjectNumber};
use hprof_analysis::snapshot::Snapshot;
use hprof_format::binary::SubRecord;
use hprof_format::ids::TraceSerial;
use parquet::data_type::ByteArray;
use rustc_hash::FxHashSet;

use crate::TableError;
use crate::batch::Cell;
use crate::export::Export;
use crate::file::ROWS;
use crate::folder::Writing;
use crate::order::ByClass;

/// Writes it.
pub fn write(
    writing: &mut Writing<'_>,
    export: &Export<'_>,
    snapshot: &Snapshot,
) -> Result<(), TableError> {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let order = ByClass::new(snapshot)?;
    let depths = depths(snapshot)?;
    let traces = traces(snapshot)?;
    let classes = graph.classes().list().iter();
    let classes: Vec<(&str, u64)> = classes
        .map(|class| (class.name.as_str(), class.id))
        .collect();
    let share = snapshot.file().len() as u64 / graph.len().max(1) as u64;
    writing.table("objects", |file| {
        file.tasks(graph.len().div_ceil(ROWS), |task, rows| {
            let positions = task * ROWS..((task + 1) * ROWS).min(graph.len());
            let done = positions.len() as u64 * share;
            // Copies of a text count themselves; a text of its own keeps threads from fighting for
            // the counter.
            let mut last = (
                ClassNumber::UNKNOWN,
                ByteArray::from(classes[0].0),
                classes[0].1,
            );
            let (mut near, mut near_above) = (0, 0);
            for position in positions {
                let object = order.at(position);
                let place = dominators.place(object);
                let above = place.and_then(|place| dominators.above(place));
                let dominator = above.map(|above| {
                    Cell::id(graph.id_near(dominators.object(above), &mut near_above))
                });
                let depth = place.map(|place| Cell::small(depths[place.index()] as usize));
                let class = graph.class_of(object);
                if class != last.0 {
                    let (name, id) = classes[class.index()];
                    last = (class, ByteArray::from(name), id);
                }
                rows.push([
                    Cell::id(graph.id_near(object, &mut near)),
                    Cell::Text(last.1.clone()),
                    Cell::id(last.2),
                    Cell::count(graph.size(object)),
                    Cell::count(place.map_or(0, |place| dominators.retained(place))),
                    dominator.into(),
                    depth.into(),
                    trace(traces.as_ref(), object),
                ])?;
            }
            (export.progress)(done);
            Ok(())
        })
    })?;
    Ok(())
}

/// By place: the number of objects from there up to the roots.
fn depths(snapshot: &Snapshot) -> std::io::Result<Array<u32>> {
    let dominators = snapshot.dominators();
    let mut depths = snapshot.store().zeros::<u32>(dominators.len())?;
    let slots = &mut *depths;
    // An object comes before those that it dominates.
    for place in dominators.places() {
        let above = dominators.above(place);
        slots[place.index()] = above.map_or(0, |above| slots[above.index()]) + 1;
    }
    Ok(depths)
}

/// By object: the serial of its trace, 0 for none. `None` if no object has a trace with frames, as
/// in dumps that VMs write: the traces of these are those of threads.
fn traces(snapshot: &Snapshot) -> std::io::Result<Option<Array<u32>>> {
    let graph = snapshot.graph();
    let stacks = &snapshot.contents().stacks;
    let of_threads: FxHashSet<u32> = graph.roots().iter().map(|root| root.trace).collect();
    let of_objects: FxHashSet<TraceSerial> = (stacks.traces().into_iter())
        .filter(|(serial, trace)| !trace.frames.is_empty() && !of_threads.contains(&serial.get()))
        .map(|(serial, _)| serial)
        .collect();
    if of_objects.is_empty() {
        return Ok(None);
    }
    let mut traces = snapshot.store().zeros::<u32>(graph.len())?;
    let slots = &mut *traces;
    for block in graph.blocks() {
        for sub_record in graph.sub_records(snapshot.file(), block).flatten() {
            let (object, trace) = match sub_record {
                SubRecord::Instance { object, trace, .. } => (object, trace),
                SubRecord::ObjectArray { array, trace, .. }
                | SubRecord::PrimitiveArray { array, trace, .. }
                | SubRecord::PrimitiveArrayNoData { array, trace, .. } => (array, trace),
                _ => continue,
            };
            if let Some(object) = graph
                .number(object.get())
                .filter(|_| of_objects.contains(&trace))
            {
                slots[object.index()] = trace.get();
            }
        }
    }
    Ok(Some(traces))
}

fn trace(traces: Option<&Array<u32>>, object: ObjectNumber) -> Cell {
    let trace = traces.map(|traces| traces[object.index()]);
    let trace = trace.filter(|&trace| trace != 0);
    trace.map(|trace| Cell::count(u64::from(trace))).into()
}
