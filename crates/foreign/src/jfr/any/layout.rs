//! How events of a type are laid out, with the names of all of their fields.

use super::{Field, Shape};
use crate::jfr::bytes::{Cursor, Text};
use crate::jfr::metadata::{TypeId, Unit};
use crate::jfr::plan::{Encoding, MAX_DEPTH, MAX_STEPS, Plan, Plans};

/// A value of a field as the chunk has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Raw<'a> {
    /// A number, which may be a time.
    Number(i64, Unit),
    /// An entry of the pool of a type.
    Entry(TypeId, u64),
    /// A number with a fraction.
    Fraction(f64),
    /// A text.
    Text(Text<'a>),
}

/// One step of the reading.
#[derive(Debug)]
enum Step {
    One {
        encoding: Encoding,
        of: TypeId,
        is_pooled: bool,
        /// The type is `int`, `short` or `char`: the bytes of a number below zero are those of 32 bits.
        is_narrow: bool,
        unit: Unit,
    },
    /// An array, of numbers of entries if there is no plan.
    Many(Option<Plan>),
}

/// The fields of a type in the order of their bytes. Those inside of others have names with dots.
#[derive(Debug, Default)]
pub(super) struct Layout {
    steps: Vec<(Box<str>, Step)>,
    /// The type of each field, and how its values are meant.
    kinds: Vec<(Box<str>, Shape)>,
}

impl Layout {
    /// The layout of a type; `None` if the metadata lacks a type of its fields or nests without an end.
    pub(super) fn of(plans: &mut Plans<'_>, id: TypeId) -> Option<Self> {
        let mut layout = Self::default();
        layout.add(plans, id, "", 0)?;
        Some(layout)
    }

    fn add(&mut self, plans: &mut Plans<'_>, id: TypeId, before: &str, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        plans.metadata.name(id)?;
        for index in 0..plans.metadata.fields(id).len() {
            if self.steps.len() > MAX_STEPS {
                return None;
            }
            let field = &plans.metadata.fields(id)[index];
            let name = format!("{before}{}", plans.metadata.string(field.name));
            let (of, unit) = (field.of, field.unit);
            let (is_pooled, is_array) = (field.is_pooled, field.is_array);
            let type_name = plans.metadata.name(of);
            let encoding = match is_pooled {
                true => Some(Encoding::Number),
                false => type_name.and_then(Encoding::of),
            };
            let kind: Box<str> = type_name.unwrap_or_default().into();
            let shape = match (&*kind, is_pooled, unit, field.is_bytes) {
                (_, true, ..) | ("java.lang.String", ..) => Shape::Text,
                ("boolean", ..) => Shape::Flag,
                ("float" | "double", ..) => Shape::Fraction,
                (.., true) => Shape::Bytes,
                (_, _, Unit::None, _) => Shape::Number,
                _ => Shape::Time,
            };
            let is_narrow = matches!(type_name, Some("int" | "short" | "char"));
            let step = match (is_array, encoding) {
                (true, _) if is_pooled => Step::Many(None),
                (true, _) => Step::Many(Some(plans.get(of)?)),
                (false, Some(encoding)) => Step::One {
                    encoding,
                    of,
                    is_pooled,
                    is_narrow,
                    unit,
                },
                (false, None) => {
                    self.add(plans, of, &format!("{name}."), depth + 1)?;
                    continue;
                }
            };
            self.steps.push((name.into(), step));
            self.kinds.push((kind, shape));
        }
        Some(())
    }

    /// True if events have a field.
    pub(super) fn has(&self, field: &str) -> bool {
        self.steps.iter().any(|(name, _)| **name == *field)
    }

    /// The fields that are no arrays.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        let fields = self.steps.iter().zip(&self.kinds);
        fields
            .filter(|((_, step), _)| matches!(step, Step::One { .. }))
            .map(|((name, _), (of, shape))| Field {
                name: name.to_string(),
                of: of.to_string(),
                shape: *shape,
            })
    }

    /// The types of the entries to which fields refer.
    pub(super) fn entries(&self) -> impl Iterator<Item = TypeId> {
        self.steps.iter().filter_map(|(_, step)| match step {
            Step::One {
                is_pooled: true,
                of,
                ..
            } => Some(*of),
            _ => None,
        })
    }

    /// Passes over an event, and hands out the fields that are no arrays. `None` if it does not end where the bytes do.
    pub(super) fn walk<'a, 's>(
        &'s self,
        cursor: &mut Cursor<'a>,
        found: &mut impl FnMut(&'s str, Raw<'a>),
    ) -> Option<()> {
        for (name, step) in &self.steps {
            let value = match step {
                Step::Many(None) => {
                    for _ in 0..cursor.length()? {
                        cursor.number()?;
                    }
                    continue;
                }
                Step::Many(Some(plan)) => {
                    let count = cursor.length()?;
                    // Elements without fields take no bytes.
                    if !plan.is_empty() {
                        for _ in 0..count {
                            plan.skip(cursor)?;
                        }
                    }
                    continue;
                }
                Step::One {
                    encoding,
                    of,
                    is_pooled,
                    is_narrow,
                    unit,
                } => match encoding {
                    Encoding::Number => match (cursor.number()?, is_pooled) {
                        (number, true) => Raw::Entry(*of, number),
                        (number, false) if *is_narrow && number <= u64::from(u32::MAX) => {
                            Raw::Number(i64::from(number as u32 as i32), *unit)
                        }
                        (number, false) => Raw::Number(number as i64, *unit),
                    },
                    Encoding::Byte => Raw::Number(i64::from(cursor.byte()?), *unit),
                    Encoding::Four => {
                        let bytes = cursor.take(4)?.try_into().ok()?;
                        Raw::Fraction(f64::from(f32::from_be_bytes(bytes)))
                    }
                    Encoding::Eight => {
                        Raw::Fraction(f64::from_be_bytes(cursor.take(8)?.try_into().ok()?))
                    }
                    Encoding::Text => Raw::Text(cursor.text()?),
                },
            };
            found(name, value);
        }
        Some(())
    }
}
