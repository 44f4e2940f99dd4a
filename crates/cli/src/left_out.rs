//! Sentences about missing parts of dumps.

use hprof_analysis::android::{LeftOut, Trace};
use hprof_analysis::contents::{Contents, Dump};
use hprof_analysis::graph::{Gaps, MAX_MISSING_OBJECTS};

use crate::render::screen::{bytes, plural};

/// Tells that contents of arrays are not known.
const ELEMENTS: &str = "KOOM has left the elements of all primitive arrays out, so texts and buffers are \
                        unknown; the arrays' counts and sizes are as they were";
/// Tells that there are no arrays but texts.
const ARRAYS: &str = "the file has no primitive arrays but texts, as Matrix shrinks dumps: counts and \
                      sizes lack the others";
/// Tells that the heaps are missing that all programs of a phone share.
const SYSTEM_HEAPS: &str = "all objects are of the program's own heap: a tool has left out those of the \
                            zygote and image heaps";

/// The parts that are missing by the counts of objects alone.
pub fn by_counts(contents: &Contents) -> Vec<String> {
    let mut all = LeftOut {
        elements: contents.lacks_elements,
        ..LeftOut::default()
    };
    for dump in &contents.dumps {
        let of_dump = LeftOut::of_dump(contents, dump);
        all.arrays |= of_dump.arrays;
        all.system_heaps |= of_dump.system_heaps;
    }
    let said = [
        (all.elements, ELEMENTS),
        (all.arrays, ARRAYS),
        (all.system_heaps, SYSTEM_HEAPS),
    ];
    let said = said.iter().filter(|(is_so, _)| *is_so);
    said.map(|(_, words)| (*words).to_owned()).collect()
}

/// The parts that are missing by the references of a dump.
pub fn by_references(left_out: LeftOut, gaps: Gaps) -> Vec<String> {
    let mut lines = Vec::new();
    if left_out.elements {
        lines.push(ELEMENTS.to_owned());
    }
    lines.extend(dangling(left_out, gaps));
    lines.extend(broken_classes(gaps.without_class));
    lines.extend(repeated(gaps.repeated_objects, &[]));
    lines
}

/// Objects that cannot be distinguished by their identifiers, if there are any; some of these are
/// examples.
pub fn repeated(objects: u64, examples: &[u64]) -> Option<String> {
    let examples: Vec<String> = examples.iter().map(|id| format!("{id:#x}")).collect();
    let such_as = match &examples[..] {
        [] => String::new(),
        examples => format!(" ({})", examples.join(", ")),
    };
    (objects > 0).then(|| {
        format!(
            "{} another object of the file has too{such_as}: references lead to one of them, whose figures may be \
             those of the other",
            plural(
                objects,
                "object has an identifier that",
                "objects have identifiers that"
            )
        )
    })
}

/// Objects whose fields cannot be distinguished, if there are any.
pub fn broken_classes(objects: u64) -> Option<String> {
    (objects > 0).then(|| {
        format!(
            "{} that the file does not describe in full: a class is missing, superclasses form a circle, or there are \
             more than 256 of them; sizes are estimates and references unknown",
            plural(objects, "object is of a class", "objects are of classes")
        )
    })
}

/// The objects of a dump whose own class is not in it.
pub fn objects_without_class(dump: &Dump) -> u64 {
    let classes = dump.census.classes();
    let absent = classes
        .filter(|(class, count)| count.instances > 0 && !dump.census.shapes.contains_key(class));
    absent.map(|(_, count)| count.instances).sum()
}

/// The references and roots of a dump that lead to missing objects.
pub fn dangling(left_out: LeftOut, gaps: Gaps) -> Vec<String> {
    let mut lines = Vec::new();
    let references = gaps.dangling_references - gaps.archived_references;
    if references > 0 {
        let objects = plural(gaps.missing_objects, "object", "objects");
        let objects = match gaps.missing_objects < MAX_MISSING_OBJECTS {
            true => objects,
            false => format!("at least {objects}"),
        };
        let reason = match (left_out.arrays || gaps.lacks_arrays, left_out.system_heaps) {
            (true, _) => ", as Matrix leaves out primitive arrays but texts",
            (_, true) => ", as a tool has left out the zygote and image heaps",
            _ => "",
        };
        lines.push(format!(
            "{} to {objects} that the file lacks{reason}: what holds them retains more than is shown",
            plural(references, "reference leads", "references lead")
        ));
    }
    if gaps.dangling_roots > 0 {
        lines.push(format!(
            "{} that the file lacks",
            plural(
                gaps.dangling_roots,
                "root is an object",
                "roots are objects"
            )
        ));
    }
    lines
}

/// The bytes that the objects of a trace keep alive, as far as the dump has them.
pub fn kept_alive(trace: &Trace) -> String {
    let least = if trace.is_at_least { "at least " } else { "" };
    let pixels = match trace.missing_pixel_bytes {
        0 => String::new(),
        missing => format!(
            ", and pixels that the file lacks: an estimated {}",
            bytes(missing)
        ),
    };
    format!("{least}{} kept alive{pixels}", bytes(trace.retained_bytes))
}
