//! Findings about a suspect: its subject, its holder and its contents, for the command to put into
//! words.

use super::filling::Filling;
use super::registries::Registry;
use super::start::is_of_the_jdk_or_collections;
use super::waiting::Waiting;
use crate::direct_buffers::DirectBuffers;
use crate::numbers::ObjectNumber;
use crate::paths::Path;
use crate::snapshot::{Description, EdgeKind, Snapshot};

/// The findings about a suspect that its figures do not show.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The object or objects that are suspected.
    pub subject: Subject,
    /// True if other suspects keep alive a part that the figures of this one leave out.
    pub is_rest: bool,
    /// The holder of the subject.
    pub holder: Holder,
    /// The last field of the program on the way to the subject, if one of its fields is on it.
    pub field: Option<OwnField>,
    /// The static fields by which a class keeps most of what it keeps, as names without the class.
    pub statics: Vec<String>,
    /// The objects that fill the subject, if there are any.
    pub filling: Option<Filling>,
    /// The number of objects that the contents are those of, if these are only the largest of a
    /// group.
    pub looked_at: Option<u64>,
    /// The direct buffers that the subject keeps alive, whose memory is outside of the heap, if there are any.
    pub direct: Option<DirectBuffers>,
    /// The keys of the largest entries, if the subject is a `java.util.Properties`.
    pub keys: Vec<String>,
    /// The registry of the JDK that holds it, if no field of the program does.
    pub registry: Option<Registry>,
    /// The references among its objects that wait in a queue, if most of them do.
    pub waiting: Option<Waiting>,
    /// True if only soft references lead to the subject.
    pub is_soft: bool,
}

/// The object or objects that are suspected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// One object.
    Object(Description),
    /// All small objects of a class.
    Group(String),
    /// Several objects of a class, each held in an equal way.
    Alike(String),
    /// Values of ThreadLocals of a class, each held by its thread.
    ThreadLocals(String),
    /// Hidden classes of one name, each with static fields of its own.
    HiddenClasses(String),
    /// Threads.
    Threads {
        /// Their names, with `*` for a number that differs; none if they have nothing in common.
        name: Option<String>,
        /// Their class.
        class: String,
        /// True of virtual threads.
        are_virtual: bool,
    },
}

/// The holder of a suspect, at the start of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// No object holds a whole group.
    None,
    /// A thread, by a ThreadLocal.
    ThreadLocal {
        /// The static field that has the ThreadLocal, if one does, as `Class.field`.
        variable: Option<OwnField>,
        /// The names of the threads, with `*` for a number that differs, if there are several.
        threads: Option<String>,
    },
    /// A static field.
    Static {
        /// The field, as `Class.field`.
        field: String,
        /// The fields from there on, as `Class.field`.
        through: Vec<String>,
    },
    /// The root of the path.
    Root {
        /// The name of the local variable, if it is one.
        local: Option<String>,
        /// The fields from there on, as `Class.field`.
        through: Vec<String>,
    },
    /// The subjects are threads, and keep what is theirs.
    Threads {
        /// The name of the local variable that keeps most of it, if one does.
        local: Option<String>,
        /// The fields from the thread or the local variable on, as `Class.field`.
        through: Vec<String>,
        /// The first of these that is of the program, or the last.
        field: Option<String>,
        /// The innermost method of the largest of them that is not of the JDK.
        method: Option<String>,
        /// The object that keeps most of what that thread keeps, with a description as [`Snapshot::describe`] gives it.
        value: String,
        /// The bytes that this object keeps alive.
        value_bytes: u64,
    },
}

/// A field that a class of the program declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnField {
    /// The field, as `Class.field`, with the class that declares it.
    pub name: String,
    /// True of a static field.
    pub is_static: bool,
}

impl Finding {
    /// Another suspect, whose path is equal but for the objects on it, was added to this one.
    pub(super) fn join(&mut self, other: &Self) {
        if let (Some(filling), Some(other)) = (&mut self.filling, &other.filling) {
            filling.join(other);
        }
        if let Some(more) = other.direct {
            let direct = self.direct.get_or_insert_default();
            direct.buffers += more.buffers;
            direct.capacity = direct.capacity.saturating_add(more.capacity);
        }
        self.keys.clear();
        // Only the class: what tells one object from another differs among them.
        let class = self.class().to_owned();
        self.subject = match self.holder {
            Holder::ThreadLocal { .. } => Subject::ThreadLocals(class),
            Holder::Threads { .. } => return,
            _ => Subject::Alike(class),
        };
    }
}

/// The static field with the loader of the program, which says no more than the loader: the field of the loader does.
const SYSTEM_LOADER: &str = "java.lang.ClassLoader.scl";

/// The holder at the start of the path to a subject, whose objects are given, too. Of several static fields and local
/// variables on the way the last one says most.
pub(super) fn holder(snapshot: &Snapshot, path: &Path, objects: &[ObjectNumber]) -> Holder {
    let (steps, positions) = (&path.steps, path.positions());
    let last = steps.len().saturating_sub(1);
    let before = |step: usize| objects[positions[step] - 1];
    if let Some(entry) = thread_local_entry(snapshot, objects) {
        return Holder::ThreadLocal {
            variable: variable(snapshot, objects[entry]),
            threads: None,
        };
    }
    let through = |from: usize| -> Vec<String> {
        let field = |step: usize| {
            let edge = steps[step].edge.as_ref()?;
            (edge.kind == EdgeKind::Field).then(|| field_name(snapshot, before(step), &edge.name))
        };
        (from..=last).filter_map(field).collect()
    };
    // The middle of a long way, which is not among the steps, has none in a list.
    let named = (1..=last).rev().find_map(|step| {
        let edge = steps[step].edge.as_ref()?;
        let is_named = match edge.kind {
            EdgeKind::Static => static_name(snapshot, before(step), &edge.name) != SYSTEM_LOADER,
            kind => kind == EdgeKind::Local,
        };
        is_named.then_some((step, edge))
    });
    match named {
        Some((step, edge)) if edge.kind == EdgeKind::Static => Holder::Static {
            field: static_name(snapshot, before(step), &edge.name),
            through: through(step + 1),
        },
        Some((step, edge)) => Holder::Root {
            local: Some(edge.name.clone()),
            through: through(step + 1),
        },
        None => Holder::Root {
            local: None,
            through: through(1),
        },
    }
}

/// The last field on a path that a class of the program declares: it leads to the line of code. A field by which an
/// object refers to another one of its class is a link of a list, and counts only if there is no other. So does one that the
/// compiler made.
pub(super) fn own_field(
    snapshot: &Snapshot,
    path: &Path,
    objects: &[ObjectNumber],
) -> Option<OwnField> {
    let graph = snapshot.graph();
    let (steps, positions) = (&path.steps, path.positions());
    let mut link = None;
    for step in (1..steps.len()).rev() {
        let edge = steps[step].edge.as_ref()?;
        let (from, to) = (objects[positions[step] - 1], objects[positions[step]]);
        let field = match edge.kind {
            EdgeKind::Field => OwnField {
                name: field_name(snapshot, from, &edge.name),
                is_static: false,
            },
            EdgeKind::Static => OwnField {
                name: static_name(snapshot, from, &edge.name),
                is_static: true,
            },
            // Before a local variable there is only its thread.
            EdgeKind::Local => break,
            _ => continue,
        };
        if is_of_the_jdk_or_collections(&field.name) {
            continue;
        }
        let is_link = graph.class_of(from) == graph.class_of(to) || is_synthetic(&field.name);
        if field.is_static || !is_link {
            return Some(field);
        }
        link.get_or_insert(field);
    }
    link
}

/// True of fields that compilers make: for the outer instance, and for variables that a local class or a lambda
/// expression captures.
fn is_synthetic(name: &str) -> bool {
    let (class, field) = name.rsplit_once('.').unwrap_or(("", name));
    class.contains("$$Lambda") || field.starts_with("this$") || field.starts_with("val$")
}

/// A field of an object, as `Class.field`, with the class that declares it.
pub(super) fn field_name(snapshot: &Snapshot, object: ObjectNumber, field: &str) -> String {
    let classes = snapshot.graph().classes();
    let mut fields = classes.fields(snapshot.graph().class_of(object));
    let placed = fields.find(|placed| placed.field.name == field);
    let class = placed.map_or(snapshot.class_name(object), |placed| {
        &classes.get(placed.class).name
    });
    format!("{class}.{field}")
}

/// A static field of the class that an object is, as `Class.field`.
pub(super) fn static_name(snapshot: &Snapshot, class: ObjectNumber, field: &str) -> String {
    let graph = snapshot.graph();
    let class = graph.class_of_object(class);
    let class = class.map_or("", |class| graph.classes().get(class).name.as_str());
    format!("{class}.{field}")
}

/// The position on a path of an entry of a thread's map of ThreadLocals.
pub(super) fn thread_local_entry(snapshot: &Snapshot, objects: &[ObjectNumber]) -> Option<usize> {
    let entry = "java.lang.ThreadLocal$ThreadLocalMap$Entry";
    let is_entry = |&object: &ObjectNumber| snapshot.class_name(object) == entry;
    objects.iter().rposition(is_entry)
}

/// The static field that has the ThreadLocal of an entry.
pub(super) fn variable(snapshot: &Snapshot, entry: ObjectNumber) -> Option<OwnField> {
    let graph = snapshot.graph();
    let id = graph.id(snapshot.field_object(entry, "referent")?);
    graph.classes().list().iter().find_map(|class| {
        let mut statics = class.statics.iter();
        let field = statics.find(|field| field.type_code <= 2 && field.bits == id)?;
        Some(OwnField {
            name: format!("{}.{}", class.name, field.name),
            is_static: true,
        })
    })
}
