//! Which contents a policy allows in a copy, read from the copy itself.

use std::io::{self, Read};

use hprof_format::binary::{BasicType, SubRecord, Value};
use hprof_format::ids::{ObjectId, StringId};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::strip::contents::Kind;
use crate::strip::shapes::{Field, Holder, Shapes, each_reference_holder};
use crate::strip::{StripError, StripPolicy, ThreadNames};

/// The reason why contents may stay in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Names of classes, fields, methods, files and heaps stay.
    Names,
    /// Names of threads and their groups stay.
    ThreadNames,
    /// Numbers that stand for names of threads and their groups, and that the original has too.
    ThreadNumbers,
    /// The field with the size of a virtual thread's stack stays.
    Sizes,
    /// Numbers in fields stay, as `--fields` was not given.
    Fields,
    /// The contents of all strings stay.
    KeepStrings,
    /// A rule names the field, or one that refers to the array.
    Keep,
    /// All stays but what detectors find.
    Redact,
}

/// The rule of a field for its own value or for the array that it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Common,
    Keep,
    Drop,
}

/// Tells of places in a copy which policy allows contents there.
pub(super) struct Allowed<'p> {
    policy: &'p StripPolicy<'p>,
    shapes: &'p Shapes,
    /// Arrays of strings that stay, in order.
    of_strings: Vec<u64>,
    /// Arrays that a field keeps, in order.
    kept: Vec<u64>,
    /// Arrays that a field drops, in order.
    dropped: Vec<u64>,
    fields: FxHashMap<ObjectId, Vec<(Field, Option<By>)>>,
}

impl<'p> Allowed<'p> {
    /// Reads the copy if references decide which arrays stay.
    pub fn of<R: Read>(
        open: &mut impl FnMut() -> io::Result<R>,
        shapes: &'p Shapes,
        policy: &'p StripPolicy<'p>,
    ) -> Result<Self, StripError> {
        let mut allowed = Self {
            policy,
            shapes,
            of_strings: Vec::new(),
            kept: Vec::new(),
            dropped: Vec::new(),
            fields: FxHashMap::default(),
        };
        if policy.keeps_strings || policy.has_rules() {
            allowed.read(open()?)?;
        }
        Ok(allowed)
    }

    fn read(&mut self, copy: impl Read) -> Result<(), StripError> {
        let (policy, shapes) = (self.policy, self.shapes);
        let (mut strings, mut kept, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        let mut rules: FxHashMap<ObjectId, Vec<(Field, Rule, bool)>> = FxHashMap::default();
        let mut note = |rule, target| match rule {
            Rule::Keep => kept.push(target),
            Rule::Drop => dropped.push(target),
            Rule::Common => {}
        };
        each_reference_holder(copy, shapes, |holder| match holder {
            Holder::Instance {
                object,
                class,
                fields,
                values,
            } => {
                let fields = rules.entry(class).or_insert_with(|| {
                    let of = |field: &Field| {
                        let is_text = shapes.text(field.name) == "value"
                            && shapes.class_name(field.declaring) == "java.lang.String";
                        let rule = rule(policy, shapes, class, field.declaring, field.name);
                        (*field, rule, is_text)
                    };
                    let fields = fields.iter().map(of);
                    let matters = |it: &(Field, Rule, bool)| it.2 || it.1 != Rule::Common;
                    fields.filter(matters).collect()
                });
                for (field, rule, is_text) in fields {
                    if let Some(target) = field.reference(values) {
                        note(*rule, target);
                        if *is_text {
                            strings.push((object.get(), target));
                        }
                    }
                }
            }
            Holder::Other(SubRecord::Class(class)) => {
                for field in class.statics.iter() {
                    if let Value::Object(target) = field.value {
                        let rule = rule(policy, shapes, class.class, class.class, field.name);
                        note(rule, target.get());
                    }
                }
            }
            Holder::Long | Holder::Other(_) => {}
        })?;
        strings.sort_unstable();
        self.kept = with_arrays(kept, &strings);
        self.dropped = with_arrays(dropped, &strings);
        if policy.keeps_strings {
            self.of_strings = strings.into_iter().map(|(_, array)| array).collect();
            self.of_strings.sort_unstable();
        }
        Ok(())
    }

    /// The policy that allows contents in a place; `None` if none does. `bytes` are those in question,
    /// which start `at` bytes from the start of the place, if it has fields or the name of a thread.
    pub fn by(&mut self, kind: Kind, at: u64, bytes: &[u8]) -> Option<By> {
        let policy = self.policy;
        let numbers = (!policy.empties_fields).then_some(By::Fields);
        match kind {
            Kind::Text(text) if self.shapes.is_name(text) => Some(By::Names),
            Kind::Text(text) if self.shapes.is_thread_name(text) => match policy.thread_records() {
                ThreadNames::Keep => Some(By::ThreadNames),
                ThreadNames::Number => {
                    let number = self.shapes.thread_number(text).unwrap_or_default();
                    let same = number
                        .as_bytes()
                        .get(at as usize..at as usize + bytes.len());
                    (same == Some(bytes)).then_some(By::ThreadNumbers)
                }
                _ => None,
            },
            Kind::Text(_) => policy.keeps_all.then_some(By::Redact),
            Kind::Array { array, .. } => self.array(array.get()),
            Kind::Static { class, name } => match self.rule(class, class, name) {
                Rule::Common => numbers,
                Rule::Keep => Some(By::Keep),
                Rule::Drop => None,
            },
            Kind::Constant { .. } => numbers,
            Kind::Instance { .. } => numbers.filter(|_| policy.drops.is_none()),
            Kind::Unknown { .. } | Kind::Rest => None,
            Kind::Fields {
                class, at: start, ..
            } => self.fields(class, start + at as usize, bytes),
        }
    }

    fn array(&self, array: u64) -> Option<By> {
        let is_in = |arrays: &[u64]| arrays.binary_search(&array).is_ok();
        if is_in(&self.dropped) {
            None
        } else if is_in(&self.kept) {
            Some(By::Keep)
        } else if is_in(&self.of_strings) {
            Some(By::KeepStrings)
        } else {
            self.policy.keeps_all.then_some(By::Redact)
        }
    }

    /// As all fields that the bytes belong to, unless they are zero in those that go.
    fn fields(&mut self, class: ObjectId, start: usize, bytes: &[u8]) -> Option<By> {
        let fields = self.placed(class).iter();
        let mut by = None;
        for (field, allowed) in fields {
            let from = field.at.max(start);
            let to = (field.at + field.width).min(start + bytes.len());
            if from >= to || field.basic_type == BasicType::Object {
                continue;
            }
            match allowed {
                Some(_) => by = by.max(*allowed),
                None if bytes[from - start..to - start]
                    .iter()
                    .all(|&byte| byte == 0) => {}
                None => return None,
            }
        }
        by
    }

    /// The fields of a class's instances with what allows their values.
    fn placed(&mut self, class: ObjectId) -> &[(Field, Option<By>)] {
        let (policy, shapes) = (self.policy, self.shapes);
        self.fields.entry(class).or_insert_with(|| {
            let fields = shapes.fields(class).unwrap_or_default().into_iter();
            let by = |field: Field| {
                let name = shapes.text(field.name);
                if StripPolicy::is_size(&shapes.class_name(field.declaring), name) {
                    return (field, Some(By::Sizes));
                }
                let by = match rule(policy, shapes, class, field.declaring, field.name) {
                    Rule::Common => (!policy.empties_fields).then_some(By::Fields),
                    Rule::Keep => Some(By::Keep),
                    Rule::Drop => None,
                };
                (field, by)
            };
            fields.map(by).collect()
        })
    }

    /// The names of the fields that bytes belong to.
    pub fn field_names(&mut self, class: ObjectId, start: usize, length: usize) -> String {
        let shapes = self.shapes;
        let fields = self.placed(class).iter().map(|(field, _)| field);
        let meant =
            fields.filter(|field| field.at < start + length && start < field.at + field.width);
        let names: Vec<&str> = meant.map(|field| shapes.text(field.name)).collect();
        names.join(", ")
    }

    fn rule(&self, class: ObjectId, declaring: ObjectId, field: StringId) -> Rule {
        rule(self.policy, self.shapes, class, declaring, field)
    }
}

fn rule(
    policy: &StripPolicy<'_>,
    shapes: &Shapes,
    class: ObjectId,
    declaring: ObjectId,
    field: StringId,
) -> Rule {
    if policy.decides_as_thread_name(&shapes.class_name(declaring), shapes.text(field)) {
        return match policy.threads == ThreadNames::Keep {
            true => Rule::Keep,
            false => Rule::Drop,
        };
    }
    let is_of = |rule: Option<crate::strip::FieldRule<'_>>| {
        rule.is_some_and(|rule| {
            let field = shapes.text(field);
            rule(&shapes.class_name(class), field) || rule(&shapes.class_name(declaring), field)
        })
    };
    if is_of(policy.keeps) {
        Rule::Keep
    } else if is_of(policy.drops) {
        Rule::Drop
    } else {
        Rule::Common
    }
}

/// Objects, and the arrays of those that are strings, in order.
fn with_arrays(mut objects: Vec<u64>, strings: &[(u64, u64)]) -> Vec<u64> {
    let arrays: Vec<u64> = objects
        .iter()
        .filter_map(|object| {
            let at = strings.partition_point(|string| string.0 < *object);
            strings.get(at).filter(|string| string.0 == *object)
        })
        .map(|string| string.1)
        .collect();
    objects.extend(arrays);
    objects.sort_unstable();
    objects.dedup();
    objects
}
