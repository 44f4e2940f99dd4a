//! Leak suspects in words.

mod headline;
mod next;

use hprof_analysis::graph::ReferenceKind;
use hprof_analysis::leaks::{
    ClassShare, Copies, Filling, Finding, Holder, Leaks, Poller, References, Subject, Suspect,
    Waiting,
};
use serde::Serialize;

pub use headline::headline;
use headline::{held, leading_field};

use crate::render::screen::count;

/// All suspects of a dump, in words.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    /// The bytes of all objects that are reached from roots.
    pub live_bytes: u64,
    /// Their number.
    pub live_objects: u64,
    /// The share of the live heap from which something is a suspect.
    pub threshold: f64,
    /// The suspects, the largest first; none if nothing stands out.
    pub suspects: Vec<ExplainedSuspect>,
    /// The largest object, if there are no suspects.
    pub largest: Option<ExplainedSuspect>,
    /// The live bytes that belong to no suspect.
    pub other_bytes: u64,
}

/// A suspect in words.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedSuspect {
    /// The suspicion, in one sentence.
    pub headline: String,
    /// The facts known about it, in sentences.
    pub sentences: Vec<String>,
    /// Its figures.
    #[serde(flatten)]
    pub suspect: Suspect,
}

impl Explained {
    /// Puts suspects into words.
    pub fn new(leaks: Leaks) -> Self {
        let explain = |suspect: Suspect| ExplainedSuspect {
            headline: headline(&suspect),
            sentences: sentences(&suspect),
            suspect,
        };
        Self {
            live_bytes: leaks.live_bytes,
            live_objects: leaks.live_objects,
            threshold: leaks.threshold,
            suspects: leaks.suspects.into_iter().map(explain).collect(),
            largest: leaks.largest.map(explain),
            other_bytes: leaks.other_bytes,
        }
    }
}

/// The sentence before the largest object, if there are no suspects.
pub fn nothing(threshold: f64) -> String {
    let percent = 100.0 * threshold;
    format!(
        "Nothing of the program keeps {percent:.0}% of the heap alive by itself. The largest part is:"
    )
}

/// The facts known about a suspect, in sentences.
pub fn sentences(suspect: &Suspect) -> Vec<String> {
    let finding = &suspect.finding;
    let root = &suspect.path.root;
    let mut sentences = Vec::new();
    match &finding.subject {
        Subject::Object(_) | Subject::Group(_) if is_said(suspect) => {}
        Subject::Object(_) => sentences.push(holder(suspect, "It is")),
        Subject::HiddenClasses(_) if is_said(suspect) => {}
        Subject::Group(_) | Subject::HiddenClasses(_) => {
            sentences.push(holder(suspect, "They are"));
        }
        Subject::Alike(_) => sentences.push(format!("One of them: {}", holder(suspect, "it is"))),
        Subject::ThreadLocals(_) => sentences.push(format!(
            "A thread keeps the values of its ThreadLocals until it ends or calls \
             ThreadLocal.remove(). One of the threads is the {root}."
        )),
        Subject::Threads { .. } => {}
    }
    if let Holder::Threads {
        value,
        value_bytes,
        method,
        through,
        ..
    } = &finding.holder
    {
        sentences.push(format!(
            "The largest is the {root}, in which one {value} keeps {} alive{}.",
            bytes(*value_bytes),
            path(through)
        ));
        let method = method.as_ref();
        sentences.extend(method.map(|it| format!("Its innermost method of the program is {it}.")));
    }
    if finding.is_soft {
        sentences.push(
            "Only soft references lead to it: the collector frees it before memory runs out, so by itself it is \
             no leak."
                .to_owned(),
        );
    }
    sentences.extend(finding.filling.as_ref().map(filling));
    sentences.extend(finding.waiting.as_ref().map(waiting));
    sentences.extend(finding.direct.map(|direct| {
        let much = bytes(direct.capacity);
        match direct.buffers {
            1 => format!("One direct buffer below it holds {much} outside of the heap."),
            many => format!(
                "{} direct buffers below it hold {much} outside of the heap.",
                count(many)
            ),
        }
    }));
    sentences.extend(keys(finding));
    sentences.extend(main_contents(&suspect.contents, finding.looked_at));
    if let Some(site) = suspect.sites.first() {
        let frame = site.stack.first();
        sentences.push(format!(
            "Of {} objects looked at, {} were allocated in {}.",
            count(site.of),
            count(site.objects),
            frame.map_or("an unknown place", String::as_str)
        ));
    }
    sentences.push(next::next_step(suspect));
    sentences.iter().map(|it| without_addresses(it)).collect()
}

/// A text without the addresses in the names of hidden classes, such as those of lambda expressions: they differ from run
/// to run, and say nothing.
fn without_addresses(text: &str) -> String {
    /// The digits that an address has at least.
    const DIGITS: usize = 8;
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        let digits = &rest[at + 2..];
        let length = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
        let before = &rest[..at];
        match before.strip_suffix(['+', '/']) {
            Some(class) if length >= DIGITS => short.push_str(class),
            _ => short.push_str(&rest[..at + 2 + length]),
        }
        rest = &digits[length..];
    }
    short.push_str(rest);
    short
}

/// The largest properties, by key.
fn keys(finding: &Finding) -> Option<String> {
    let quoted = finding.keys.iter().map(|key| format!("\"{key}\""));
    let quoted: Vec<String> = quoted.collect();
    (!quoted.is_empty()).then(|| format!("The largest have the keys {}.", list(&quoted)))
}

/// True if the first sentence has said all about the holder.
fn is_said(suspect: &Suspect) -> bool {
    let leading = leading_field(suspect).filter(|field| !field.is_static);
    match &suspect.finding.holder {
        Holder::Static { through, .. } | Holder::Root { through, .. } => match &through[..] {
            [] => !held(suspect).is_empty() || leading_field(suspect).is_some(),
            [one] => leading.is_some_and(|field| field.name == *one),
            _ => false,
        },
        _ => false,
    }
}

/// A sentence on who holds a suspect, which begins with `it`.
fn holder(suspect: &Suspect, it: &str) -> String {
    let root = &suspect.path.root;
    match &suspect.finding.holder {
        Holder::None => {
            format!("No single object holds them all; the largest is kept alive by: {root}.")
        }
        Holder::ThreadLocal { .. } => format!(
            "{it} the value of a ThreadLocal of the {root}, which keeps it until the thread ends \
             or calls ThreadLocal.remove()."
        ),
        Holder::Static { field, through } => {
            format!("{it} held by the static field {field}{}.", path(through))
        }
        Holder::Root {
            local: Some(local),
            through,
        } => format!("{it} held by the {root} ({local}){}.", path(through)),
        Holder::Root {
            local: None,
            through,
        } => format!("{it} held by the {root}{}.", path(through)),
        Holder::Threads { through, .. } => format!("{it} held by the {root}{}.", path(through)),
    }
}

/// The fields that a path leads through.
fn path(fields: &[String]) -> String {
    match fields {
        [] => String::new(),
        [one] => format!(", through the field {one}"),
        [.., last] if fields.len() > 3 => format!(", at last through the field {last}"),
        fields => format!(", through the fields {}", list(fields)),
    }
}

fn filling(filling: &Filling) -> String {
    match filling {
        Filling::Each(average) => {
            format!("Each of them keeps {} alive on average.", bytes(*average))
        }
        Filling::Objects {
            objects,
            class,
            nodes,
            average,
            are_loaders,
            copies,
            references,
            within,
            ..
        } => {
            let much = bytes(*average);
            let mut text = match objects {
                1 => format!("The object of class {class} keeps {much} alive"),
                _ => format!("Each object of class {class} keeps {much} alive on average"),
            };
            match (are_loaders, within) {
                (true, Some(_)) => {
                    text.push_str(", with a class loader and all classes that this has loaded")
                }
                (true, None) => text.push_str(", with all classes that it has loaded"),
                (false, _) => {}
            }
            if let Some(nodes) = nodes {
                text.push_str(&format!(", in a {nodes}"));
            }
            text.push('.');
            text.extend(references.iter().filter_map(gone_or_soft));
            if let Some(copies) = copies {
                text.push(' ');
                text.push_str(&loaded_again(copies));
            }
            text
        }
    }
}

/// The facts about references in which a suspect keeps its elements.
fn gone_or_soft(references: &References) -> Option<String> {
    let (class, kind) = (&references.class, references.kind);
    if references.are_cleared() {
        return Some(format!(
            " Of {} objects of class {class} that were looked at, {} are cleared: their referents are gone, and the \
             entries stay.",
            count(references.looked_at),
            count(references.cleared)
        ));
    }
    (kind == ReferenceKind::Soft).then(|| {
        " Only soft references hold these: the collector frees them before memory runs out."
            .to_owned()
    })
}

/// The references that wait in a queue, and the thread that has to take them out.
fn waiting(waiting: &Waiting) -> String {
    let number = count(waiting.references);
    let field = waiting.field.as_ref();
    let queue = field.map_or("a queue".to_owned(), |it| {
        format!("the queue of {}", it.name)
    });
    let start = format!("{number} references wait in {queue}, since their referents are gone");
    match &waiting.thread {
        Some(Poller {
            name,
            method: Some(method),
        }) => format!(
            "{start}. The thread \"{name}\", which has the queue on its stack, is in {method}: what they hold stays until \
             it takes them out."
        ),
        Some(Poller { name, method: None }) => format!(
            "{start}: what they hold stays until the thread \"{name}\", which has the queue on its stack, takes them out."
        ),
        None => format!(
            "{start}, and no thread has the queue on its stack: what they hold stays until the program polls it."
        ),
    }
}

fn loaded_again(copies: &Copies) -> String {
    let class = match &copies.class {
        Some(class) => format!("{class}, of which they hold objects,"),
        None => "the class".to_owned(),
    };
    format!(
        "{} class loaders, such as {} {:#x}, have loaded {class} once each: as long as one of \
         its objects lives, so does its loader with all classes.",
        count(copies.loaders),
        copies.example_class,
        copies.example_id
    )
}

/// The classes that most of the memory is in; of `looked_at` objects, if only these were looked at.
fn main_contents(contents: &[ClassShare], looked_at: Option<u64>) -> Option<String> {
    // A class that is next to nothing beside the first is no part of most.
    let least = contents.first()?.bytes / 20;
    let top: Vec<String> = (contents.iter().take(3))
        .filter(|share| share.bytes >= least)
        .map(|share| format!("{} ({})", share.name, bytes(share.bytes)))
        .collect();
    let start = match looked_at {
        Some(some) => format!("Of the {} largest, most", count(some)),
        None => "Most".to_owned(),
    };
    Some(format!("{start} of the memory is in {}.", list(&top)))
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Bytes in a sentence.
fn bytes(number: u64) -> String {
    match number {
        0..1000 => format!("{number} bytes"),
        _ => crate::render::screen::bytes(number),
    }
}

#[cfg(test)]
mod tests {
    use super::without_addresses;

    #[test]
    fn names_of_hidden_classes_have_no_addresses() {
        for (text, expected) in [
            (
                "filled with 3 objects of class A$$Lambda$18+0x00007fa03100e5b8, held",
                "filled with 3 objects of class A$$Lambda$18, held",
            ),
            (
                "The field A$$Lambda/0x00007fa03100e5b8.arg$1 keeps",
                "The field A$$Lambda.arg$1 keeps",
            ),
            (
                "Next: hprof-rs paths FILE 0xfc0a14a0 shows",
                "Next: hprof-rs paths FILE 0xfc0a14a0 shows",
            ),
            ("key \"/0x1\" of 0x", "key \"/0x1\" of 0x"),
        ] {
            assert_eq!(without_addresses(text), expected);
        }
    }
}
