//! Strings and class names of a file.

use std::borrow::Cow;

use hprof_format::binary::mutf8;
use hprof_format::ids::{ClassSerial, ObjectId, StringId};
pub use hprof_java_names::source_form;
pub use hprof_stacks::family;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::heap::is_stack_chunk;

/// The strings and classes that a binary file names.
#[derive(Debug, Clone, Default)]
pub struct Names {
    strings: FxHashMap<StringId, Box<[u8]>>,
    classes: FxHashMap<ObjectId, StringId>,
    serials: FxHashMap<ClassSerial, (ObjectId, StringId)>,
    stack_chunk: Option<StringId>,
    stack_chunks: Option<ObjectId>,
    android: Option<StringId>,
    has_android: bool,
    /// Names of classes, in the form of Java source, that stand for those of the file.
    renamed: FxHashMap<StringId, Box<str>>,
}

/// A class that the VMs of Android have and no other.
const OF_ANDROID: [&[u8]; 2] = [b"dalvik/system/VMRuntime", b"dalvik.system.VMRuntime"];

impl Names {
    /// Adds a string in modified UTF-8. If an identifier comes twice, the first string stays.
    pub fn add_string(&mut self, id: StringId, bytes: &[u8]) {
        if is_stack_chunk(bytes) {
            self.stack_chunk = Some(id);
        }
        if OF_ANDROID.contains(&bytes) {
            self.android = Some(id);
        }
        self.strings.entry(id).or_insert_with(|| bytes.into());
    }

    /// The strings that begin with this text, in the order of their identifiers.
    pub fn strings_with_start(&self, start: &str) -> Vec<String> {
        let strings = self.strings.iter();
        let mut found: Vec<_> = strings
            .filter(|(_, bytes)| bytes.starts_with(start.as_bytes()))
            .map(|(&id, bytes)| (id, mutf8::decode(bytes).into_owned()))
            .collect();
        found.sort_unstable_by_key(|&(id, _)| id);
        found.into_iter().map(|(_, text)| text).collect()
    }

    /// Adds a class. HotSpot repeats array classes, with a new serial each time.
    pub fn add_class(&mut self, serial: ClassSerial, class: ObjectId, name: StringId) {
        if self.stack_chunk == Some(name) {
            self.stack_chunks = Some(class);
        }
        self.has_android |= self.android == Some(name);
        self.classes.entry(class).or_insert(name);
        self.serials.entry(serial).or_insert((class, name));
    }

    /// The class of the stacks of virtual threads, whose objects are larger than their fields.
    pub fn stack_chunks(&self) -> Option<ObjectId> {
        self.stack_chunks
    }

    /// True if there is a class that only the VMs of Android have.
    pub(crate) fn has_class_of_android(&self) -> bool {
        self.has_android
    }

    /// The identifiers of all classes, these too, in order. Those that are loaded but not linked
    /// yet have no class dump.
    pub(crate) fn all_classes(&self, dumped: impl Iterator<Item = ObjectId>) -> Vec<u64> {
        let known = self.classes.keys().copied();
        let mut classes: Vec<u64> = known.chain(dumped).map(|class| class.get()).collect();
        classes.sort_unstable();
        classes
    }

    /// True if the file says of an identifier that it is a loaded class.
    pub(crate) fn is_class(&self, class: ObjectId) -> bool {
        self.classes.contains_key(&class)
    }

    /// The names of loaded classes for which `is_dumped` does not hold and that share their name with one
    /// for which it does, as Java source has them, in order.
    ///
    /// Where a class is redefined, HotSpot keeps its old version as a class of its own, which it lists among the
    /// loaded classes and roots (`ClassLoaderData::classes_do`) but does not dump, as it is not linked.
    pub fn old_versions(&self, is_dumped: impl Fn(ObjectId) -> bool) -> Vec<String> {
        let (dumped, old): (Vec<_>, Vec<_>) =
            (self.classes.iter()).partition(|(class, _)| is_dumped(**class));
        let dumped: FxHashSet<StringId> = dumped.into_iter().map(|(_, &name)| name).collect();
        let old = old.into_iter().filter(|(_, name)| dumped.contains(*name));
        let mut names: Vec<String> = old.filter_map(|(_, &name)| self.class_name(name)).collect();
        names.sort_unstable();
        names
    }

    /// The number of strings.
    pub fn string_count(&self) -> usize {
        self.strings.len()
    }

    /// The number of classes.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// A string, decoded leniently; `None` if the file lacks it.
    pub fn string(&self, id: StringId) -> Option<Cow<'_, str>> {
        self.strings.get(&id).map(|bytes| mutf8::decode(bytes))
    }

    /// True if a string is this one, which must be ASCII.
    pub fn string_is(&self, id: StringId, wanted: &str) -> bool {
        self.strings
            .get(&id)
            .is_some_and(|bytes| **bytes == *wanted.as_bytes())
    }

    /// True if a class has this name, ASCII and in the form of class files (`java/lang/Class`) or
    /// of Java source.
    pub fn class_is(&self, class: ObjectId, wanted: &str) -> bool {
        let name = self.classes.get(&class);
        let name = name.and_then(|name| self.strings.get(name));
        name.is_some_and(|name| {
            name.len() == wanted.len()
                && name
                    .iter()
                    .zip(wanted.bytes())
                    .all(|(&found, wanted)| found == wanted || (found == b'.' && wanted == b'/'))
        })
    }

    /// The name of a class as Java source has it.
    pub fn class(&self, class: ObjectId) -> Option<String> {
        self.class_name(*self.classes.get(&class)?)
    }

    /// The name of a class as Java source has it, by the class's serial.
    pub fn class_of_serial(&self, serial: ClassSerial) -> Option<String> {
        let (_, name) = self.serials.get(&serial)?;
        self.class_name(*name)
    }

    fn class_name(&self, name: StringId) -> Option<String> {
        if let Some(renamed) = self.renamed.get(&name) {
            return Some(renamed.to_string());
        }
        Some(source_form(&self.string(name)?))
    }

    /// Gives classes other names, for those that `rename` knows one of. The strings stay as they are, as
    /// fields may have the same name.
    pub(crate) fn rename_classes(&mut self, rename: impl Fn(&str) -> Option<String>) {
        let serials = self.serials.values().map(|&(_, name)| name);
        let names: Vec<StringId> = self.classes.values().copied().chain(serials).collect();
        for name in names {
            let known = self.class_name(name);
            if let Some(renamed) = known.and_then(|known| rename(&known)) {
                self.renamed.entry(name).or_insert(renamed.into());
            }
        }
    }

    /// The class object with a serial.
    pub fn class_object(&self, serial: ClassSerial) -> Option<ObjectId> {
        self.serials.get(&serial).map(|&(class, _)| class)
    }
}

/// The package of a class name in source form; `(none)` for primitives and the unnamed package.
pub fn package(name: &str) -> &str {
    // Behind the address of a hidden class no dot is to be looked for.
    let end = family(name).trim_end_matches("[]").len();
    let class = name.get(..end).unwrap_or(name);
    class
        .rsplit_once('.')
        .map_or("(none)", |(package, _)| package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_all_producers_look_alike() {
        for (name, source) in [
            ("java/lang/String", "java.lang.String"),
            ("java.lang.String", "java.lang.String"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[I", "int[][]"),
            ("int[]", "int[]"),
            ("[Q", "[Q"),
            ("[", "["),
            ("", ""),
            ("App$$Lambda$14/0x0800", "App$$Lambda$14/0x0800"),
            ("a/App$$Lambda+0x0800", "a.App$$Lambda+0x0800"),
            ("[La/B$$Lambda/0x08;", "a.B$$Lambda/0x08[]"),
        ] {
            assert_eq!(source_form(name), source);
        }
    }

    #[test]
    fn packages_are_told() {
        assert_eq!(package("a.b.C$D[]"), "a.b");
        assert_eq!(package("int[]"), "(none)");
        assert_eq!(package("a.B/0x08.1"), "a");
    }

    proptest! {
        #[test]
        fn any_name_has_a_form(name in "\\PC{0,20}|[\\[LIJ;/.$0x+]{0,12}") {
            let source = source_form(&name);
            let _ = (family(&source), package(&source));
        }
    }
}
