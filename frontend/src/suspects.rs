//! Leak suspects in words.

use hprof_analysis::leaks::{ClassShare, Copies, Filling, Holder, Leaks, Subject, Suspect};
use serde::Serialize;

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
    /// The suspects, the largest first.
    pub suspects: Vec<ExplainedSuspect>,
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
            other_bytes: leaks.other_bytes,
        }
    }
}

/// The suspicion, in one sentence.
pub fn headline(suspect: &Suspect) -> String {
    let number = count(suspect.count);
    let subject = match &suspect.finding.subject {
        Subject::Object(description) if description.starts_with("class ") => capital(description),
        Subject::Object(description) => format!("One {description}"),
        Subject::Group(class) => format!("{number} objects of class {class}"),
        Subject::Alike(class) => {
            format!("{number} objects of class {class}, held each in the same way,")
        }
        Subject::ThreadLocals(class) => {
            format!("{number} values of ThreadLocals of class {class}, held each by its thread,")
        }
    };
    let keeps = match suspect.finding.subject {
        Subject::Object(_) => "keeps",
        _ => "keep",
    };
    let besides = match (&suspect.finding.subject, suspect.finding.is_rest) {
        (Subject::Object(_) | Subject::Group(_), true) => ", besides what other suspects keep",
        _ => "",
    };
    format!(
        "{subject} {keeps} {} alive, {:.1}% of the heap{besides}",
        bytes(suspect.retained_bytes),
        100.0 * suspect.share,
    )
}

/// The facts known about a suspect, in sentences.
pub fn sentences(suspect: &Suspect) -> Vec<String> {
    let finding = &suspect.finding;
    let root = &suspect.path.root;
    let holder = match finding.subject {
        Subject::Object(_) => holder(suspect, "It is"),
        Subject::Group(_) => holder(suspect, "They are"),
        Subject::Alike(_) => format!("One of them: {}", holder(suspect, "it is")),
        Subject::ThreadLocals(_) => format!(
            "A thread keeps the values of its ThreadLocals until it ends or calls \
             ThreadLocal.remove(). One of the threads is the {root}."
        ),
    };
    let mut sentences = vec![holder];
    if finding.is_soft {
        sentences.push(
            "Only soft references lead to it: the collector frees it before memory runs out, so by itself it is \
             no leak."
                .to_owned(),
        );
    }
    sentences.extend(finding.filling.as_ref().map(filling));
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
    sentences
}

/// A sentence on who holds a suspect, which begins with `it`.
fn holder(suspect: &Suspect, it: &str) -> String {
    let root = &suspect.path.root;
    match &suspect.finding.holder {
        Holder::None => {
            format!("No single object holds them all; the largest is kept alive by: {root}.")
        }
        Holder::ThreadLocal => format!(
            "{it} the value of a ThreadLocal of the {root}, which keeps it until the thread ends \
             or calls ThreadLocal.remove()."
        ),
        Holder::Static {
            field,
            class,
            through,
        } => format!(
            "{it} held by the static field {field} of {class}{}.",
            path(through)
        ),
        Holder::Root {
            local: Some(local),
            through,
        } => format!("{it} held by the {root} ({local}){}.", path(through)),
        Holder::Root {
            local: None,
            through,
        } => format!("{it} held by the {root}{}.", path(through)),
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
        } => {
            // Few of many objects would read as if they were all.
            let objects = match objects {
                1 => "1 object".to_owned(),
                many => format!("{} objects", count(*many)),
            };
            let mut text = format!("It is filled with {objects} of class {class}");
            if let Some(nodes) = nodes {
                text.push_str(&format!(", in {nodes}"));
            }
            text.push_str(&format!(
                "; each keeps {} alive on average",
                bytes(*average)
            ));
            if *are_loaders {
                text.push_str(", with all classes that they have loaded");
            }
            text.push('.');
            if let Some(copies) = copies {
                text.push(' ');
                text.push_str(&loaded_again(copies));
            }
            text
        }
    }
}

fn loaded_again(copies: &Copies) -> String {
    format!(
        "{} class loaders, such as {} {:#x}, have loaded the class once each: as long as one of \
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
