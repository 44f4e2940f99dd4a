//! The next step after a suspect is known.

use hprof_analysis::leaks::{Filling, Holder, References, Subject, Suspect, Waiting};

use super::headline::are_system_properties;

/// One step that leads from a suspect to its repair, as a sentence.
pub(super) fn next_step(suspect: &Suspect) -> String {
    let finding = &suspect.finding;
    match (&finding.subject, &finding.holder) {
        (Subject::ThreadLocals(_), Holder::ThreadLocal { variable, .. }) => {
            let variable = variable.as_ref().map_or("the ThreadLocal", |it| &it.name);
            format!("Next: call remove() of {variable} at the end of each task.")
        }
        (Subject::HiddenClasses(name), _) => {
            format!("Next: find the code that defines {name} again and again, and keep one class.")
        }
        (_, Holder::Threads { method, .. }) => match method {
            Some(method) => format!("Next: read {method}: the threads keep this until it returns."),
            None => "Next: find the code that starts these threads, and end those that wait for nothing."
                .to_owned(),
        },
        _ => match (&finding.waiting, &finding.field) {
            (Some(waiting), _) => polled(waiting),
            (None, Some(field)) => through_field(suspect, &field.name),
            (None, None) => without_field(suspect),
        },
    }
}

/// The step for references that wait in a queue.
fn polled(waiting: &Waiting) -> String {
    let queue = waiting.field.as_ref();
    let queue = queue.map_or("the queue", |field| &field.name);
    match &waiting.thread {
        Some(thread) => format!(
            "Next: find out why the thread \"{}\" does not take the references out of the queue.",
            thread.name
        ),
        None => {
            format!("Next: let a thread poll {queue}, and drop what it finds there.")
        }
    }
}

/// The step for a suspect that a field of the program holds.
fn through_field(suspect: &Suspect, field: &str) -> String {
    if suspect.finding.is_soft {
        return format!("Next: give {field} a bound if the collector often has to free this.");
    }
    let Some(Filling::Objects {
        objects,
        class,
        are_loaders,
        copies,
        references,
        ..
    }) = &suspect.finding.filling
    else {
        return format!("Next: search the code for {field}, and see what makes it this large.");
    };
    if references.as_ref().is_some_and(References::are_cleared) {
        return format!(
            "Next: take entries out of {field} when their referents are gone, which a ReferenceQueue tells."
        );
    }
    if *are_loaders || copies.is_some() {
        return format!(
            "Next: take out of {field} what belongs to class loaders that are no longer used."
        );
    }
    match objects {
        1 => format!("Next: search the code for {field}, and see what makes it this large."),
        _ => format!(
            "Next: search the code for {field}: what adds objects of class {class} has to remove them, too."
        ),
    }
}

/// The step for a suspect on whose path no field of the program is.
fn without_field(suspect: &Suspect) -> String {
    if are_system_properties(suspect) {
        return "Next: find the code that calls System.setProperty with such keys.".to_owned();
    }
    if let Some(registry) = &suspect.finding.registry {
        let call = registry.call;
        return format!("Next: find the code that calls {call}, and undo it there.");
    }
    match &suspect.finding.holder {
        Holder::Root {
            local: Some(local), ..
        } => format!("Next: see whether the {local} needs all of this while its method runs."),
        Holder::Static { field, .. } => {
            format!(
                "Next: find the code of the program that registers objects in {field}, and undo it there."
            )
        }
        _ => format!(
            "Next: hprof-rs paths FILE {} shows all that holds it.",
            suspect.accumulation_id
        ),
    }
}
