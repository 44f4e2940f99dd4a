//! The profile of a recording, chunk by chunk.

use super::bytes::Cursor;
use super::chunk::{Head, Sink};
use super::events::{Choice, Events};
use super::plan::Plans;
use super::pools::Pools;
use super::resolve;
use crate::builder::Builder;
use crate::{Kind, Others, Profile};

/// Sums of the chunks so far.
pub(super) struct Costs {
    builder: Builder,
    choice: Choice,
    /// Those of the chunk that is read.
    events: Option<Events>,
    others: Others,
}

impl Costs {
    /// Sums of a file of that many bytes.
    pub(super) fn new(length: usize) -> Self {
        Self {
            builder: Builder::new(length),
            choice: Choice::default(),
            events: None,
            others: Others::default(),
        }
    }

    /// The profile of all chunks.
    pub(super) fn finish(mut self, created_millis: Option<u64>) -> Profile {
        self.choice.choose(&mut self.builder);
        Profile {
            others: self.others,
            ..self.builder.finish(Kind::Jfr, created_millis)
        }
    }
}

impl<'a> Sink<'a> for Costs {
    fn pools(&self) -> &'static [&'static str] {
        &[
            "jdk.types.StackTrace",
            "jdk.types.Method",
            "jdk.types.Symbol",
            "jdk.types.FrameType",
            "jdk.types.ThreadState",
            "java.lang.Class",
            "java.lang.String",
            "java.lang.Thread",
        ]
    }

    fn begin(&mut self, plans: &mut Plans<'a>, head: &Head) {
        self.events = Some(Events::new(plans, head));
    }

    fn event(&mut self, type_id: u64, body: Cursor<'a>) -> Option<()> {
        let events = self.events.as_mut()?;
        events.add(type_id, body, &mut self.others)
    }

    fn end(&mut self, chunk: &'a [u8], _: &Head, pools: &Pools, plans: &Plans<'a>) -> u64 {
        let Some(events) = self.events.take() else {
            return 0;
        };
        resolve::resolve(
            chunk,
            events,
            pools,
            plans,
            &mut self.builder,
            &mut self.choice,
        )
    }

    fn damage(&mut self, offset: Option<usize>, lost: usize, message: String) {
        self.builder.damage(offset, lost, message);
    }
}
