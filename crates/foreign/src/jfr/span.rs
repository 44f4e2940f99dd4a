//! The time that a recording covers.

use hprof_stacks::timeline::Window;

use super::bytes::Cursor;
use super::chunk::{self, Head, Sink};
use super::events;
use super::metadata::TypeId;
use super::plan::{Found, Plan, Plans, Role};
use super::pools::Pools;
use super::write::SPREAD;

/// The time from the start of the first chunk to the end of the last. A chunk that the JVM has not ended does not say
/// how long it is: its last event that costs something is its end. Chunks whose times mean nothing do not count; `None`
/// if there is no other.
pub(crate) fn span(file: &[u8]) -> Option<Window> {
    let mut span: Option<Window> = None;
    for (number, part) in super::parts(file).enumerate() {
        let Ok((head, _)) = &part.chunk else {
            continue;
        };
        // No program but this one writes such chunks, in files of two chunks at most.
        if number < 2
            && let Some(types) = chunk::metadata(&file[part.range.clone()], head)
            && types.named(SPREAD).next().is_some()
        {
            continue;
        }
        let from = i64::try_from(head.start_nanos).unwrap_or(i64::MAX);
        let to = match head.length_nanos {
            0 => {
                let mut last = Last {
                    types: Vec::new(),
                    start: from,
                    head: head.clone(),
                };
                part.read(file, &mut last);
                last.start.saturating_add(1)
            }
            length => from.saturating_add_unsigned(length),
        };
        span = Some(match span {
            None => Window { from, to },
            Some(before) => Window {
                from: before.from.min(from),
                to: before.to.max(to),
            },
        });
    }
    span
}

/// The start of the last event.
struct Last {
    types: Vec<(TypeId, Plan)>,
    start: i64,
    head: Head,
}

impl<'a> Sink<'a> for Last {
    fn pools(&self) -> &'static [&'static str] {
        &[]
    }

    fn begin(&mut self, plans: &mut Plans<'a>, _: &Head) {
        for (name, _) in events::KINDS {
            let ids: Vec<TypeId> = plans.metadata.named(name).collect();
            let types = ids.into_iter().filter_map(|id| Some((id, plans.get(id)?)));
            self.types.extend(types);
        }
    }

    fn event(&mut self, type_id: u64, mut body: Cursor<'a>) -> Option<()> {
        let mut types = self.types.iter();
        let found = types.find(|(id, _)| u64::from(id.0) == type_id);
        let Some((_, plan)) = found else {
            return Some(());
        };
        let (head, start) = (&self.head, &mut self.start);
        plan.walk(&mut body, &mut |found| {
            if let Found::Field(Role::StartTime, value) = found {
                *start = (*start).max(head.wall(value.number()));
            }
        })
    }

    fn end(&mut self, _: &'a [u8], _: &Head, _: Pools, _: Plans<'a>) -> u64 {
        0
    }

    fn damage(&mut self, _: Option<usize>, _: usize, _: String) {}
}
