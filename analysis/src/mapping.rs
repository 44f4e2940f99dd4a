//! Original names of programs that R8 or ProGuard has shortened.
//!
//! The format is that of `mapping.txt` as the manual of ProGuard describes it ("ReTrace"): a line
//! `original.Class -> short.Name:` for each class, and indented below it `type name -> short` for
//! fields, `from:to:type name(arguments) -> short` for methods with the lines they have.

use hprof_format::model::Line;
use rustc_hash::FxHashMap;

use crate::snapshot::Snapshot;
use crate::stacks::Frame;

/// The names of a mapping file.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// By short name.
    classes: FxHashMap<String, ClassNames>,
}

/// The names of a class and its members.
#[derive(Debug, Clone, Default)]
struct ClassNames {
    original: String,
    fields: FxHashMap<String, String>,
    methods: FxHashMap<String, Vec<Method>>,
}

/// A method; several may have one short name.
#[derive(Debug, Clone)]
struct Method {
    name: String,
    lines: Option<(u32, u32)>,
}

impl Mapping {
    /// Reads a mapping file. Lines that are none of a mapping are skipped.
    pub fn parse(text: &str) -> Self {
        let mut mapping = Self::default();
        let mut class = None;
        for line in text.lines() {
            let Some((left, right)) = line.split_once(" -> ") else {
                continue;
            };
            let (name, short) = (left.trim(), right.trim());
            if name.starts_with('#') {
                continue;
            }
            if line.starts_with(char::is_whitespace) {
                let class: Option<&mut ClassNames> = class
                    .as_ref()
                    .and_then(|class| mapping.classes.get_mut(class));
                if let Some(class) = class {
                    class.add_member(name, short);
                }
            } else if let Some(short) = short.strip_suffix(':') {
                let names = ClassNames {
                    original: name.to_owned(),
                    ..ClassNames::default()
                };
                mapping.classes.insert(short.to_owned(), names);
                class = Some(short.to_owned());
            }
        }
        mapping
    }

    /// True if it names no class.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The original name of a class, of an array's elements too.
    pub fn class<'a>(&'a self, short: &'a str) -> Option<String> {
        let element = short.trim_end_matches("[]");
        let names = self.classes.get(element)?;
        Some(format!("{}{}", names.original, &short[element.len()..]))
    }

    /// The original name of a field that a class declares, by the short name of both.
    pub fn field(&self, class: &str, field: &str) -> Option<&str> {
        let names = self.classes.get(class)?;
        names.fields.get(field).map(String::as_str)
    }

    /// The original name of a method, by the short name of class and method; of several the one
    /// that has the line.
    pub fn method(&self, class: &str, method: &str, line: Option<u32>) -> Option<&str> {
        let methods = self.classes.get(class)?.methods.get(method)?;
        let has_line = |method: &&Method| {
            let lines = method.lines.zip(line);
            lines.is_some_and(|((first, last), line)| (first..=last).contains(&line))
        };
        let found = methods.iter().find(has_line).or(methods.first())?;
        Some(&found.name)
    }
}

impl ClassNames {
    fn add_member(&mut self, left: &str, short: &str) {
        let Some((head, _)) = left.split_once('(') else {
            if let Some((_, name)) = left.rsplit_once(' ') {
                self.fields.insert(short.to_owned(), name.to_owned());
            }
            return;
        };
        let mut parts = head.splitn(3, ':');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let lines = number().zip(number());
        let Some((_, name)) = head.rsplit_once(' ') else {
            return;
        };
        let name = name.to_owned();
        let methods = self.methods.entry(short.to_owned()).or_default();
        methods.push(Method { name, lines });
    }
}

impl Snapshot {
    /// Gives classes, fields and methods their original names.
    pub fn rename(&mut self, mapping: &Mapping) {
        self.collections = Default::default();
        self.graph.classes.change(|class| {
            for field in &mut class.fields {
                if let Some(name) = mapping.field(&class.name, &field.name) {
                    field.name = name.to_owned();
                }
            }
            for field in &mut class.statics {
                if let Some(name) = mapping.field(&class.name, &field.name) {
                    field.name = name.to_owned();
                }
            }
            if let Some(name) = mapping.class(&class.name) {
                class.name = name;
            }
        });
        self.contents.stacks.change_frames(|frame: &mut Frame| {
            let line = match frame.line {
                Line::Number(line) => Some(line),
                _ => None,
            };
            let class = frame.class_name.clone();
            if let Some(name) = mapping.method(&class, &frame.method, line) {
                frame.method = name.into();
            }
            if let Some(name) = mapping.class(&class) {
                frame.class_name = name.into();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# compiler: R8
com.example.leak.Cache -> a.b:
# {\"id\":\"sourceFile\",\"fileName\":\"Cache.java\"}
    java.util.Map entries -> c
    1:3:void put(java.lang.String,java.lang.Object):10:12 -> a
    4:9:int com.example.Other.size():20 -> a
    void clear() -> d
com.example.Main -> com.example.Main:
";

    #[test]
    fn names_are_found_by_their_short_form() {
        let mapping = Mapping::parse(TEXT);
        assert_eq!(
            mapping.class("a.b").as_deref(),
            Some("com.example.leak.Cache")
        );
        assert_eq!(
            mapping.class("a.b[][]").as_deref(),
            Some("com.example.leak.Cache[][]")
        );
        assert_eq!(mapping.class("java.lang.String"), None);
        assert_eq!(mapping.field("a.b", "c"), Some("entries"));
        assert_eq!(mapping.method("a.b", "a", Some(2)), Some("put"));
        assert_eq!(
            mapping.method("a.b", "a", Some(5)),
            Some("com.example.Other.size")
        );
        assert_eq!(mapping.method("a.b", "a", None), Some("put"));
        assert_eq!(mapping.method("a.b", "d", Some(7)), Some("clear"));
        assert!(Mapping::parse("no mapping\n -> \n").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\n:>()#.]{0,200}( -> [a-z:]{0,5}\n)?") {
            let mapping = Mapping::parse(&text);
            mapping.class("a");
            mapping.method("a", "a", Some(1));
        }
    }
}
