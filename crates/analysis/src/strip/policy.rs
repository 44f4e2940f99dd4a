//! Which contents stay in a copy, and which arrays hold them.

use hprof_format::binary::{BasicType, IdSize, SubRecord};
use hprof_format::ids::ObjectId;
use hprof_format::reader::Event;
use rustc_hash::FxHashMap;

use super::form::Form;
use super::redact::Detectors;

/// Tells of a class and a field that it declares, by name, whether the rule is for it.
pub type FieldRule<'a> = &'a (dyn Fn(&str, &str) -> bool + Sync);

/// The class of threads.
const THREAD: &str = "java.lang.Thread";
/// Its field with the name, and that of thread groups.
const NAME: &str = "name";

/// The stack of a virtual thread that does not run.
const STACK_CHUNK: &str = "jdk.internal.vm.StackChunk";

/// The contents that stay in a copy. Without rules none do but numbers in fields.
#[derive(Clone, Copy, Default)]
pub struct StripPolicy<'a> {
    /// Fields of primitive types are emptied too.
    pub empties_fields: bool,
    /// The contents of all strings stay.
    pub keeps_strings: bool,
    /// All contents stay but what goes by other rules.
    pub keeps_all: bool,
    /// Fields whose value stays: a number, or the contents of the string or primitive array that it
    /// refers to.
    pub keeps: Option<FieldRule<'a>>,
    /// Fields whose value goes, also if strings stay. The class is that of the object, or declares the field.
    /// A string or array that one such field refers to goes, whatever else refers to it.
    pub drops: Option<FieldRule<'a>>,
    /// Detectors whose finds are overwritten in contents that stay.
    pub detectors: Option<&'a Detectors>,
    /// The reader that the copy is for.
    pub form: Form,
    /// Android bitmaps with equal pixels refer to one buffer.
    pub shares_bitmaps: bool,
    /// The names of threads and thread groups.
    pub threads: ThreadNames,
}

/// The treatment of the names of threads and thread groups: of those in records of started threads, and
/// of the strings that threads and groups in the heap refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadNames {
    /// As the field `java.lang.Thread.name`: they stay if its text stays. Otherwise records get numbers.
    #[default]
    AsField,
    /// They stay.
    Keep,
    /// Records have `thread-1`, `thread-group-1`, in the order of the file; the strings in the heap go.
    Number,
    /// Records have asterisks, and the strings in the heap go.
    Remove,
}

impl std::fmt::Debug for StripPolicy<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StripPolicy")
            .field("empties_fields", &self.empties_fields)
            .field("keeps_strings", &self.keeps_strings)
            .field("keeps_all", &self.keeps_all)
            .field("has_keeps", &self.keeps.is_some())
            .field("has_drops", &self.drops.is_some())
            .field("has_detectors", &self.detectors.is_some())
            .field("form", &self.form)
            .field("shares_bitmaps", &self.shares_bitmaps)
            .field("threads", &self.threads)
            .finish()
    }
}

impl StripPolicy<'_> {
    /// True if names of classes and fields decide.
    pub(super) fn has_rules(&self) -> bool {
        self.keeps.is_some() || self.drops.is_some() || self.threads != ThreadNames::AsField
    }

    /// True if the arrays whose elements stay have to be looked for.
    pub(super) fn keeps_arrays(&self) -> bool {
        let goes = matches!(self.threads, ThreadNames::Number | ThreadNames::Remove);
        self.keeps_strings
            || self.keeps.is_some()
            || self.threads == ThreadNames::Keep
            || self.keeps_all && (self.drops.is_some() || goes)
    }

    /// The treatment of the names in records of started threads; never [`ThreadNames::AsField`].
    pub(super) fn thread_records(&self) -> ThreadNames {
        let is_meant = |rule: Option<FieldRule<'_>>| rule.is_some_and(|it| it(THREAD, NAME));
        match self.threads {
            ThreadNames::AsField if is_meant(self.keeps) => ThreadNames::Keep,
            ThreadNames::AsField if is_meant(self.drops) => ThreadNames::Number,
            ThreadNames::AsField if self.keeps_strings || self.keeps_all => ThreadNames::Keep,
            ThreadNames::AsField => ThreadNames::Number,
            said => said,
        }
    }

    /// True of the field with the size of a virtual thread's stack, which stays: no program writes it, and
    /// the size of the object follows from it.
    pub(super) fn is_size(declaring: &str, field: &str) -> bool {
        field == "size" && declaring == STACK_CHUNK
    }

    /// True of a text that [`Self::is_size`] looks at, as the file has it.
    pub(super) fn is_of_size(text: &str) -> bool {
        text == "size" || text.replace('/', ".") == STACK_CHUNK
    }

    /// True for a field with the name of a thread or group, if the policy for these decides and not
    /// the rules for fields.
    pub(super) fn decides_as_thread_name(&self, declaring: &str, field: &str) -> bool {
        self.threads != ThreadNames::AsField
            && field == NAME
            && matches!(declaring, THREAD | "java.lang.ThreadGroup")
    }
}

/// The rule for the value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// That for all fields.
    Common,
    /// It stays.
    Keep,
    /// It goes.
    Drop,
}

/// A field of an instance, and where its value lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedRule {
    /// Where the value begins, from the first value of the instance.
    pub at: usize,
    /// Its type.
    pub basic_type: BasicType,
    /// The rule for it.
    pub rule: Rule,
    /// True for the array of a string's characters.
    pub is_text: bool,
}

/// The arrays whose elements stay.
#[derive(Debug, Default)]
pub(super) struct KeptArrays {
    /// Arrays that stay, in order.
    kept: Vec<u64>,
    /// Arrays that go where all others stay, in order.
    dropped: Vec<u64>,
}

impl KeptArrays {
    pub(super) fn contains(&self, array: u64) -> bool {
        self.kept.binary_search(&array).is_ok()
    }

    /// True for an array that goes where all others stay.
    pub(super) fn drops(&self, array: u64) -> bool {
        self.dropped.binary_search(&array).is_ok()
    }
}

/// Collects the arrays whose elements stay, by a pass over all instances.
#[derive(Debug, Default)]
pub(super) struct ArraySearch {
    keeps_strings: bool,
    /// Strings with their arrays.
    texts: Vec<(u64, u64)>,
    /// Strings and arrays that stay.
    wanted: Vec<u64>,
    /// Strings and arrays that go.
    unwanted: Vec<u64>,
    /// The fields that matter, of classes that instances were seen of.
    fields: FxHashMap<ObjectId, Vec<PlacedRule>>,
}

impl ArraySearch {
    pub(super) fn new(policy: &StripPolicy<'_>) -> Self {
        Self {
            keeps_strings: policy.keeps_strings,
            ..Self::default()
        }
    }

    /// Looks at an event of a file. `fields_of` gives all fields of a class with its rules.
    pub(super) fn see(
        &mut self,
        event: &Event<'_>,
        id_size: IdSize,
        fields_of: impl Fn(ObjectId) -> Vec<PlacedRule>,
    ) {
        let Event::SubRecord {
            sub_record:
                SubRecord::Instance {
                    object,
                    class,
                    values,
                    ..
                },
            ..
        } = event
        else {
            return;
        };
        let fields = self.fields.entry(*class).or_insert_with(|| {
            let mut fields = fields_of(*class);
            fields.retain(|field| {
                field.basic_type == BasicType::Object
                    && (field.is_text || field.rule != Rule::Common)
            });
            fields
        });
        for field in fields {
            let bytes = values.get(field.at..field.at + id_size.bytes());
            let Some(value) = bytes.map(super::shapes::number).filter(|&it| it != 0) else {
                continue;
            };
            if field.is_text {
                self.texts.push((object.get(), value));
            }
            match field.rule {
                Rule::Keep => self.wanted.push(value),
                Rule::Drop => self.unwanted.push(value),
                Rule::Common => {}
            }
        }
    }

    /// Notes the value of a static field, a reference.
    pub(super) fn see_static(&mut self, value: u64, rule: Rule) {
        match rule {
            Rule::Keep => self.wanted.push(value),
            Rule::Drop => self.unwanted.push(value),
            Rule::Common => {}
        }
    }

    /// The arrays that stay, once all instances were seen.
    pub(super) fn end(mut self) -> KeptArrays {
        self.texts.sort_unstable();
        let mut wanted = with_texts(self.wanted, &self.texts);
        if self.keeps_strings {
            wanted.extend(self.texts.iter().map(|text| text.1));
        }
        let unwanted = with_texts(self.unwanted, &self.texts);
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|array| unwanted.binary_search(array).is_err());
        KeptArrays {
            kept: wanted,
            dropped: unwanted,
        }
    }
}

/// Strings and arrays, with the arrays of the strings, in order.
fn with_texts(mut found: Vec<u64>, texts: &[(u64, u64)]) -> Vec<u64> {
    found.sort_unstable();
    found.dedup();
    let array = |string: &u64| {
        let at = texts.binary_search_by_key(string, |text| text.0).ok()?;
        Some(texts[at].1)
    };
    let arrays: Vec<u64> = found.iter().filter_map(array).collect();
    found.extend(arrays);
    found.sort_unstable();
    found
}
