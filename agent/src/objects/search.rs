//! Instances of a class, with a condition or without.

use hprof_java_names::Primitive;
use hprof_wire::control::Reply;
use hprof_wire::object_query::ObjectQuery;

use super::show::plain;
use super::{Objects, Pauses, tagging};
use crate::vm::{Class, Jni, Jvmti, LocalRef, Ref, Result};

/// Instances that a condition is tried on. Each has a tag meanwhile, some 50 bytes.
const MAX_LOOKED: u64 = 2_000_000;
/// Candidates that are turned into references at once, a power of two: the most room that the VM grants.
const BATCH_BITS: u32 = 15;
/// Matches that are taken for one that is asked for: some may be unreachable.
const SPARE: usize = 4;
/// Matches that are taken in any case.
const MIN_MATCHES: usize = 1000;

/// The objects that a question is about.
pub(super) enum Search {
    /// These, by their ids. Some may be unreachable.
    Found(Vec<i64>),
    /// Any of the classes with these ids.
    AllOf(Vec<i64>),
}

impl Objects {
    /// Instances of a class, or a sentence that says why there are none.
    pub(super) fn search(
        &mut self,
        query: &ObjectQuery,
        name: &str,
        jni: &Jni,
        pauses: &mut Pauses,
        reply: &mut Reply,
    ) -> Result<std::result::Result<Search, String>> {
        let frame = jni.large_local_frame();
        let signature = signature(name);
        let mut classes = Vec::new();
        for class in self.jvmti.loaded_classes(&frame)? {
            if self.jvmti.class_signature(class.get())? == signature {
                classes.push(class);
            }
        }
        if classes.is_empty() {
            return Ok(Err(format!(
                "no class {name} is loaded; names are those of `jcmd PID GC.class_histogram`, such as \
                 com.acme.Cart, com.acme.Cart$Item, byte[]"
            )));
        }
        let is_picked_later = query.referrers && query.condition.is_none();
        let most = match (is_picked_later, query.referrers) {
            (true, _) => 0,
            (false, true) => (query.limit as usize * SPARE).max(MIN_MATCHES),
            (false, false) => query.limit as usize,
        };
        let mut tags = Vec::new();
        for class in classes.iter().filter(|_| is_picked_later) {
            tags.push(self.id(class.get().as_object())?);
        }
        let mut totals = Totals::default();
        let mut ids = Vec::new();
        for class in classes {
            let more = match &query.condition {
                None => self.first(&class, most - ids.len(), pauses, &mut totals)?,
                Some((field, value)) => {
                    let fields = self.jvmti.instance_fields(&frame, class)?;
                    let Some(at) = fields.names().rposition(|it| it == field) else {
                        let names: Vec<&str> = fields.names().collect();
                        return Ok(Err(format!(
                            "{name} has no field {field}; it has {}",
                            match names.is_empty() {
                                true => "none".to_owned(),
                                false => names.join(", "),
                            }
                        )));
                    };
                    let candidates = Candidates::tag(&frame, fields.class(), pauses, &mut totals)?;
                    let string = frame.find_class(c"java/lang/String")?;
                    let is_meant = |jni: &Jni, object: Ref<'_>| {
                        let value_of = fields.value(jni, object, at);
                        value_of.is_some_and(|it| plain(jni, string.get(), &it) == *value)
                    };
                    self.matching(&candidates, most - ids.len(), &frame, is_meant)?
                }
            };
            ids.extend(more);
        }
        reply.push("instances", totals.objects);
        reply.push("instances_bytes", totals.bytes);
        if totals.objects > MAX_LOOKED && query.condition.is_some() {
            reply.push("looked_at", MAX_LOOKED);
        }
        Ok(Ok(match is_picked_later {
            true => Search::AllOf(tags),
            false => Search::Found(ids),
        }))
    }

    /// Gives the first instances ids, and counts all.
    fn first(
        &mut self,
        class: &LocalRef<'_, Class>,
        most: usize,
        pauses: &mut Pauses,
        totals: &mut Totals,
    ) -> Result<Vec<i64>> {
        // No memory is asked for while the program stands still.
        let mut ids = Vec::with_capacity(most);
        let last = &mut self.last;
        let jvmti = &self.jvmti;
        pauses.measure(|| {
            jvmti.walk_instances(class.get(), &mut |object| {
                totals.add(object.size);
                if ids.len() < most {
                    if *object.tag == 0 {
                        *last += 1;
                        *object.tag = *last;
                    }
                    ids.push(*object.tag);
                }
            })
        })?;
        Ok(ids)
    }

    /// Gives the candidates that are meant ids.
    fn matching(
        &mut self,
        candidates: &Candidates,
        most: usize,
        jni: &Jni,
        is_meant: impl Fn(&Jni, Ref<'_>) -> bool,
    ) -> Result<Vec<i64>> {
        let mut ids = Vec::new();
        for batch in 1..=candidates.batches {
            let frame = jni.large_local_frame();
            for (object, _) in candidates.jvmti.objects_with_tags(&frame, &[batch])? {
                if ids.len() >= most {
                    return Ok(ids);
                }
                if is_meant(&frame, object.get()) {
                    ids.push(self.id(object.get())?);
                }
            }
        }
        Ok(ids)
    }
}

/// The objects that a walk has met, and their bytes.
#[derive(Debug, Default)]
struct Totals {
    objects: u64,
    bytes: u64,
}

impl Totals {
    fn add(&mut self, size: u64) {
        self.objects += 1;
        self.bytes += size;
    }
}

/// The instances of a class, tagged with the numbers of batches, from 1 on. Their environment takes the
/// tags along when it ends.
struct Candidates {
    jvmti: Jvmti,
    batches: i64,
}

impl Candidates {
    fn tag(
        jni: &Jni,
        class: Ref<'_, Class>,
        pauses: &mut Pauses,
        totals: &mut Totals,
    ) -> Result<Self> {
        let jvmti = tagging(jni)?;
        let mut tagged = 0u64;
        pauses.measure(|| {
            jvmti.walk_instances(class, &mut |object| {
                totals.add(object.size);
                if tagged < MAX_LOOKED {
                    *object.tag = (tagged >> BATCH_BITS) as i64 + 1;
                    tagged += 1;
                }
            })
        })?;
        let batches = tagged.div_ceil(1 << BATCH_BITS) as i64;
        Ok(Self { jvmti, batches })
    }
}

/// The signature of a class by its name, as Java source or the VM spells it.
fn signature(name: &str) -> String {
    let mut element = name;
    let mut dimensions = String::new();
    while let Some(rest) = element.strip_suffix("[]") {
        element = rest;
        dimensions.push('[');
    }
    if element.starts_with('[') {
        return element.replace('.', "/");
    }
    let primitive = Primitive::ALL.iter().find(|it| it.name() == element);
    match primitive {
        Some(primitive) if !dimensions.is_empty() => {
            format!("{dimensions}{}", char::from(primitive.descriptor()))
        }
        _ => format!("{dimensions}L{};", element.replace('.', "/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_signatures() {
        for (name, expected) in [
            ("com.acme.Cart", "Lcom/acme/Cart;"),
            ("com/acme/Cart$Item", "Lcom/acme/Cart$Item;"),
            ("byte[]", "[B"),
            ("long[][]", "[[J"),
            ("java.lang.String[]", "[Ljava/lang/String;"),
            ("[Ljava.lang.String;", "[Ljava/lang/String;"),
            ("int", "Lint;"),
        ] {
            assert_eq!(signature(name), expected, "{name}");
        }
    }
}
