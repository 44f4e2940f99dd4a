//! The first sentence about a suspect.

use hprof_analysis::leaks::{Filling, Holder, OwnField, References, Subject, Suspect, Within};

use super::{bytes, capital, list, without_addresses};
use crate::render::screen::count;

/// The suspicion, in one sentence: the field of the program, how much it keeps alive, by which object or objects, what
/// fills these, and who holds them.
pub fn headline(suspect: &Suspect) -> String {
    without_addresses(&sentence(suspect))
}

fn sentence(suspect: &Suspect) -> String {
    let finding = &suspect.finding;
    let subject = subject(suspect);
    let much = format!(
        "{} alive, {:.1}% of the heap",
        bytes(suspect.retained_bytes),
        100.0 * suspect.share
    );
    let besides = match (&finding.subject, finding.is_rest) {
        (Subject::Object(_) | Subject::Group(_), true) => ", besides what other suspects keep",
        _ => "",
    };
    let filled = format!("{}{}", filled(suspect), waiting(suspect));
    let held = held(suspect);
    match (leading_field(suspect), leading_threads(&finding.subject)) {
        (Some(field), _) => {
            let kind = kind_of(field);
            let name = &field.name;
            format!("The {kind} {name} keeps {much}{besides}: {subject}{filled}{held}")
        }
        (None, Some(threads)) => format!("The {threads} keep {much}: {subject}{filled}{held}"),
        (None, None) if are_system_properties(suspect) => format!(
            "The System properties ({SYSTEM_PROPERTIES}) keep {much}{besides}: {subject}{filled}"
        ),
        (None, None) if finding.registry.is_some() => registered(suspect, &much, besides),
        (None, None) => {
            let keeps = match finding.subject {
                Subject::Object(_) => "keeps",
                _ => "keep",
            };
            format!(
                "{} {keeps} {much}{besides}{filled}{held}",
                capital(&subject)
            )
        }
    }
}

/// The sentence about a registry of the JDK: what is registered there, with the names that most have, and the field of the
/// program that holds it if the registry only knows it.
fn registered(suspect: &Suspect, much: &str, besides: &str) -> String {
    let Some(registry) = &suspect.finding.registry else {
        return String::new();
    };
    let (title, place) = (registry.title, registry.place);
    let named = registry.names.as_ref();
    let contents = match named.filter(|it| it.class != "java.lang.String") {
        Some(names) if registry.are_gone => {
            format!("what is left of {}", objects_of(names.objects, names.class))
        }
        Some(names) => objects_of(names.objects, names.class),
        None => format!("{}{}", subject(suspect), filled(suspect)),
    };
    let like = named.map_or(String::new(), |it| {
        format!(", with names like \"{}\"", it.pattern)
    });
    let held = registry.keeper.as_ref().map_or(String::new(), |field| {
        format!(", held by the {} {}", kind_of(field), field.name)
    });
    format!("The {title} ({place}) keep {much}{besides}: {contents}{like}{held}")
}

fn kind_of(field: &OwnField) -> &'static str {
    match field.is_static {
        true => "static field",
        false => "field",
    }
}

/// The field that has the System properties.
const SYSTEM_PROPERTIES: &str = "java.lang.System.props";

/// True of the System properties.
pub(super) fn are_system_properties(suspect: &Suspect) -> bool {
    matches!(&suspect.finding.holder, Holder::Static { field, .. } if field == SYSTEM_PROPERTIES)
}

/// The threads with which the first sentence begins: those of a pool, or of a class of the program.
fn leading_threads(subject: &Subject) -> Option<String> {
    let Subject::Threads {
        name,
        class,
        are_virtual,
    } = subject
    else {
        return None;
    };
    let kind = match are_virtual {
        true => "virtual threads",
        false => "threads",
    };
    match (name, class.as_str()) {
        (Some(name), _) => Some(format!("{kind} \"{name}\"")),
        (None, "java.lang.Thread" | "java.lang.VirtualThread") => None,
        (None, class) => Some(format!("{kind} of class {class}")),
    }
}

/// The field of the program with which the first sentence begins.
pub(super) fn leading_field(suspect: &Suspect) -> Option<&OwnField> {
    match suspect.finding.subject {
        Subject::Object(_)
        | Subject::Alike(_)
        | Subject::Group(_)
        | Subject::ThreadLocals(_)
        | Subject::HiddenClasses(_) => suspect.finding.field.as_ref(),
        Subject::Threads { .. } => None,
    }
}

/// The suspected object or objects.
fn subject(suspect: &Suspect) -> String {
    let number = count(suspect.count);
    let finding = &suspect.finding;
    match &finding.subject {
        Subject::Object(description) if description.is_class => description.to_string(),
        Subject::Object(description) => format!("one {description}"),
        // Members of a group have no common dominator.
        Subject::Group(class) if leading_field(suspect).is_some() => {
            format!("{number} objects of class {class}, which others hold as well")
        }
        Subject::Group(class) => format!("{number} objects of class {class}"),
        Subject::Alike(class) if leading_field(suspect).is_some() => {
            format!("{number} objects of class {class}, held each in the same way")
        }
        Subject::Alike(class) => {
            format!("{number} objects of class {class}, held each in the same way,")
        }
        Subject::ThreadLocals(class) => match &finding.holder {
            Holder::ThreadLocal {
                threads: Some(_), ..
            } => format!("{number} values of ThreadLocals of class {class}"),
            _ if leading_field(suspect).is_some() => {
                format!("{number} values of ThreadLocals of class {class}, held each by its thread")
            }
            _ => format!(
                "{number} values of ThreadLocals of class {class}, held each by its thread,"
            ),
        },
        Subject::HiddenClasses(name) => format!("{number} hidden classes {name}"),
        Subject::Threads {
            name,
            class,
            are_virtual,
        } => threads(&number, name.as_deref(), class, *are_virtual),
    }
}

/// The part of the first sentence on the objects that fill the suspect.
fn filled(suspect: &Suspect) -> String {
    let finding = &suspect.finding;
    let by = match finding.statics.len() {
        0 => String::new(),
        1 => format!(", by the static field {}", list(&finding.statics)),
        _ => format!(", by the static fields {}", list(&finding.statics)),
    };
    let Some(Filling::Objects {
        objects,
        class,
        within,
        references,
        ..
    }) = &finding.filling
    else {
        return by;
    };
    let mut text = format!("{by}, filled with {}", objects_of(*objects, class));
    let of_class = references.as_ref().filter(|it| it.class == *class);
    if of_class.is_some_and(References::are_cleared) {
        text.push_str(" whose referents are gone");
    }
    if let Some(Within { objects, class }) = within {
        let verb = match finding.filling {
            Some(Filling::Objects { objects: 1, .. }) => "holds",
            _ => "hold",
        };
        text.push_str(&match objects {
            Some(objects) => format!(", which {verb} {}", objects_of(*objects, class)),
            None => format!(", which {verb} objects of class {class}"),
        });
    }
    text
}

/// The part of the first sentence on references that wait in a queue: what they hold, and who has to take them out.
fn waiting(suspect: &Suspect) -> String {
    let finding = &suspect.finding;
    let Some(waiting) = &finding.waiting else {
        return String::new();
    };
    let is_held_said = matches!(
        finding.filling,
        Some(Filling::Objects {
            within: Some(_),
            ..
        })
    );
    let held = match &waiting.held {
        Some(Within {
            objects: Some(objects),
            class,
        }) if !is_held_said => format!(", which hold {}", objects_of(*objects, class)),
        _ => String::new(),
    };
    // What a suspect is named by says that it is a queue.
    let leading = leading_field(suspect).map(|it| &it.name);
    let field = waiting.field.as_ref();
    let field = field.filter(|it| leading != Some(&it.name));
    let by = match (&waiting.thread, field) {
        (Some(thread), _) => format!(", and wait in a queue for the thread \"{}\"", thread.name),
        (None, Some(field)) => {
            format!(
                ", and wait in the queue of the {} {}",
                kind_of(field),
                field.name
            )
        }
        (None, None) => String::new(),
    };
    format!("{held}{by}")
}

fn objects_of(objects: u64, class: &str) -> String {
    match objects {
        1 => format!("1 object of class {class}"),
        many => format!("{} objects of class {class}", count(many)),
    }
}

/// Threads by number; what the first sentence begins with is left out.
fn threads(number: &str, name: Option<&str>, class: &str, are_virtual: bool) -> String {
    let kind = match are_virtual {
        true => "virtual threads",
        false => "threads",
    };
    match (name, class) {
        (_, "java.lang.Thread" | "java.lang.VirtualThread") | (None, _) => {
            format!("{number} {kind}")
        }
        (Some(_), class) => format!("{number} {kind} of class {class}"),
    }
}

/// The end of the first sentence: who holds the suspect.
pub(super) fn held(suspect: &Suspect) -> String {
    let root = &suspect.path.root;
    if suspect.finding.is_class() {
        // A class lives as long as its loader, whatever else refers to it.
        return String::new();
    }
    let leading = leading_field(suspect);
    match &suspect.finding.holder {
        Holder::None => String::new(),
        Holder::ThreadLocal { variable, threads } => {
            let threads = threads.as_ref();
            let threads = threads.map_or(String::new(), |it| format!(", in threads \"{it}\""));
            let variable = variable.as_ref().filter(|_| leading.is_none());
            let variable = variable.map_or(String::new(), |it| {
                format!(", by the {} {}", kind_of(it), it.name)
            });
            let by = match &suspect.finding.subject {
                Subject::Object(_) => format!(", held by the {root} in a ThreadLocal"),
                _ => String::new(),
            };
            format!("{by}{threads}{variable}")
        }
        Holder::Static { field, .. } if leading.is_some_and(|it| it.name == *field) => {
            String::new()
        }
        Holder::Static { field, .. } => match &suspect.finding.field {
            Some(own) if leading.is_none() && own.name != *field => {
                format!(
                    ", held by the static field {field} through the field {}",
                    own.name
                )
            }
            _ => format!(", held by the static field {field}"),
        },
        Holder::Root {
            local: Some(local), ..
        } => format!(", held by the {root} ({local})"),
        // A class of the program is its own root.
        Holder::Root { local: None, .. } if suspect.path.steps.len() < 2 => String::new(),
        // A field of the JDK says more than its root.
        Holder::Root { through, .. } => match through.first() {
            Some(field) if suspect.finding.field.is_none() => {
                format!(", held by the {root} through the field {field}")
            }
            _ => format!(", held by the {root}"),
        },
        Holder::Threads {
            local: Some(local), ..
        } => format!(", mostly by a {local}"),
        Holder::Threads {
            field: Some(field), ..
        } => format!(", mostly by the field {field}"),
        Holder::Threads { .. } => String::new(),
    }
}
