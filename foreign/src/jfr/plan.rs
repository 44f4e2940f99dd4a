//! How the values of a type are read: its fields one after the other, those inside of others too.

use rustc_hash::FxHashMap;

use super::bytes::{Cursor, Text};
use super::metadata::{Metadata, TypeId, Unit};

/// Types in types in types.
const MAX_DEPTH: usize = 8;
/// The steps of a type; JVMs have no type with more than 60.
const MAX_STEPS: usize = 2_000;

/// The fields that mean something here. Their names are those of the JDK and of async-profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Stack,
    Thread,
    State,
    Duration,
    Class,
    Size,
    Tlab,
    Weight,
    Period,
    Samples,
    Method,
    Line,
    Type,
    Name,
    OsName,
    JavaName,
    JavaThreadId,
    OsThreadId,
    IsVirtual,
}

impl Role {
    fn of(field: &str) -> Option<Self> {
        Some(match field {
            "stackTrace" => Self::Stack,
            "sampledThread" | "eventThread" => Self::Thread,
            "state" => Self::State,
            "duration" => Self::Duration,
            "monitorClass" | "parkedClass" | "objectClass" => Self::Class,
            "allocationSize" => Self::Size,
            "tlabSize" => Self::Tlab,
            "weight" => Self::Weight,
            "samplingPeriod" => Self::Period,
            "samples" => Self::Samples,
            "method" => Self::Method,
            "lineNumber" => Self::Line,
            "type" => Self::Type,
            "name" | "string" | "description" => Self::Name,
            "osName" => Self::OsName,
            "javaName" => Self::JavaName,
            "javaThreadId" => Self::JavaThreadId,
            "osThreadId" => Self::OsThreadId,
            "virtual" => Self::IsVirtual,
            _ => return None,
        })
    }
}

/// A value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// A number; of a pooled value, the number of its entry in the pool of a type.
    Number(u64, TypeId),
    /// A duration.
    Time(u64, Unit),
    /// A string.
    Text(Text<'a>),
}

impl Value<'_> {
    /// The number, without its unit.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Number(number, _) | Self::Time(number, _) => number,
            Self::Text(_) => 0,
        }
    }
}

/// How a field is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Number,
    Byte,
    Four,
    Eight,
    Text,
}

impl Encoding {
    fn of(type_name: &str) -> Option<Self> {
        Some(match type_name {
            "int" | "long" | "short" | "char" => Self::Number,
            "byte" | "boolean" => Self::Byte,
            "float" => Self::Four,
            "double" => Self::Eight,
            "java.lang.String" => Self::Text,
            _ => return None,
        })
    }
}

/// One step of the reading of a value.
#[derive(Debug)]
enum Step {
    One {
        encoding: Encoding,
        role: Option<Role>,
        of: TypeId,
        unit: Unit,
    },
    Many(Box<[Step]>),
}

/// How the values of a type are read.
#[derive(Debug)]
pub(super) struct Plan(Box<[Step]>);

/// A part of a value that a walk over it finds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found<'a> {
    /// A field.
    Field(Role, Value<'a>),
    /// An element of an array has ended.
    ElementEnd,
}

impl Plan {
    /// Reads a value; `None` if it does not end where the bytes do.
    pub(super) fn walk<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        found: &mut impl FnMut(Found<'a>),
    ) -> Option<()> {
        walk(&self.0, cursor, found)
    }

    /// Passes over a value.
    pub(super) fn skip(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.walk(cursor, &mut |_| {})
    }
}

fn walk<'a>(
    steps: &[Step],
    cursor: &mut Cursor<'a>,
    found: &mut impl FnMut(Found<'a>),
) -> Option<()> {
    for step in steps {
        match step {
            Step::Many(inner) => {
                // Every element takes a byte or more, unless it has nothing.
                let count = cursor.length()?;
                if inner.is_empty() {
                    continue;
                }
                for _ in 0..count {
                    walk(inner, cursor, found)?;
                    found(Found::ElementEnd);
                }
            }
            Step::One {
                encoding,
                role,
                of,
                unit,
            } => {
                let number = match encoding {
                    Encoding::Number => cursor.number()?,
                    Encoding::Byte => u64::from(cursor.byte()?),
                    Encoding::Four => {
                        cursor.take(4)?;
                        continue;
                    }
                    Encoding::Eight => {
                        cursor.take(8)?;
                        continue;
                    }
                    Encoding::Text => {
                        let text = cursor.text()?;
                        if let Some(role) = role {
                            found(Found::Field(*role, Value::Text(text)));
                        }
                        continue;
                    }
                };
                match (role, unit) {
                    (None, _) => {}
                    (Some(role), Unit::None) => {
                        found(Found::Field(*role, Value::Number(number, *of)));
                    }
                    (Some(role), &unit) => found(Found::Field(*role, Value::Time(number, unit))),
                }
            }
        }
    }
    Some(())
}

/// The plans of the types of a chunk, made when they are needed.
pub(super) struct Plans<'a> {
    pub(super) metadata: Metadata<'a>,
    made: FxHashMap<TypeId, Option<Plan>>,
}

impl<'a> Plans<'a> {
    pub(super) fn new(metadata: Metadata<'a>) -> Self {
        Self {
            metadata,
            made: FxHashMap::default(),
        }
    }

    /// The plan of a type; `None` if the metadata lacks it or nests without an end.
    pub(super) fn get(&mut self, id: TypeId) -> Option<&Plan> {
        let metadata = &self.metadata;
        let made = self.made.entry(id).or_insert_with(|| {
            let mut room = MAX_STEPS;
            steps(metadata, id, true, 0, &mut room).map(|steps| Plan(steps.into()))
        });
        made.as_ref()
    }

    /// A plan that was made before.
    pub(super) fn made(&self, id: TypeId) -> Option<&Plan> {
        self.made.get(&id)?.as_ref()
    }
}

fn steps(
    metadata: &Metadata<'_>,
    id: TypeId,
    has_roles: bool,
    depth: usize,
    room: &mut usize,
) -> Option<Vec<Step>> {
    let of = metadata.types.get(&id)?;
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(encoding) = Encoding::of(&of.name) {
        *room = room.checked_sub(1)?;
        return Some(vec![Step::One {
            encoding,
            role: has_roles.then_some(Role::Name),
            of: id,
            unit: Unit::None,
        }]);
    }
    let mut all = Vec::new();
    for field in &of.fields {
        *room = room.checked_sub(1)?;
        let role = Role::of(&field.name).filter(|_| has_roles);
        let type_name = metadata.types.get(&field.of).map(|it| &*it.name);
        let encoding = match field.is_pooled {
            true => Some(Encoding::Number),
            false => type_name.and_then(Encoding::of),
        };
        let inner = match encoding {
            Some(encoding) => vec![Step::One {
                encoding,
                role,
                of: field.of,
                unit: field.unit,
            }],
            // Only the frames of a stack have fields of their own that count.
            None => {
                let has_roles = has_roles && field.name == "frames";
                steps(metadata, field.of, has_roles, depth + 1, room)?
            }
        };
        match field.is_array {
            true => all.push(Step::Many(inner.into())),
            false => all.extend(inner),
        }
    }
    Some(all)
}
