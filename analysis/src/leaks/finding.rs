//! Findings about a suspect: its subject, its holder and its contents, for the command to put into
//! words.

use super::ClassShare;
use crate::numbers::ObjectNumber;
use crate::paths::{Path, Step};
use crate::snapshot::{EdgeKind, Snapshot};

/// The findings about a suspect that its figures do not show.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The object or objects that are suspected.
    pub subject: Subject,
    /// True if other suspects keep alive a part that the figures of this one leave out.
    pub is_rest: bool,
    /// The holder of the subject.
    pub holder: Holder,
    /// The objects that fill the subject, if there are any.
    pub filling: Option<Filling>,
    /// The number of objects that the contents are those of, if these are only the largest of a
    /// group.
    pub looked_at: Option<u64>,
    /// True if only soft references lead to the subject.
    pub is_soft: bool,
}

/// The object or objects that are suspected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// One object, with a description as [`Snapshot::describe`] gives it.
    Object(String),
    /// All small objects of a class.
    Group(String),
    /// Several objects of a class, each held in an equal way.
    Alike(String),
    /// Values of ThreadLocals of a class, each held by its thread.
    ThreadLocals(String),
}

/// The holder of a suspect, at the start of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// No object holds a whole group.
    None,
    /// A thread, by a ThreadLocal.
    ThreadLocal,
    /// A static field.
    Static {
        /// Its name.
        field: String,
        /// The description of the class.
        class: String,
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
}

/// The objects that fill a suspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filling {
    /// The suspects are a group; each keeps this number of bytes alive on average.
    Each(u64),
    /// Objects of a class.
    Objects {
        /// Their number.
        objects: u64,
        /// Their class.
        class: String,
        /// The class of the nodes or entries that they are in.
        nodes: Option<String>,
        /// The bytes that each keeps alive on average.
        average: u64,
        /// True if they, or the nodes, are class loaders.
        are_loaders: bool,
        /// Several loaders that have loaded the class once each.
        copies: Option<Copies>,
    },
}

/// Classes of one name, each with a loader of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies {
    /// The number of loaders.
    pub loaders: u64,
    /// The class of one of them.
    pub example_class: String,
    /// Its identifier.
    pub example_id: u64,
}

/// The facts about a suspect that findings are made of.
pub(super) struct Facts<'a> {
    pub candidate_count: u64,
    /// The number of candidates that the contents are those of.
    pub looked_at: u64,
    /// True if most of a group is held by one object, at the end of the path.
    pub is_common: bool,
    /// The class of a group.
    pub group: Option<&'a str>,
    pub path: &'a Path,
    pub objects: &'a [ObjectNumber],
    pub bytes: u64,
    /// True if other suspects keep alive what is not in `bytes`.
    pub is_rest: bool,
    pub children: &'a [ClassShare],
    pub contents: &'a [ClassShare],
}

impl Finding {
    /// The findings about one suspect.
    pub(super) fn new(snapshot: &Snapshot, facts: &Facts<'_>) -> Self {
        let owner = owner(snapshot, facts.path);
        Self {
            subject: match facts.group {
                Some(class) => Subject::Group(class.to_owned()),
                None => Subject::Object(facts.path.steps[owner].description.clone()),
            },
            is_rest: facts.is_rest,
            holder: holder(snapshot, facts, owner),
            filling: filling(snapshot, facts),
            looked_at: (facts.group.is_some() && facts.looked_at < facts.candidate_count)
                .then_some(facts.looked_at),
            is_soft: false,
        }
    }

    /// Another suspect, whose path is equal but for the objects on it, was added to this one.
    pub(super) fn join(&mut self, path: &Path) {
        let entry = thread_local_entry(path);
        let last = path.steps.len() - 1;
        let step = entry.map_or(last, |entry| (entry + 1).min(last));
        // Only the class: what tells one object from another differs among them.
        let description = &path.steps[step].description;
        let class = description.split(' ').next().unwrap_or(description);
        self.subject = match entry {
            Some(_) => Subject::ThreadLocals(class.to_owned()),
            None => Subject::Alike(class.to_owned()),
        };
    }

    /// The rest of an object was added to what other suspects keep alive, so the figures are those
    /// of all of it.
    pub(super) fn join_rest(&mut self) {
        if let Subject::Object(_) = self.subject {
            self.is_rest = false;
        }
    }
}

/// The step of the path that a person would name: the collection around the accumulation point,
/// or that point itself.
fn owner(snapshot: &Snapshot, path: &Path) -> usize {
    let last = path.steps.len() - 1;
    if let Some(entry) = thread_local_entry(path) {
        return (entry + 1).min(last);
    }
    let near = last.saturating_sub(4)..=last;
    let is_named = |&step: &usize| snapshot.collection(path.steps[step].object).is_some();
    let mut steps = near.rev();
    steps.find(is_named).unwrap_or(last)
}

/// The step of the path that is an entry of a thread's map of ThreadLocals.
fn thread_local_entry(path: &Path) -> Option<usize> {
    let entry = "java.lang.ThreadLocal$ThreadLocalMap$Entry";
    let is_entry = |step: &Step| step.description == entry;
    path.steps.iter().rposition(is_entry)
}

fn holder(snapshot: &Snapshot, facts: &Facts<'_>, owner: usize) -> Holder {
    let (steps, positions) = (&facts.path.steps, facts.path.positions());
    let before = |step: usize| facts.objects[positions[step] - 1];
    if facts.group.is_some() && !facts.is_common {
        return Holder::None;
    }
    if thread_local_entry(facts.path).is_some() {
        return Holder::ThreadLocal;
    }
    let through = |from: usize| -> Vec<String> {
        let field = |step: usize| {
            let edge = steps[step].edge.as_ref()?;
            (edge.kind == EdgeKind::Field).then(|| {
                let class = snapshot.class_name(before(step));
                format!("{class}.{}", edge.name)
            })
        };
        (from..=owner).filter_map(field).collect()
    };
    // The last static field or local variable on the way says most. The middle of a long way, which is not among the
    // steps, has none in a list.
    let named = (1..=owner).rev().find_map(|step| {
        let edge = steps[step].edge.as_ref()?;
        matches!(edge.kind, EdgeKind::Static | EdgeKind::Local).then_some((step, edge))
    });
    match named {
        Some((step, edge)) if edge.kind == EdgeKind::Static => Holder::Static {
            field: edge.name.clone(),
            class: snapshot.describe(before(step)),
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

fn filling(snapshot: &Snapshot, facts: &Facts<'_>) -> Option<Filling> {
    if facts.group.is_some() {
        return Some(Filling::Each(facts.bytes / facts.candidate_count.max(1)));
    }
    let main = facts.children.first()?;
    // One object among others, such as one of many static fields, is not what fills.
    if main.objects == 1 && main.bytes < facts.bytes / 2 {
        return None;
    }
    // Nodes and entries say nothing; what is in them does.
    let class = &main.name;
    let in_nodes = ["$Node", "$Entry", "$TreeNode", "Entry", "Node"];
    let is_node = in_nodes.iter().any(|suffix| class.ends_with(suffix))
        && (class.starts_with("java.util.") || class.starts_with("android."));
    let inner = facts.contents.iter().find(|share| {
        is_node
            && share.name != *class
            && !share.name.starts_with("java.")
            && !share.name.ends_with("[]")
            && share.objects >= main.objects / 2
    });
    let filled_with = inner.unwrap_or(main);
    Some(Filling::Objects {
        objects: filled_with.objects,
        class: filled_with.name.clone(),
        nodes: inner.map(|_| class.clone()),
        average: main.bytes / filled_with.objects.max(1),
        are_loaders: is_loader(snapshot, class),
        copies: copies(snapshot, &filled_with.name),
    })
}

fn is_loader(snapshot: &Snapshot, name: &str) -> bool {
    let classes = snapshot.graph().classes();
    let mut all = classes.numbers();
    all.any(|class| classes.get(class).name == name && classes.is_a(class, "java.lang.ClassLoader"))
}

fn copies(snapshot: &Snapshot, name: &str) -> Option<Copies> {
    let graph = snapshot.graph();
    let all = graph.classes().list().iter();
    let loaders: Vec<ObjectNumber> = all
        .filter(|class| class.name == name && class.loader != 0)
        .filter_map(|class| graph.number(class.loader))
        .collect();
    let first = *loaders.first().filter(|_| loaders.len() > 1)?;
    Some(Copies {
        loaders: loaders.len() as u64,
        example_class: snapshot.class_name(first).to_owned(),
        example_id: graph.id(first),
    })
}
