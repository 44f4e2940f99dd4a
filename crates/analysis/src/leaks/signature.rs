//! A name for a suspect that is equal in all dumps of a program.

use super::finding::{Finding, Holder, Subject};
use crate::names::family;

impl Finding {
    /// True if the subject is a class.
    pub fn is_class(&self) -> bool {
        matches!(&self.subject, Subject::Object(description) if description.is_class)
    }

    /// The class of the subject, or of its objects.
    pub fn class(&self) -> &str {
        match &self.subject {
            Subject::Object(description) => &description.class,
            Subject::Group(class)
            | Subject::Alike(class)
            | Subject::ThreadLocals(class)
            | Subject::HiddenClasses(class)
            | Subject::Threads { class, .. } => class,
        }
    }

    /// The suspect by its class and by the classes and fields that hold it, such as
    /// `java.util.HashMap in com.example.Cache.ENTRIES`: equal for equal suspects of different
    /// dumps and builds. It has no identifiers, sizes or texts of the program, and class names
    /// without what differs from run to run.
    pub fn signature(&self) -> String {
        let class = family(self.class());
        let kind = match self.subject {
            Subject::Object(_) => "",
            Subject::Group(_) | Subject::Alike(_) | Subject::Threads { .. } => "many ",
            Subject::ThreadLocals(_) => "values of ",
            Subject::HiddenClasses(_) => "hidden classes ",
        };
        let mut text = format!("{kind}{class}");
        let through = match &self.holder {
            Holder::None => return text,
            Holder::ThreadLocal { variable, .. } => {
                text.push_str(" in a ThreadLocal");
                if let Some(variable) = variable {
                    text.push_str(&format!(" of {}", stable(&variable.name)));
                }
                return text;
            }
            Holder::Static { field, through } => {
                text.push_str(&format!(" in {}", stable(field)));
                through
            }
            Holder::Root { local, through } => {
                text.push_str(match local {
                    Some(_) => " in a stack",
                    None => " in a root",
                });
                through
            }
            Holder::Threads { local, through, .. } => {
                text.push_str(match local {
                    Some(_) => " by their stacks",
                    None => " by their fields",
                });
                through
            }
        };
        let mut last = String::new();
        for field in through {
            let field = stable(field);
            // A list is as long as it is.
            if field != last {
                text.push_str(&format!(", {field}"));
                last = field;
            }
        }
        text
    }
}

/// A field as `Class.field`, without what differs in the class's name from run to run.
fn stable(field: &str) -> String {
    let (class, name) = field.rsplit_once('.').unwrap_or(("", field));
    format!("{}.{name}", family(class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Description;

    fn finding(subject: Subject, holder: Holder) -> Finding {
        Finding {
            subject,
            is_rest: false,
            holder,
            field: None,
            statics: Vec::new(),
            filling: None,
            looked_at: None,
            direct: None,
            keys: Vec::new(),
            registry: None,
            waiting: None,
            is_soft: false,
        }
    }

    #[test]
    fn a_signature_has_no_texts_and_no_lengths_of_lists() {
        let list = |nodes: usize| {
            let through = [
                vec!["a.List.head".to_owned()],
                vec!["a.Node.next".to_owned(); nodes],
            ];
            Holder::Static {
                field: "a.Cache.ALL".to_owned(),
                through: through.concat(),
            }
        };
        let of = |text: &str, nodes| {
            let subject = Subject::Object(Description {
                class: "a.Entry".to_owned(),
                is_class: false,
                detail: Some(text.to_owned()),
            });
            finding(subject, list(nodes)).signature()
        };
        let expected = "a.Entry in a.Cache.ALL, a.List.head, a.Node.next";
        assert_eq!(of("\"secret\"", 3), expected);
        assert_eq!(of("with 7 entries", 9), expected);
    }

    #[test]
    fn suspects_that_are_held_otherwise_differ() {
        let group = || Subject::Group("a.Row".to_owned());
        let local = Holder::Root {
            local: Some("local variable in A.run(A.java:1)".to_owned()),
            through: Vec::new(),
        };
        let all = [
            finding(group(), Holder::None),
            finding(
                group(),
                Holder::ThreadLocal {
                    variable: None,
                    threads: None,
                },
            ),
            finding(group(), local),
            finding(
                Subject::Object(Description {
                    class: "a.Row".to_owned(),
                    is_class: true,
                    detail: None,
                }),
                Holder::None,
            ),
        ];
        let signatures = all.map(|finding| finding.signature());
        let expected = [
            "many a.Row",
            "many a.Row in a ThreadLocal",
            "many a.Row in a stack",
            "a.Row",
        ];
        assert_eq!(signatures, expected);
    }
}
