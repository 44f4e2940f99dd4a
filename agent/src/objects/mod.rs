//! Questions about live objects: the object dump of JVMPI, over JVMTI's tags.
//!
//! An object that an answer shows gets a tag, its id. The VM moves tags along with their objects and
//! drops them with these, so an id is valid as long as its object lives. The tags belong to an
//! environment of their own, which `object forget` disposes of.
//!
//! | Step | Stops the program |
//! |---|---|
//! | count the instances of a class | for a walk over the heap |
//! | compare a field with a value | no: the candidates are tagged in an environment for this question only |
//! | find referrers, and what something refers to | for a walk over all references |
//! | read fields and elements | no |

mod search;
mod show;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use hprof_wire::control::Reply;
use hprof_wire::object_query::{ObjectQuery, Which};
use parking_lot::Mutex;

use crate::vm::{Capabilities, Jni, Jvmti, JvmtiError, LocalRef, Ref, ReferenceKind, Result};
use search::Search;
use show::Shown;

/// Ids that are given out before they must be forgotten. Each costs the VM some 50 bytes.
const MAX_IDS: i64 = 1_000_000;
/// Kinds of referrers of one object that are distinguished.
const MAX_KINDS: usize = 1000;

static OBJECTS: Mutex<Option<Objects>> = Mutex::new(None);

/// The ids of objects. Classes have ids from the same numbers.
struct Objects {
    jvmti: Jvmti,
    /// The last id.
    last: i64,
}

/// The referrers of an object: how many of each kind and class. Roots have no class.
type Referrers = BTreeMap<(ReferenceKind, i64), u64>;

/// How long the program was stopped.
#[derive(Debug, Default)]
struct Pauses {
    total: Duration,
    number: u32,
}

impl Pauses {
    /// Measures a walk. The way to the safepoint is in it.
    fn measure<T>(&mut self, walk: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = walk();
        self.total += began.elapsed();
        self.number += 1;
        done
    }
}

/// Answers a question. Any attached thread may ask; one question is answered at a time.
pub fn answer(query: &ObjectQuery, jni: &Jni) -> Reply {
    let mut objects = OBJECTS.lock();
    if query.which == Which::Forget {
        drop(objects);
        let mut reply = Reply::default();
        reply.push("forgotten", forget());
        return reply;
    }
    let known = match objects.take() {
        Some(known) => Ok(known),
        None => Objects::new(jni),
    };
    let answered = known.and_then(|known| objects.insert(known).answer(query, jni));
    answered.unwrap_or_else(|error| Reply::error(format!("the VM does not show objects: {error}")))
}

/// Forgets all ids, and frees what they cost; returns how many were given.
pub fn forget() -> i64 {
    let forgotten = OBJECTS.lock().take();
    forgotten.map_or(0, |objects| objects.last)
}

/// An environment whose tags are its own.
fn tagging(jni: &Jni) -> Result<Jvmti> {
    let jvmti = Jvmti::another(jni)?;
    let mut wanted = Capabilities::default();
    wanted.set_can_tag_objects(1);
    let refused = jvmti.add_capabilities(&wanted)?;
    match refused.can_tag_objects() {
        0 => Ok(jvmti),
        _ => Err(JvmtiError::NOT_AVAILABLE),
    }
}

impl Objects {
    fn new(jni: &Jni) -> Result<Self> {
        Ok(Self {
            jvmti: tagging(jni)?,
            last: 0,
        })
    }

    fn answer(&mut self, query: &ObjectQuery, jni: &Jni) -> Result<Reply> {
        if self.last > MAX_IDS {
            return Ok(Reply::error(format!(
                "{MAX_IDS} ids are given out; `object forget` frees them"
            )));
        }
        let mut reply = Reply::default();
        let mut pauses = Pauses::default();
        let (mut asked, mut pick) = (Vec::new(), None);
        match &query.which {
            Which::Class(name) => match self.search(query, name, jni, &mut pauses, &mut reply)? {
                Ok(Search::Found(ids)) => asked = ids,
                Ok(Search::AllOf(classes)) => pick = Some(classes),
                Err(why) => return Ok(Reply::error(why)),
            },
            Which::Ids(ids) => asked.extend(ids.iter().filter_map(|&id| i64::try_from(id).ok())),
            Which::Forget => {}
        }
        let limit = query.limit as usize;
        let referrers = match query.referrers {
            true => {
                let pick = pick.as_deref().map(|classes| (classes, limit));
                Some(self.follow(&mut asked, pick, jni, &mut pauses)?)
            }
            false => None,
        };
        // What nothing refers to is garbage that is not collected yet.
        let (live, dead): (Vec<i64>, Vec<i64>) = asked
            .iter()
            .partition(|id| referrers.as_ref().is_none_or(|all| all.contains_key(id)));
        let shown: Vec<i64> = match query.which {
            Which::Ids(_) => live.clone(),
            _ => live.iter().copied().take(limit).collect(),
        };
        let gone = self.show(&shown, referrers.as_ref(), jni, &mut reply)?;
        reply.push("shown", shown.len() - gone);
        match query.which {
            Which::Ids(_) => reply.push("gone", gone + dead.len()),
            _ => {
                self.drop_ids(live.get(shown.len()..).unwrap_or_default(), jni)?;
                self.drop_ids(&dead, jni)?;
                reply.push("unreachable", dead.len());
            }
        }
        reply.push("reachable_only", if query.referrers { "y" } else { "n" });
        reply.push("pauses", pauses.number);
        reply.push(
            "pause_ms",
            format!("{:.1}", pauses.total.as_secs_f64() * 1000.0),
        );
        Ok(reply)
    }

    /// The id of an object, a new one if it has none.
    fn id(&mut self, object: Ref<'_>) -> Result<i64> {
        match self.jvmti.tag(object)? {
            0 => {
                self.last += 1;
                self.jvmti.set_tag(object, self.last)?;
                Ok(self.last)
            }
            known => Ok(known),
        }
    }

    /// Takes ids back that no answer has shown.
    fn drop_ids(&self, ids: &[i64], jni: &Jni) -> Result<()> {
        let frame = jni.large_local_frame();
        for (object, _) in self.jvmti.objects_with_tags(&frame, ids)? {
            self.jvmti.set_tag(object.get(), 0)?;
        }
        Ok(())
    }

    /// The referrers of objects; those without any are not in the map. With `pick`, classes and a
    /// limit, the first instances up to that limit are taken in: objects that this walk meets are alive.
    fn follow(
        &mut self,
        asked: &mut Vec<i64>,
        pick: Option<(&[i64], usize)>,
        jni: &Jni,
        pauses: &mut Pauses,
    ) -> Result<BTreeMap<i64, Referrers>> {
        if asked.is_empty() && pick.is_none() {
            return Ok(BTreeMap::new());
        }
        let frame = jni.large_local_frame();
        for class in self.jvmti.loaded_classes(&frame)? {
            self.id(class.get().as_object())?;
        }
        drop(frame);
        let (classes, most) = pick.unwrap_or_default();
        let mut wanted: HashSet<i64> = asked.iter().copied().collect();
        let mut found: BTreeMap<i64, Referrers> = BTreeMap::new();
        let (jvmti, last) = (&self.jvmti, &mut self.last);
        let walk = || {
            jvmti.follow_references(&mut |reference| {
                let tag = reference.tag;
                // Most objects have none.
                if *tag == 0 || !wanted.contains(tag) {
                    if asked.len() >= most || !classes.contains(&reference.class_tag) {
                        return;
                    }
                    if *tag == 0 {
                        *last += 1;
                        *tag = *last;
                    }
                    wanted.insert(*tag);
                    asked.push(*tag);
                }
                let referrers = found.entry(*tag).or_default();
                let class = match reference.kind {
                    ReferenceKind::Static | ReferenceKind::Class => reference.referrer_tag,
                    _ => reference.referrer_class_tag,
                };
                let key = (reference.kind, class);
                if referrers.len() < MAX_KINDS || referrers.contains_key(&key) {
                    *referrers.entry(key).or_default() += 1;
                }
            })
        };
        pauses.measure(walk)?;
        Ok(found)
    }

    /// Shows objects by their ids; returns how many do not live any more.
    fn show(
        &mut self,
        ids: &[i64],
        referrers: Option<&BTreeMap<i64, Referrers>>,
        jni: &Jni,
        reply: &mut Reply,
    ) -> Result<usize> {
        let frame = jni.large_local_frame();
        let found: BTreeMap<i64, LocalRef<'_>> = self
            .jvmti
            .objects_with_tags(&frame, ids)?
            .into_iter()
            .map(|(object, id)| (id, object))
            .collect();
        let mut number = 0;
        for id in ids {
            let Some(object) = found.get(id) else {
                continue;
            };
            number += 1;
            let mut shown = Shown::new(self, &frame, reply, number);
            shown.object(*id, object.get())?;
            if let Some(referrers) = referrers.and_then(|all| all.get(id)) {
                shown.referrers(referrers)?;
            }
            if shown.is_full() {
                reply.push("cut", "the answer is as long as it may be");
                break;
            }
        }
        Ok(ids.len().saturating_sub(found.len()))
    }
}
