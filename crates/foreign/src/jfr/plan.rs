//! How the values of a type are read: its fields one after the other, those inside of others too.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bytes::{Cursor, Text};
use super::facts::Fact;
use super::metadata::{Metadata, TypeId, Unit};

/// Types in types in types.
pub(super) const MAX_DEPTH: usize = 8;
/// The steps of a type; JVMs have no type with more than 60.
pub(super) const MAX_STEPS: usize = 2_000;

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
    StartTime,
    /// Not in a profile.
    Fact(Fact),
}

impl Role {
    fn of(field: &str) -> Option<Self> {
        Some(match field {
            "stackTrace" => Self::Stack,
            "sampledThread" | "eventThread" => Self::Thread,
            "state" => Self::State,
            "duration" => Self::Duration,
            "monitorClass" | "parkedClass" | "objectClass" => Self::Class,
            "allocationSize" | "size" => Self::Size,
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
            "startTime" => Self::StartTime,
            _ => return Fact::of(field).map(Self::Fact),
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
    /// A number with a fraction, of 32 bits.
    Float(f32),
    /// A string.
    Text(Text<'a>),
}

impl Value<'_> {
    /// The number, without its unit.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Number(number, _) | Self::Time(number, _) => number,
            Self::Float(_) | Self::Text(_) => 0,
        }
    }
}

/// How a field is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Number,
    Byte,
    Four,
    Eight,
    Text,
}

impl Encoding {
    pub(super) fn of(type_name: &str) -> Option<Self> {
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
    /// The fields of a value inside of another.
    Inside(Plan),
    /// An array of values that take a byte or more each.
    Many(Plan),
}

/// How the values of a type are read. Types that hold values of one type share its plan.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    steps: Arc<[Step]>,
    /// The steps with those of values inside.
    size: usize,
}

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
        walk(&self.steps, cursor, found)
    }

    /// The pool to which a field with a role refers; 0 if there is no such field.
    pub(super) fn pool(&self, of_role: Role) -> TypeId {
        let mut pools = self.steps.iter().filter_map(|step| match step {
            Step::One { role, of, .. } => (*role == Some(of_role)).then_some(*of),
            Step::Inside(_) | Step::Many(_) => None,
        });
        pools.next_back().unwrap_or_default()
    }

    /// Returns whether values have a field with a role.
    pub(super) fn has(&self, of_role: Role) -> bool {
        self.steps.iter().any(|step| match step {
            Step::One { role, .. } => *role == Some(of_role),
            Step::Inside(_) | Step::Many(_) => false,
        })
    }

    /// True if values take no bytes.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
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
            Step::Inside(inner) => walk(&inner.steps, cursor, found)?,
            Step::Many(inner) => {
                let count = cursor.length()?;
                // Elements without fields take no bytes.
                if inner.steps.is_empty() {
                    continue;
                }
                for _ in 0..count {
                    walk(&inner.steps, cursor, found)?;
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
                        let bytes = cursor.take(4)?;
                        if let (Some(role), Ok(bytes)) = (role, bytes.try_into()) {
                            let value = Value::Float(f32::from_be_bytes(bytes));
                            found(Found::Field(*role, value));
                        }
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
    /// The plans of values whose fields mean nothing here.
    passed_over: FxHashMap<TypeId, Option<Plan>>,
}

impl<'a> Plans<'a> {
    pub(super) fn new(metadata: Metadata<'a>) -> Self {
        Self {
            metadata,
            made: FxHashMap::default(),
            passed_over: FxHashMap::default(),
        }
    }

    /// The plan of a type; `None` if the metadata lacks it or nests without an end.
    pub(super) fn get(&mut self, id: TypeId) -> Option<Plan> {
        self.plan(id, true, 0)
    }

    /// A plan that was made before.
    pub(super) fn made(&self, id: TypeId) -> Option<&Plan> {
        self.made.get(&id)?.as_ref()
    }

    fn plan(&mut self, id: TypeId, has_roles: bool, depth: usize) -> Option<Plan> {
        let known = match has_roles {
            true => &self.made,
            false => &self.passed_over,
        };
        if let Some(plan) = known.get(&id) {
            return plan.clone();
        }
        // So deep is none that a JVM wrote, unless it goes in circles.
        let plan = match depth > MAX_DEPTH {
            true => None,
            false => self.make(id, has_roles, depth),
        };
        let made = match has_roles {
            true => &mut self.made,
            false => &mut self.passed_over,
        };
        made.insert(id, plan.clone());
        plan
    }

    fn make(&mut self, id: TypeId, has_roles: bool, depth: usize) -> Option<Plan> {
        let name = self.metadata.name(id)?;
        if let Some(encoding) = Encoding::of(name) {
            let step = Step::One {
                encoding,
                role: has_roles.then_some(Role::Name),
                of: id,
                unit: Unit::None,
            };
            return Some(Plan {
                steps: [step].into(),
                size: 1,
            });
        }
        let mut steps = Vec::new();
        let mut size = 0_usize;
        for index in 0..self.metadata.fields(id).len() {
            let field = &self.metadata.fields(id)[index];
            let field_name = self.metadata.string(field.name);
            let role = Role::of(field_name).filter(|_| has_roles);
            // Few have fields of their own that count.
            let has_inner_roles = has_roles
                && matches!(
                    field_name,
                    "frames" | "heapSpace" | "metaspace" | "oldObjectSpace"
                );
            let (of, unit, is_array) = (field.of, field.unit, field.is_array);
            let encoding = match field.is_pooled {
                true => Some(Encoding::Number),
                false => self.metadata.name(of).and_then(Encoding::of),
            };
            let inner = match encoding {
                Some(encoding) => Plan {
                    steps: [Step::One {
                        encoding,
                        role,
                        of,
                        unit,
                    }]
                    .into(),
                    size: 1,
                },
                None => self.plan(of, has_inner_roles, depth + 1)?,
            };
            size += 1 + inner.size;
            if size > MAX_STEPS {
                return None;
            }
            match (is_array, encoding) {
                (true, _) => steps.push(Step::Many(inner)),
                (false, Some(encoding)) => steps.push(Step::One {
                    encoding,
                    role,
                    of,
                    unit,
                }),
                // A type without fields takes no bytes.
                (false, None) if inner.steps.is_empty() => {}
                (false, None) => steps.push(Step::Inside(inner)),
            }
        }
        Some(Plan {
            steps: steps.into(),
            size,
        })
    }
}
