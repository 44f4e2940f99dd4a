//! The passes before the copy: which strings are names, where references lie in instances, and which
//! arrays keep their elements.

use std::collections::hash_map::Entry;
use std::io::{self, Read};

use hprof_format::binary::{BasicType, ClassDump, IdSize, Record, SubRecord, Value};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::reader::{Event, FileHeader, StreamError, StreamReader, Version};
use rustc_hash::{FxHashMap, FxHashSet};

use super::StripError;
use super::bitmaps::Bitmaps;
use super::form::Form;
use super::policy::{
    ArraySearch, FieldRule, KeptArrays, PlacedRule, Rule, StripPolicy, ThreadNames,
};
use super::redact::Secrets;
use super::shapes::Shapes;
use crate::heap::ClassShape;

/// No class has more super classes than this; in damaged files they may go in circles.
pub(super) const MAX_HIERARCHY: usize = 256;

/// The fate of a string outside of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate<'p> {
    /// It stays, but for secrets in it.
    Stays,
    /// Another text stands for it.
    Becomes(&'p str),
    /// It is blanked.
    Goes,
}

/// The facts about a file that copying needs.
#[derive(Debug)]
pub struct StripPlan<'p> {
    policy: StripPolicy<'p>,
    names: FxHashSet<StringId>,
    shapes: FxHashMap<ObjectId, ClassShape>,
    /// All strings outside of the heap, if names decide.
    texts: FxHashMap<StringId, Box<str>>,
    class_names: FxHashMap<ObjectId, StringId>,
    kept: KeptArrays,
    /// Strings that name threads and their groups, with what may stand for them.
    thread_names: FxHashMap<StringId, String>,
    /// The threads and the groups that have names so far.
    named: [u32; 2],
    secrets: Option<Secrets>,
    bitmaps: Option<Bitmaps>,
    id_size: IdSize,
}

impl<'p> StripPlan<'p> {
    /// Reads a file for the first time; if contents stay, also for the second time. `open` opens it.
    ///
    /// # Errors
    /// If it is no binary HPROF file or reading fails. Damage is no error here.
    pub fn of<R: Read>(
        mut open: impl FnMut() -> io::Result<R>,
        policy: StripPolicy<'p>,
    ) -> Result<Self, StripError> {
        let mut plan = Self {
            policy,
            names: FxHashSet::default(),
            shapes: FxHashMap::default(),
            texts: FxHashMap::default(),
            class_names: FxHashMap::default(),
            kept: KeptArrays::default(),
            thread_names: FxHashMap::default(),
            named: [0; 2],
            secrets: None,
            bitmaps: None,
            id_size: IdSize::Eight,
        };
        let header = each_event(open()?, |event| plan.see(event))?;
        plan.id_size = header.id_size;
        let is_android = header.version == Version::V1_0_3 && plan.id_size == IdSize::Four;
        if policy.form.is_for_android() && !is_android {
            return Err(StripError::NotAndroid);
        }
        if policy.keeps_arrays() {
            let mut search = ArraySearch::new(&policy);
            each_event(open()?, |event| match event {
                Event::SubRecord {
                    sub_record: SubRecord::Class(class),
                    ..
                } => plan.search_statics(class, &mut search),
                event => search.see(event, plan.id_size, |class| {
                    plan.fields(class).unwrap_or_default()
                }),
            })?;
            plan.kept = search.end();
        }
        if policy.detectors.is_some() || policy.shares_bitmaps {
            let shapes = Shapes::of(open()?)?;
            if let Some(detectors) = policy.detectors {
                plan.secrets = Some(Secrets::of(&mut open, &shapes, detectors)?);
            }
            if policy.shares_bitmaps {
                plan.bitmaps = Some(Bitmaps::of(&mut open, &shapes)?);
            }
        }
        Ok(plan)
    }

    fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Record(found) => self.record(&found.record),
            Event::SubRecord {
                sub_record: SubRecord::Class(class),
                ..
            } => {
                self.names.extend(class.statics.iter().map(|it| it.name));
                self.names.extend(class.fields.iter().map(|it| it.name));
                if self.policy.empties_fields || self.looks_at_names() {
                    let shape = ClassShape::new(class);
                    self.shapes.entry(class.class).or_insert(shape);
                }
            }
            Event::SubRecord {
                sub_record: SubRecord::HeapInfo { name, .. },
                ..
            } => {
                self.names.insert(*name);
            }
            _ => {}
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        match *record {
            Record::Utf8 { id, .. } if self.looks_at_names() || self.policy.empties_fields => {
                let text = record.text().unwrap_or_default();
                // Of a large program all names together are many megabytes.
                if self.looks_at_names() || StripPolicy::is_of_size(&text) {
                    self.texts.insert(id, text.into());
                }
            }
            Record::LoadClass { class, name, .. } => {
                self.names.insert(name);
                self.class_names.insert(class, name);
            }
            Record::Frame {
                method,
                signature,
                source_file,
                ..
            } => self.names.extend([method, signature, source_file]),
            Record::StartThread {
                name,
                group,
                parent_group,
                ..
            } => {
                self.number(name, 0, "thread");
                self.number(group, 1, "thread-group");
                self.number(parent_group, 1, "thread-group");
            }
            _ => {}
        }
    }

    /// Gives a name of a thread or group the next number, if it has none.
    fn number(&mut self, name: StringId, kind: usize, word: &str) {
        if let Entry::Vacant(entry) = self.thread_names.entry(name) {
            self.named[kind] += 1;
            entry.insert(format!("{word}-{}", self.named[kind]));
        }
    }

    fn looks_at_names(&self) -> bool {
        self.policy.has_rules() || self.policy.keeps_strings
    }

    fn search_statics(&self, class: &ClassDump<'_>, search: &mut ArraySearch) {
        for field in class.statics.iter() {
            if let Value::Object(object) = field.value {
                let rule = self.rule(class.class, class.class, field.name);
                search.see_static(object.get(), rule);
            }
        }
    }

    /// The width of identifiers.
    pub(super) fn id_size(&self) -> IdSize {
        self.id_size
    }

    /// True if a string names a part of the program.
    pub(super) fn is_name(&self, id: StringId) -> bool {
        self.names.contains(&id)
    }

    /// Returns the fate of a string that names no part of the program.
    pub(super) fn fate(&self, id: StringId) -> Fate<'_> {
        let number = self.thread_names.get(&id);
        match (number, self.policy.thread_records()) {
            (Some(number), ThreadNames::Number) => Fate::Becomes(number),
            (Some(_), ThreadNames::Keep) => Fate::Stays,
            (None, _) if self.policy.keeps_all => Fate::Stays,
            _ => Fate::Goes,
        }
    }

    /// True if an array keeps its elements, but for secrets in it.
    pub(super) fn keeps_array(&self, array: u64) -> bool {
        match self.policy.keeps_all {
            true => !self.kept.drops(array),
            false => self.kept.contains(array),
        }
    }

    /// The form of the copy.
    pub(super) fn form(&self) -> Form {
        self.policy.form
    }

    /// The bitmaps that share buffers in the copy; `None` if that was not asked for.
    pub fn bitmaps(&self) -> Option<&Bitmaps> {
        self.bitmaps.as_ref()
    }

    /// The secrets that the copy is without; `None` without detectors.
    pub fn secrets(&self) -> Option<&Secrets> {
        self.secrets.as_ref()
    }

    /// True if fields of some classes are to be emptied.
    pub(super) fn may_empty_fields(&self) -> bool {
        self.policy.empties_fields || self.policy.drops.is_some()
    }

    /// True if a static field of a primitive type is to be emptied.
    pub(super) fn empties_static(&self, class: ObjectId, name: StringId) -> bool {
        self.is_emptied(self.rule(class, class, name))
    }

    /// True if numbers in constant pools are to be emptied.
    pub(super) fn empties_constants(&self) -> bool {
        self.policy.empties_fields
    }

    fn is_emptied(&self, rule: Rule) -> bool {
        match rule {
            Rule::Common => self.policy.empties_fields,
            Rule::Keep => false,
            Rule::Drop => true,
        }
    }

    /// The values of a class's instances that are to be emptied, as pairs of place and length;
    /// `None` if a class of the hierarchy is not known.
    pub(super) fn values(&self, class: ObjectId) -> Option<Vec<(usize, usize)>> {
        let emptied = self
            .fields(class)?
            .into_iter()
            .filter(|field| field.basic_type != BasicType::Object && self.is_emptied(field.rule));
        Some(
            emptied
                .map(|field| (field.at, field.basic_type.width(self.id_size)))
                .collect(),
        )
    }

    /// All fields of a class's instances; `None` if a class of the hierarchy is not known.
    fn fields(&self, class: ObjectId) -> Option<Vec<PlacedRule>> {
        let (mut fields, mut at) = (Vec::new(), 0);
        let mut next = class;
        for _ in 0..MAX_HIERARCHY {
            if next.is_null() {
                return Some(fields);
            }
            let shape = self.shapes.get(&next)?;
            for &(name, basic_type) in &shape.fields {
                let is_text = self.class_name(next) == "java.lang.String"
                    && self.text(name) == "value"
                    && basic_type == BasicType::Object;
                fields.push(PlacedRule {
                    at,
                    basic_type,
                    rule: self.rule(class, next, name),
                    is_text,
                });
                at += basic_type.width(self.id_size);
            }
            next = shape.super_class;
        }
        None
    }

    /// The rule for a field that `declaring` declares, of an instance of `class`.
    fn rule(&self, class: ObjectId, declaring: ObjectId, field: StringId) -> Rule {
        let field = self.text(field);
        if field == "size" && StripPolicy::is_size(&self.class_name(declaring), field) {
            return Rule::Keep;
        }
        if !self.policy.has_rules() {
            return Rule::Common;
        }
        let (class, declaring) = (self.class_name(class), self.class_name(declaring));
        if self.policy.decides_as_thread_name(&declaring, field) {
            return match self.policy.threads {
                ThreadNames::Keep => Rule::Keep,
                _ => Rule::Drop,
            };
        }
        let is_of = |rule: FieldRule<'_>| rule(&class, field) || rule(&declaring, field);
        if self.policy.keeps.is_some_and(is_of) {
            return Rule::Keep;
        }
        match self.policy.drops.is_some_and(is_of) {
            true => Rule::Drop,
            false => Rule::Common,
        }
    }

    fn text(&self, id: StringId) -> &str {
        self.texts.get(&id).map_or("", |text| text)
    }

    /// The name of a class as Java writes it.
    fn class_name(&self, class: ObjectId) -> String {
        let name = self.class_names.get(&class);
        name.map_or_else(String::new, |&name| self.text(name).replace('/', "."))
    }
}

/// Reads a file to its end, past damage, and gives its header.
pub(super) fn each_event(
    input: impl Read,
    mut see: impl FnMut(&Event<'_>),
) -> Result<FileHeader, StripError> {
    let mut reader = match StreamReader::new(input) {
        Ok(reader) => reader,
        Err(StreamError::Io(error)) => return Err(error.into()),
        Err(StreamError::Header(error)) => return Err(error.into()),
        Err(StreamError::Damage(_)) => {
            return Err(hprof_format::reader::HeaderError::TooShort.into());
        }
    };
    let header = *reader.header();
    while let Some(event) = reader.next() {
        match event {
            Ok(event) => see(&event),
            Err(StreamError::Io(error)) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Err(error.into());
            }
            Err(StreamError::Io(_)) => break,
            Err(_) => {}
        }
    }
    Ok(header)
}
