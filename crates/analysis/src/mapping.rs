//! Original names of programs that R8 or ProGuard has shortened.
//!
//! The format is that of `mapping.txt` as the manual of ProGuard describes it ("ReTrace"): a line
//! `original.Class -> short.Name:` for each class, and indented below it `type name -> short` for
//! fields, `from:to:type name(arguments):from:to -> short` for methods, with the lines that they have in the
//! program and those that they had in the source. Lines with the same lines in the program are one method,
//! innermost first, into which others were inlined. R8 adds remarks in JSON, of which those on source files and
//! made-up methods count (R8, "Retrace").

use hprof_format::model::Line;
use rustc_hash::FxHashMap;

use crate::contents::Contents;
use crate::snapshot::Snapshot;
use crate::stacks::Frame;

/// The most methods that a frame stands for.
const MAX_INLINED: usize = 32;

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
    source_file: Option<String>,
    fields: FxHashMap<String, String>,
    methods: FxHashMap<String, Vec<Method>>,
}

/// A method; several may have one short name.
#[derive(Debug, Clone)]
struct Method {
    /// The class, if it is another one.
    class: Option<String>,
    name: String,
    /// The lines in the program.
    lines: Option<(u32, u32)>,
    /// The first line in the source, and the last one if there are several.
    source: Option<(u32, Option<u32>)>,
    /// True for one that no source has.
    is_made: bool,
}

/// A line of the mapping that remarks belong to.
#[derive(Debug, Clone)]
enum Last {
    Nothing,
    Class,
    /// A method, by its short name.
    Method(String),
}

impl Mapping {
    /// Reads a mapping file. Lines that are none of a mapping are skipped.
    pub fn parse(text: &str) -> Self {
        let mut mapping = Self::default();
        let mut class = None;
        let mut last = Last::Nothing;
        for line in text.lines() {
            let mut known =
                (class.as_ref()).and_then(|class: &String| mapping.classes.get_mut(class));
            if let Some(remark) = line.trim_start().strip_prefix('#') {
                if let Some(class) = &mut known {
                    class.remark(remark, &last);
                }
                continue;
            }
            let Some((left, right)) = line.split_once(" -> ") else {
                continue;
            };
            let (name, short) = (left.trim(), right.trim());
            if line.starts_with(char::is_whitespace) {
                if let Some(class) = known {
                    last = class.add_member(name, short);
                }
            } else if let Some(short) = short.strip_suffix(':') {
                let names = ClassNames {
                    original: name.to_owned(),
                    ..ClassNames::default()
                };
                mapping.classes.insert(short.to_owned(), names);
                class = Some(short.to_owned());
                last = Last::Class;
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

    /// The short names of a class and one of its fields, by the original ones.
    pub fn shortened(&self, class: &str, field: &str) -> Option<(String, String)> {
        let mut classes = self.classes.iter();
        let (short, names) = classes.find(|(_, names)| names.original == class)?;
        let mut fields = names.fields.iter();
        let found = fields.find(|(_, original)| *original == field);
        let field = found.map_or(field, |(short, _)| short);
        Some((short.clone(), field.to_owned()))
    }

    /// The methods that a frame stands for, innermost first: several, if R8 has inlined some into another.
    /// It is the frame itself if nothing is known of it.
    pub fn frames(&self, frame: &Frame) -> Vec<Frame> {
        let Some(class) = self.classes.get(&*frame.class_name) else {
            return vec![frame.clone()];
        };
        let methods = class
            .methods
            .get(&*frame.method)
            .map_or(&[][..], Vec::as_slice);
        let line = match frame.line {
            Line::Number(line) => Some(line),
            _ => None,
        };
        let has_line = |method: &&Method| {
            let lines = method.lines.zip(line);
            lines.is_some_and(|((first, last), line)| (first..=last).contains(&line))
        };
        let found = methods.iter().find(has_line).map(|found| found.lines);
        let methods: Vec<&Method> = match found {
            Some(lines) => {
                let of_lines = methods.iter().filter(|method| method.lines == lines);
                of_lines.take(MAX_INLINED).collect()
            }
            None => methods.first().into_iter().collect(),
        };
        let original = |method: Option<&Method>| Frame {
            class_name: (method.and_then(|method| method.class.as_deref()))
                .unwrap_or(&class.original)
                .into(),
            method: method.map_or_else(
                || frame.method.clone(),
                |method| method.name.as_str().into(),
            ),
            source_file: self
                .source_of(class, method)
                .or_else(|| frame.source_file.clone()),
            line: match (found, method.and_then(|method| method.line(line))) {
                (Some(_), Some(line)) => Line::Number(line),
                _ => frame.line,
            },
        };
        let real = methods.iter().filter(|method| !method.is_made);
        let frames: Vec<Frame> = real.map(|method| original(Some(method))).collect();
        match frames.is_empty() {
            true => vec![original(methods.first().copied())],
            false => frames,
        }
    }

    /// The source file of a method, which another class may have.
    fn source_of(&self, class: &ClassNames, method: Option<&Method>) -> Option<Box<str>> {
        match method.and_then(|method| method.class.as_ref()) {
            None => class.source_file.as_deref().map(Into::into),
            Some(_) => None,
        }
    }
}

impl Method {
    /// The line in the source, by that in the program.
    fn line(&self, line: Option<u32>) -> Option<u32> {
        let (source, lines) = (self.source?, self.lines?);
        match source {
            (first, None) => Some(first),
            (first, Some(last)) => {
                let further = line?.saturating_sub(lines.0);
                Some(first.saturating_add(further).min(last))
            }
        }
    }
}

impl ClassNames {
    fn add_member(&mut self, left: &str, short: &str) -> Last {
        let Some((head, tail)) = left.split_once('(') else {
            if let Some((_, name)) = left.rsplit_once(' ') {
                self.fields.insert(short.to_owned(), name.to_owned());
            }
            return Last::Nothing;
        };
        let mut parts = head.splitn(3, ':');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let lines = number().zip(number());
        let Some((_, name)) = head.rsplit_once(' ') else {
            return Last::Nothing;
        };
        let (class, name) = match name.rsplit_once('.') {
            Some((class, name)) => (Some(class.to_owned()), name.to_owned()),
            None => (None, name.to_owned()),
        };
        let source = tail.split_once(')').and_then(|(_, source)| {
            let mut parts = source.strip_prefix(':')?.split(':');
            let first = parts.next()?.trim().parse().ok()?;
            Some((
                first,
                parts.next().and_then(|last| last.trim().parse().ok()),
            ))
        });
        let method = Method {
            class,
            name,
            lines,
            source,
            is_made: false,
        };
        self.methods
            .entry(short.to_owned())
            .or_default()
            .push(method);
        Last::Method(short.to_owned())
    }

    /// Takes a remark of R8 on the class or the last of its methods.
    fn remark(&mut self, remark: &str, last: &Last) {
        let Ok(remark) = serde_json::from_str::<serde_json::Value>(remark.trim()) else {
            return;
        };
        match (remark["id"].as_str(), last) {
            (Some("sourceFile"), _) => {
                self.source_file = remark["fileName"].as_str().map(str::to_owned);
            }
            (Some("com.android.tools.r8.synthesized"), Last::Method(short)) => {
                let methods = self.methods.get_mut(short);
                if let Some(method) = methods.and_then(|methods| methods.last_mut()) {
                    method.is_made = true;
                }
            }
            _ => {}
        }
    }
}

impl Contents {
    /// Gives classes and methods their original names.
    pub fn rename(&mut self, mapping: &Mapping) {
        self.names.rename_classes(|name| mapping.class(name));
        for dump in &mut self.text_dumps {
            let mut classes = std::collections::BTreeMap::new();
            for (name, count) in std::mem::take(&mut dump.classes) {
                let name = mapping.class(&name).map_or(name, Into::into);
                let sum: &mut crate::contents::TextCount = classes.entry(name).or_default();
                sum.objects += count.objects;
                sum.bytes += count.bytes;
            }
            dump.classes = classes;
        }
        if self.dumps.is_empty() {
            self.stacks.expand_frames(|frame| mapping.frames(frame));
            return;
        }
        // Roots name frames of a stack by number, so that none may be added: the method that was called stands
        // for those inlined into it.
        self.stacks.change_frames(|frame: &mut Frame| {
            if let Some(outermost) = mapping.frames(frame).pop() {
                *frame = outermost;
            }
        });
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
        self.contents.rename(mapping);
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
    4:9:void grow():31 -> a
    10:10:void trim():40:40 -> a
      # {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"()V\"}
    11:11:void made():1:1 -> a
      # {\"id\":\"com.android.tools.r8.synthesized\"}
    11:11:void outer():50 -> a
    void clear() -> d
com.example.Main -> com.example.Main:
";

    fn names(class: &str, method: &str, line: Line) -> Vec<String> {
        let frame = Frame {
            class_name: class.into(),
            method: method.into(),
            source_file: Some("SourceFile".into()),
            line,
        };
        let frames = Mapping::parse(TEXT).frames(&frame).into_iter();
        frames
            .map(|frame| format!("{} ({})", frame.name(), frame.place()))
            .collect()
    }

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
        let short = mapping.shortened("com.example.leak.Cache", "entries");
        assert_eq!(short, Some(("a.b".to_owned(), "c".to_owned())));
        assert_eq!(mapping.shortened("a.b", "c"), None);
        assert!(Mapping::parse("no mapping\n -> \n").is_empty());
    }

    #[test]
    fn frames_have_their_methods_and_lines_back() {
        let cache = "com.example.leak.Cache";
        let line = Line::Number;
        for (found, wanted) in [
            (
                names("a.b", "a", line(2)),
                vec![format!("{cache}.put (Cache.java:11)")],
            ),
            (
                names("a.b", "a", line(10)),
                vec![format!("{cache}.trim (Cache.java:40)")],
            ),
            (
                names("a.b", "a", Line::Unknown),
                vec![format!("{cache}.put (Cache.java)")],
            ),
            (
                names("a.b", "d", line(7)),
                vec![format!("{cache}.clear (Cache.java:7)")],
            ),
            (
                names("a.b", "z", line(7)),
                vec![format!("{cache}.z (Cache.java:7)")],
            ),
            (
                names("x.y", "z", line(7)),
                vec!["x.y.z (SourceFile:7)".to_owned()],
            ),
        ] {
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn a_frame_stands_for_the_methods_that_were_inlined_into_it() {
        assert_eq!(
            names("a.b", "a", Line::Number(5)),
            [
                "com.example.Other.size (SourceFile:20)",
                "com.example.leak.Cache.grow (Cache.java:31)",
            ]
        );
        // What no source has is left out.
        assert_eq!(
            names("a.b", "a", Line::Number(11)),
            ["com.example.leak.Cache.outer (Cache.java:50)"]
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\n:>()#.]{0,200}( -> [a-z:]{0,5}\n)?") {
            let mapping = Mapping::parse(&text);
            mapping.class("a");
            for line in [Line::Unknown, Line::Number(1)] {
                let frame = Frame {
                    class_name: "a".into(),
                    method: "a".into(),
                    source_file: None,
                    line,
                };
                proptest::prop_assert!(!mapping.frames(&frame).is_empty());
            }
        }
    }
}
