//! Events of a recording that are no part of a profile, such as collections and thread dumps, with the
//! values of their fields.
//!
//! The values of one chunk are looked up at its end, as events may come before the pools to which they
//! refer. No more than the place of each event is kept until then.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::bytes::Cursor;
use super::chunk::{Head, Sink};
use super::events::in_nanos;
use super::metadata::TypeId;
use super::plan::{Found, Plan, Plans, Role, Value};
use super::pools::Pools;
use super::resolve::Source;
use crate::Damage;
use crate::builder::MAX_DAMAGE;

/// The event of a collection.
pub const COLLECTION: &str = "jdk.GarbageCollection";
/// The event of a thread dump.
pub const THREAD_DUMP: &str = "jdk.ThreadDump";

/// The bytes of texts that are handed out for each byte of the file, as a file may refer to one long text any
/// number of times. Collections of JVMs refer to three short ones each.
const TEXT_ROOM: usize = 8;

/// A field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// `name`.
    Name,
    /// `type`.
    Type,
    /// `gcId`.
    GcId,
    /// `cause`.
    Cause,
    /// `when`.
    When,
    /// `sumOfPauses`.
    SumOfPauses,
    /// `heapUsed`.
    HeapUsed,
    /// `committedSize` of `heapSpace`.
    CommittedSize,
    /// `reservedSize` of `heapSpace`.
    ReservedSize,
    /// `used` of `metaspace` and `oldObjectSpace`.
    Used,
    /// `oldGenUsedSize`.
    OldGenUsedSize,
    /// `result`.
    Result,
    /// `youngCollector`.
    YoungCollector,
    /// `oldCollector`.
    OldCollector,
    /// `maxSize`.
    MaxSize,
    /// `jvmStartTime`.
    JvmStartTime,
    /// `jvmVersion`.
    JvmVersion,
    /// `hwThreads`.
    HwThreads,
    /// `user`.
    User,
    /// `system`.
    System,
    /// `real`.
    Real,
    /// `value`.
    Value,
    /// `safepointId`.
    SafepointId,
    /// `operation`.
    Operation,
    /// `safepoint`.
    Safepoint,
    /// `thread`, as the number of its entry.
    Thread,
    /// `allocated`.
    Allocated,
    /// `id`.
    Id,
}

impl Fact {
    pub(super) fn of(field: &str) -> Option<Self> {
        Some(match field {
            "gcId" => Self::GcId,
            "cause" => Self::Cause,
            "when" => Self::When,
            "sumOfPauses" => Self::SumOfPauses,
            "heapUsed" => Self::HeapUsed,
            "committedSize" => Self::CommittedSize,
            "reservedSize" => Self::ReservedSize,
            "used" => Self::Used,
            "oldGenUsedSize" => Self::OldGenUsedSize,
            "result" => Self::Result,
            "youngCollector" => Self::YoungCollector,
            "oldCollector" => Self::OldCollector,
            "maxSize" => Self::MaxSize,
            "jvmStartTime" => Self::JvmStartTime,
            "jvmVersion" => Self::JvmVersion,
            "hwThreads" => Self::HwThreads,
            "user" => Self::User,
            "system" => Self::System,
            "real" => Self::Real,
            "value" => Self::Value,
            "safepointId" => Self::SafepointId,
            "operation" => Self::Operation,
            "safepoint" => Self::Safepoint,
            "thread" => Self::Thread,
            "allocated" => Self::Allocated,
            "id" => Self::Id,
            _ => return None,
        })
    }
}

/// An event.
pub struct Recorded<'a, 'b> {
    /// The name of its type.
    pub event: &'static str,
    /// The number of its type, by which settings name it.
    pub type_id: u64,
    /// Its start, in nanoseconds since 1970-01-01 UTC.
    pub at: i64,
    /// Its duration in nanoseconds, 0 if it has none.
    pub duration: u64,
    fields: &'b [(Fact, Value<'a>)],
    source: Source<'a, 'b>,
    room: &'b Cell<usize>,
    ticks_per_second: u64,
}

impl<'a> Recorded<'a, '_> {
    fn value(&self, fact: Fact) -> Option<Value<'a>> {
        let mut fields = self.fields.iter();
        fields.find(|(it, _)| *it == fact).map(|(_, value)| *value)
    }

    /// The number of a field, if the event has it.
    pub fn number(&self, fact: Fact) -> Option<u64> {
        match self.value(fact)? {
            Value::Text(_) | Value::Float(_) => None,
            value => Some(value.number()),
        }
    }

    /// The duration of a field in nanoseconds, if the event has it.
    pub fn nanos(&self, fact: Fact) -> Option<u64> {
        match self.value(fact)? {
            Value::Text(_) | Value::Float(_) => None,
            value => Some(in_nanos(value, self.ticks_per_second)),
        }
    }

    /// The text of a field, its own or that of a pool; empty if the event has none.
    pub fn text(&self, fact: Fact) -> Cow<'a, str> {
        let text = self.value(fact).and_then(|it| self.source.found(it, 0));
        let Some(text) = text else {
            return Cow::Borrowed("");
        };
        match self.room.get().checked_sub(text.length()) {
            Some(room) => {
                self.room.set(room);
                text.decode()
            }
            None => Cow::Borrowed(""),
        }
    }
}

/// Takes the events of a recording.
pub trait Visitor<'a> {
    /// Takes an event. The events of a chunk come in the order of the file, which is not that of
    /// time.
    fn event(&mut self, event: &Recorded<'a, '_>);

    /// A chunk has ended; its start and end, in nanoseconds since 1970-01-01 UTC. The end is that of its last
    /// event of the types that are wanted, if the JVM has not ended the chunk.
    fn chunk_end(&mut self, from: i64, to: i64);
}

/// The places of a recording that were not read.
#[derive(Debug, Clone, Default)]
pub struct Skipped {
    /// The first of the damaged places.
    pub damage: Vec<Damage>,
    /// The number of all damaged places.
    pub damaged: u64,
}

/// Returns whether a file that begins like this is a recording.
pub fn is_recording(head: &[u8]) -> bool {
    head.starts_with(super::MAGIC)
}

/// Reads the events of some types. It calls `passed` with each part that was read.
pub fn read<'a>(
    file: &'a [u8],
    wanted: &[&'static str],
    visitor: &mut dyn Visitor<'a>,
    passed: &mut dyn FnMut(Range<usize>),
) -> Skipped {
    let mut facts = Facts {
        wanted,
        visitor,
        room: Cell::new(file.len().saturating_mul(TEXT_ROOM)),
        types: Vec::new(),
        index: FxHashMap::default(),
        held: Vec::new(),
        skipped: Skipped::default(),
    };
    super::walk(file, passed, &mut facts);
    facts.skipped
}

/// The events of wanted types.
struct Facts<'a, 'v> {
    wanted: &'v [&'static str],
    visitor: &'v mut dyn Visitor<'a>,
    room: Cell<usize>,
    /// The wanted types of the chunk that is read.
    types: Vec<(&'static str, TypeId, Plan)>,
    index: FxHashMap<TypeId, usize>,
    /// The type of each event, and where its bytes begin after its head.
    held: Vec<(usize, usize)>,
    skipped: Skipped,
}

impl<'a> Sink<'a> for Facts<'a, '_> {
    fn pools(&self) -> &'static [&'static str] {
        &[
            "jdk.types.GCName",
            "jdk.types.GCCause",
            "jdk.types.GCWhen",
            "jdk.types.G1YCType",
            "jdk.types.VMOperationType",
            "java.lang.String",
        ]
    }

    fn begin(&mut self, plans: &mut Plans<'a>, _: &Head) {
        self.types.clear();
        self.index.clear();
        for name in self.wanted {
            let ids: Vec<TypeId> = plans.metadata.named(name).collect();
            for id in ids {
                if let Some(plan) = plans.get(id) {
                    self.index.insert(id, self.types.len());
                    self.types.push((name, id, plan));
                }
            }
        }
    }

    fn event(&mut self, type_id: u64, mut body: Cursor<'a>) -> Option<()> {
        let type_id = u32::try_from(type_id).map(TypeId).ok();
        let Some(&of) = type_id.and_then(|id| self.index.get(&id)) else {
            return Some(());
        };
        let at = body.at();
        self.types[of].2.skip(&mut body)?;
        self.held.push((of, at));
        Some(())
    }

    fn end(&mut self, chunk: &'a [u8], head: &Head, pools: Pools, plans: Plans<'a>) -> u64 {
        let start = i64::try_from(head.start_nanos).unwrap_or(i64::MAX);
        let mut latest = start;
        let source = Source::new(chunk, &pools, &plans);
        let mut fields = Vec::new();
        for (of, at) in std::mem::take(&mut self.held) {
            let (event, id, plan) = &self.types[of];
            let (mut ticks, mut duration) = (None, 0);
            fields.clear();
            // It was found to be whole.
            let _ = plan.walk(&mut Cursor::new(chunk, at), &mut |found| {
                let Found::Field(role, value) = found else {
                    return;
                };
                match role {
                    Role::StartTime => ticks = Some(value.number()),
                    Role::Duration => duration = in_nanos(value, head.ticks_per_second),
                    Role::Name => fields.push((Fact::Name, value)),
                    Role::Type => fields.push((Fact::Type, value)),
                    Role::Fact(fact) => fields.push((fact, value)),
                    _ => {}
                }
            });
            let at = ticks.map_or(start, |ticks| head.wall(ticks));
            latest = latest.max(at.saturating_add_unsigned(duration));
            self.visitor.event(&Recorded {
                event,
                type_id: u64::from(id.0),
                at,
                duration,
                fields: &fields,
                source,
                room: &self.room,
                ticks_per_second: head.ticks_per_second,
            });
        }
        let end = match head.length_nanos {
            0 => latest,
            length => start.saturating_add_unsigned(length),
        };
        self.visitor.chunk_end(start, end);
        0
    }

    fn damage(&mut self, offset: Option<usize>, lost: usize, message: String) {
        self.skipped.damaged += 1;
        if self.skipped.damage.len() < MAX_DAMAGE {
            self.skipped.damage.push(Damage {
                offset: offset.map(|offset| offset as u64),
                lost_bytes: lost as u64,
                message,
            });
        }
    }
}
