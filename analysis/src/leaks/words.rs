//! Suspects in words.

use super::{AllocationSite, ClassShare, Suspect};
use crate::paths::Path;
use crate::snapshot::{EdgeKind, Snapshot};

/// The facts about a suspect.
pub(super) struct Held<'a> {
    pub candidate_count: u64,
    /// How many of them the contents are of.
    pub looked_at: u64,
    /// True if most of a group is held by one object, at the end of the path.
    pub is_common: bool,
    /// The class of a group.
    pub group: Option<&'a str>,
    pub path: &'a Path,
    pub objects: &'a [usize],
    pub bytes: u64,
    /// True if other suspects keep alive what is not in `bytes`.
    pub is_rest: bool,
    pub live_bytes: u64,
    pub children: &'a [ClassShare],
    pub contents: &'a [ClassShare],
    pub sites: &'a [AllocationSite],
}

/// The headline and the sentences.
pub(super) fn explain(snapshot: &Snapshot, held: &Held<'_>) -> (String, Vec<String>) {
    let owner = owner(snapshot, held);
    let what = match (held.group, &owner) {
        (Some(class), _) => {
            format!("{} objects of class {class}", number(held.candidate_count))
        }
        (None, owner) => article(&snapshot.describe(held.objects[*owner])),
    };
    let keeps = if held.group.is_some() {
        "keep"
    } else {
        "keeps"
    };
    let headline = format!(
        "{} {keeps} {} alive, {} of the heap{}",
        capital(&what),
        bytes(held.bytes),
        percent(held.bytes, held.live_bytes),
        if held.is_rest {
            ", besides what other suspects keep"
        } else {
            ""
        }
    );
    let mut sentences = vec![holder(snapshot, held, owner)];
    if let Some(sentence) = filling(snapshot, held) {
        sentences.push(sentence);
    }
    // Of a large group only some are looked at.
    let some =
        (held.group.is_some() && held.looked_at < held.candidate_count).then_some(held.looked_at);
    sentences.extend(main_contents(held.contents, some));
    if let Some(site) = held.sites.first() {
        let frame = site
            .stack
            .first()
            .map_or("an unknown place", String::as_str);
        sentences.push(format!(
            "Of {} objects looked at, {} were allocated in {frame}.",
            number(site.of),
            number(site.objects)
        ));
    }
    (headline, sentences)
}

/// The classes that most of the memory is in; of `looked_at` objects, if only these were looked at.
fn main_contents(contents: &[ClassShare], looked_at: Option<u64>) -> Option<String> {
    // What is next to nothing beside the first is no part of most.
    let least = contents.first()?.bytes / 20;
    let top: Vec<String> = (contents.iter().take(3))
        .filter(|share| share.bytes >= least)
        .map(|share| format!("{} ({})", share.name, bytes(share.bytes)))
        .collect();
    let start = match looked_at {
        Some(some) => format!("Of the {} largest, most", number(some)),
        None => MOST.to_owned(),
    };
    Some(format!("{start} of the memory is in {}.", list(&top)))
}

const MOST: &str = "Most";

/// The headline of several suspects that are held in the same way, and the first sentence.
pub(super) fn join(suspect: &mut Suspect) {
    let entry = thread_local_entry(&suspect.path);
    let last = suspect.path.steps.len() - 1;
    let step = entry.map_or(last, |entry| (entry + 1).min(last));
    // Only the class: what tells one object from another differs among them.
    let description = &suspect.path.steps[step].description;
    let class = description.split(' ').next().unwrap_or(description);
    let (what, who) = match entry {
        Some(_) => ("values of ThreadLocals", "each by its thread"),
        None => ("objects", "each in the same way"),
    };
    suspect.headline = format!(
        "{} {what} of class {class}, held {who}, keep {} alive, {:.1}% of the heap",
        number(suspect.count),
        bytes(suspect.retained_bytes),
        100.0 * suspect.share,
    );
    let is_contents = |sentence: &&mut String| sentence.starts_with(MOST);
    if let Some(sentence) = suspect.sentences.iter_mut().find(is_contents)
        && let Some(all) = main_contents(&suspect.contents, None)
    {
        *sentence = all;
    }
    if let Some(first) = suspect.sentences.first_mut() {
        *first = match entry {
            Some(_) => format!(
                "A thread keeps the values of its ThreadLocals until it ends or calls \
                 ThreadLocal.remove(). One of the threads is the {}.",
                suspect.path.root
            ),
            None => format!("One of them: {}", lower(first)),
        };
    }
}

/// The headline of two suspects that are one.
pub(super) fn join_same(suspect: &mut Suspect) {
    if let Some((what, _)) = suspect.headline.split_once(" keeps ") {
        suspect.headline = format!(
            "{what} keeps {} alive, {:.1}% of the heap",
            bytes(suspect.retained_bytes),
            100.0 * suspect.share,
        );
    }
}

fn lower(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// The step of the path that a person would name: the collection around the accumulation point,
/// or that point itself.
fn owner(snapshot: &Snapshot, held: &Held<'_>) -> usize {
    let last = held.objects.len() - 1;
    if let Some(entry) = thread_local_entry(held.path) {
        return (entry + 1).min(last);
    }
    let near = last.saturating_sub(4)..=last;
    let is_named = |&step: &usize| {
        let object = held.objects[step];
        snapshot.collection(object).is_some()
    };
    let mut steps = near.rev();
    steps.find(is_named).unwrap_or(last)
}

/// The step of the path that is an entry of a thread's map of ThreadLocals.
pub(super) fn thread_local_entry(path: &Path) -> Option<usize> {
    let entry = "java.lang.ThreadLocal$ThreadLocalMap$Entry";
    let is_entry = |step: &crate::paths::Step| step.description == entry;
    path.steps.iter().rposition(is_entry)
}

/// Who holds it.
fn holder(snapshot: &Snapshot, held: &Held<'_>, owner: usize) -> String {
    let steps = &held.path.steps;
    let it = if held.group.is_some() {
        "They are"
    } else {
        "It is"
    };
    if held.group.is_some() && !held.is_common {
        return format!(
            "No single object holds them all; the largest is kept alive by: {}.",
            held.path.root
        );
    }
    // The last static field or local variable on the way says most.
    let named = (1..=owner).rev().find(|&step| {
        let kind = steps[step].edge.as_ref().map(|edge| edge.kind);
        matches!(kind, Some(EdgeKind::Static | EdgeKind::Local))
    });
    let between = |from: usize| {
        let fields: Vec<String> = (from..=owner)
            .filter_map(|step| {
                let edge = steps[step].edge.as_ref()?;
                (edge.kind == EdgeKind::Field).then(|| {
                    let class = snapshot.class_name(held.objects[step - 1]);
                    format!("{class}.{}", edge.name)
                })
            })
            .collect();
        match fields.as_slice() {
            [] => String::new(),
            [.., last] if fields.len() > 3 => format!(", at last through the field {last}"),
            fields => format!(
                ", through {} {}",
                if fields.len() == 1 {
                    "the field"
                } else {
                    "the fields"
                },
                list(fields)
            ),
        }
    };
    if thread_local_entry(held.path).is_some() {
        let thread = &held.path.root;
        return format!(
            "{it} the value of a ThreadLocal of the {thread}, which keeps it until the thread ends \
             or calls ThreadLocal.remove()."
        );
    }
    match named {
        Some(step) => {
            let edge = steps[step].edge.as_ref();
            let name = edge.map_or("", |edge| edge.name.as_str());
            let from = &steps[step - 1].description;
            let is_static = edge.is_some_and(|edge| edge.kind == EdgeKind::Static);
            if is_static {
                format!(
                    "{it} held by the static field {name} of {from}{}.",
                    between(step + 1)
                )
            } else {
                format!(
                    "{it} held by the {} ({name}){}.",
                    held.path.root,
                    between(step + 1)
                )
            }
        }
        None => format!("{it} held by the {}{}.", held.path.root, between(1)),
    }
}

/// The objects that it is full of.
fn filling(snapshot: &Snapshot, held: &Held<'_>) -> Option<String> {
    if held.group.is_some() {
        let each = held.bytes / held.candidate_count.max(1);
        return Some(format!(
            "Each of them keeps {} alive on average.",
            bytes(each)
        ));
    }
    let main = held.children.first()?;
    // Nodes and entries say nothing; what is in them does.
    let class = &main.name;
    let in_nodes = ["$Node", "$Entry", "$TreeNode", "Entry", "Node"];
    let is_node = in_nodes.iter().any(|suffix| class.ends_with(suffix))
        && (class.starts_with("java.util.") || class.starts_with("android."));
    let inner = held.contents.iter().find(|share| {
        is_node
            && share.name != *class
            && !share.name.starts_with("java.")
            && !share.name.ends_with("[]")
            && share.objects >= main.objects / 2
    });
    let mut sentence = match inner {
        // Few of many objects would read as if they were all.
        Some(inner) => format!(
            "It is filled with {} of class {}, in {}",
            counted(inner.objects, "object", "objects"),
            inner.name,
            class
        ),
        None => format!(
            "It is filled with {} of class {class}",
            counted(main.objects, "object", "objects")
        ),
    };
    let filled_with = inner.unwrap_or(main);
    let is_loader = |name: &str| {
        let classes = snapshot.graph().classes();
        let mut all = 0..classes.list().len() as u32;
        all.any(|class| {
            classes.get(class).name == name && classes.is_a(class, "java.lang.ClassLoader")
        })
    };
    sentence.push_str(&format!(
        "; each keeps {} alive on average",
        bytes(main.bytes / filled_with.objects.max(1))
    ));
    if is_loader(class) {
        sentence.push_str(", with all classes that they have loaded");
    }
    sentence.push('.');
    if let Some(copies) = copies(snapshot, &filled_with.name) {
        sentence.push(' ');
        sentence.push_str(&copies);
    }
    Some(sentence)
}

/// Classes of one name, each with a loader of its own.
fn copies(snapshot: &Snapshot, name: &str) -> Option<String> {
    let graph = snapshot.graph();
    let all = graph.classes().list().iter();
    let loaders: Vec<usize> = all
        .filter(|class| class.name == name && class.loader != 0)
        .filter_map(|class| graph.number(class.loader))
        .collect();
    let first = *loaders.first().filter(|_| loaders.len() > 1)?;
    Some(format!(
        "{} class loaders, such as {} {:#x}, have loaded the class once each: as long as one of \
         its objects lives, so does its loader with all classes.",
        number(loaders.len() as u64),
        snapshot.class_name(first),
        graph.id(first)
    ))
}

fn article(description: &str) -> String {
    if description.starts_with("class ") {
        return description.to_owned();
    }
    format!("one {description}")
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn number(number: u64) -> String {
    crate::snapshot::grouped(number)
}

fn percent(part: u64, total: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / total.max(1) as f64)
}

/// Bytes in a unit that fits, of 1000.
pub(crate) fn bytes(number: u64) -> String {
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if number < 1000 {
        return format!("{number} bytes");
    }
    let mut value = number as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}
