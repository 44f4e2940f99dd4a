//! The objects that fill a suspect.

use super::ClassShare;
use super::elements::Elements;
use super::start::{is_built_in_loader, is_of_the_jdk};
use super::within::LAMBDA;
use crate::graph::ReferenceKind;
use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

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
        /// The objects that fill them in turn, if they are collections or only pass on to objects of the program.
        within: Option<Within>,
        /// True if they, the nodes, or the objects within them, are class loaders.
        are_loaders: bool,
        /// Several loaders that have loaded the class once each.
        copies: Option<Box<Copies>>,
        /// The references among these objects or their nodes, if most of these are references.
        references: Option<References>,
    },
}

/// The objects in those that fill a suspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within {
    /// Their number, if they were counted.
    pub objects: Option<u64>,
    /// Their class.
    pub class: String,
}

/// Classes of one name, each with a loader of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies {
    /// The class, unless it is that of the objects which fill the suspect.
    pub class: Option<String>,
    /// The number of loaders.
    pub loaders: u64,
    /// The class of one of them.
    pub example_class: String,
    /// Its identifier.
    pub example_id: u64,
}

/// Objects of a class of `java.lang.ref.Reference` that fill a suspect, or in which it keeps its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct References {
    /// Their class.
    pub class: String,
    /// Their kind.
    pub kind: ReferenceKind,
    /// Those that were looked at.
    pub looked_at: u64,
    /// Those of these whose referents are gone.
    pub cleared: u64,
}

impl Filling {
    /// Adds the objects that fill a suspect which is held in the same way.
    pub(super) fn join(&mut self, other: &Self) {
        let (
            Self::Objects {
                objects,
                class,
                average,
                within,
                ..
            },
            Self::Objects {
                objects: more,
                class: other_class,
                average: other_average,
                within: more_within,
                ..
            },
        ) = (self, other)
        else {
            return;
        };
        if class != other_class {
            return;
        }
        let bytes = *objects * *average + more * other_average;
        *objects += more;
        *average = bytes / (*objects).max(1);
        if let Some(within) = within {
            within.objects = match more_within {
                Some(more) if more.class == within.class => within.objects.zip(more.objects),
                _ => None,
            }
            .map(|(some, more)| some + more);
        }
    }
}

impl References {
    /// True if the referents of most of them are gone.
    pub fn are_cleared(&self) -> bool {
        2 * self.cleared > self.looked_at
    }
}

/// The objects that fill a subject: those of the class that keeps most alive, by what lies under it.
pub(super) fn filling(
    snapshot: &Snapshot,
    bytes: u64,
    found: &Elements,
    within: impl Fn(&str) -> Option<Within>,
) -> Option<Filling> {
    let main = beside_keys(&found.shares).or(found.shares.first());
    // Arrays of branches say less than the nodes that have them.
    let nodes = found.links.iter().find(|it| !it.name.ends_with("[]"));
    let links = found.links.first().map(|first| match nodes {
        Some(nodes) if 2 * nodes.objects >= first.objects => nodes,
        _ => first,
    });
    let links = links.filter(|_| found.chained + found.own_nodes >= super::candidates::LIST);
    if let Some(links) = links {
        // A list or tree is filled with its nodes, unless each has many elements, or is of the JDK and has an element of
        // the program.
        let has_elements = |main: &ClassShare| {
            // Nodes of a collection have what the program has put into it.
            let is_put_in =
                found.own_nodes > 0 && main.bytes > bytes / 2 && !is_of_the_jdk(&main.name);
            main.objects > 2 * links.objects
                || is_put_in && 2 * main.objects > links.objects
                || 2 * main.objects > links.objects
                    && is_of_the_jdk(&links.name)
                    && !is_of_the_jdk(&main.name)
        };
        if !main.is_some_and(has_elements) {
            // Blocks of a list have their elements in arrays.
            let blocks = main.filter(|main| main.name.ends_with("[]"));
            // Nodes of the program have one element each, or some of them have.
            let own = main.filter(|main| {
                blocks.is_none() && !is_of_the_jdk(&main.name) && main.bytes > bytes / 2
            });
            // A lambda expression says less than what it has captured.
            let elements = own.map(|main| {
                let captured = Some(&main.name).filter(|it| it.contains(LAMBDA));
                captured.and_then(|it| within(it)).unwrap_or(Within {
                    objects: Some(main.objects),
                    class: main.name.clone(),
                })
            });
            return Some(Filling::Objects {
                objects: links.objects,
                class: links.name.clone(),
                nodes: None,
                average: bytes / links.objects.max(1),
                within: elements.or_else(|| blocks.and_then(|main| within(&main.name))),
                are_loaders: is_loader(snapshot, &links.name),
                copies: copies(snapshot, &links.name).map(Box::new),
                references: None,
            });
        }
    }
    let nodes = found.parts.iter().find(|it| !it.name.ends_with("[]"));
    let references = found.references.clone();
    // References whose referents are gone hold nothing, and are why the keys beside them stay.
    let cleared = references.as_ref().filter(|it| it.are_cleared());
    let cleared = cleared.and_then(|it| found.shares.iter().find(|row| row.name == it.class));
    let main = cleared
        .filter(|it| main.is_some_and(|main| 2 * it.objects > main.objects))
        .or(main);
    let families = families(&found.shares);
    // Generated classes are many with one object each.
    let is_generated =
        |it: &&ClassShare| it.objects >= super::candidates::LIST && it.bytes > bytes / 2;
    let family = families.first().filter(is_generated);
    let Some(main) = main.filter(|it| it.objects > 1).or(family).or(main) else {
        // Elements that are not in the dump, or that others hold as well: the entries are what there is.
        let nodes = nodes?;
        return Some(Filling::Objects {
            objects: nodes.objects,
            class: nodes.name.clone(),
            nodes: None,
            average: bytes / nodes.objects.max(1),
            within: None,
            are_loaders: false,
            copies: None,
            references: None,
        });
    };
    // One object among others, such as one of many static fields, is not what fills.
    if main.objects == 1 && main.bytes < bytes / 2 {
        return None;
    }
    let within = within(&main.name).filter(|_| main.objects > 1);
    let has_loaders = (within.as_ref()).is_some_and(|it| is_loader(snapshot, &it.class));
    Some(Filling::Objects {
        objects: main.objects,
        class: main.name.clone(),
        nodes: nodes.map(|it| it.name.clone()),
        average: main.bytes / main.objects.max(1),
        within,
        are_loaders: is_loader(snapshot, &main.name) || has_loaders,
        copies: copies_in(snapshot, found, main).map(Box::new),
        references: references.filter(|it| {
            it.class == main.name || nodes.is_some_and(|nodes| it.class == nodes.name)
        }),
    })
}

/// The class beside keys that are as many and little more: texts and boxed numbers say less than what they lead to.
fn beside_keys(shares: &[ClassShare]) -> Option<&ClassShare> {
    /// The share of the keys that the others have at least.
    const NEARLY: f64 = 0.8;
    const KEYS: [&str; 3] = ["java.lang.String", "java.lang.Integer", "java.lang.Long"];
    let is_key = |share: &ClassShare| KEYS.contains(&share.name.as_str());
    let first = shares.first().filter(|first| is_key(first))?;
    let enough = |part: u64, whole: u64| part as f64 >= whole as f64 * NEARLY;
    let mut others = shares.iter().filter(|share| !is_key(share));
    others.find(|it| enough(it.objects, first.objects) && enough(it.bytes, first.bytes))
}

/// Rows of classes whose names differ only in numbers, together.
fn families(shares: &[ClassShare]) -> Vec<ClassShare> {
    let mut rows: Vec<ClassShare> = Vec::new();
    let mut at: rustc_hash::FxHashMap<String, usize> = rustc_hash::FxHashMap::default();
    for share in shares {
        let mut name = String::with_capacity(share.name.len());
        for c in share.name.chars() {
            match c.is_ascii_digit() {
                true if name.ends_with('*') => {}
                true => name.push('*'),
                false => name.push(c),
            }
        }
        let row = *at.entry(name.clone()).or_insert_with(|| {
            rows.push(ClassShare {
                name,
                objects: 0,
                bytes: 0,
            });
            rows.len() - 1
        });
        rows[row].objects += share.objects;
        rows[row].bytes += share.bytes;
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    rows
}

fn is_loader(snapshot: &Snapshot, name: &str) -> bool {
    let classes = snapshot.graph().classes();
    let mut all = classes.numbers();
    all.any(|class| classes.get(class).name == name && classes.is_a(class, "java.lang.ClassLoader"))
}

/// The loaders of the class of the objects that fill a suspect, or of a class of the program within these.
fn copies_in(snapshot: &Snapshot, found: &Elements, main: &ClassShare) -> Option<Copies> {
    let many = |it: &Copies| it.loaders > main.objects / 2;
    copies(snapshot, &main.name).or_else(|| {
        let inner = found.main_classes(snapshot, &main.name).into_iter();
        let mut own = inner.filter(|class| !is_of_the_jdk(class));
        own.find_map(|class| {
            let copies = copies(snapshot, &class).filter(many)?;
            Some(Copies {
                class: Some(class),
                ..copies
            })
        })
    })
}

fn copies(snapshot: &Snapshot, name: &str) -> Option<Copies> {
    let graph = snapshot.graph();
    let all = graph.classes().list().iter();
    let loaders: Vec<ObjectNumber> = all
        .filter(|class| class.name == name && class.loader != 0)
        .filter_map(|class| graph.number(class.loader))
        .filter(|&loader| !is_built_in_loader(snapshot.class_name(loader)))
        .collect();
    let first = *loaders.first().filter(|_| loaders.len() > 1)?;
    Some(Copies {
        class: None,
        loaders: loaders.len() as u64,
        example_class: snapshot.class_name(first).to_owned(),
        example_id: graph.id(first),
    })
}
