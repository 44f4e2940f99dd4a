//! The paths to the objects of a dump, in a form that can be compared between dumps.
//!
//! Objects have other identifiers in every dump, but a leak grows at the same place: at the end of
//! the same shortest path, read as the classes on it. Elements of a list that follow one another
//! are one step, so that a longer list is the same place; fields of the program's classes are others each. Local variables come last: a thread that stands in a map's method at
//! the moment of one dump would else be the place of all entries there.

use std::borrow::Cow;
use std::hash::Hasher;
use std::io;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::leaks::{is_jdk_object, is_own_class};
use crate::marks::Marks;
use crate::names;
use crate::numbers::ObjectNumber;
use crate::paths::{ShortestPaths, Turn};
use crate::snapshot::Snapshot;

/// All places of a dump that hold objects, by a number that is the same in every dump.
pub type Places = FxHashMap<u64, Place>;

/// The end of a path, read as classes.
#[derive(Debug, Clone)]
pub struct Place {
    /// The number of the place before; 0 for those of roots.
    pub before: u64,
    /// The class of the objects here, or the one that they are.
    pub class: String,
    /// True of class objects.
    pub is_class: bool,
    /// The field by which the place before, of a class of the program, refers to them.
    pub field: Option<String>,
    /// How many there are.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub bytes: u64,
    /// One of them, by number.
    pub example: ObjectNumber,
    depth: u32,
    of: Writer,
}

impl Place {
    /// The class, or `class X` for class objects.
    pub fn name(&self) -> Cow<'_, str> {
        match self.is_class {
            true => Cow::Owned(format!("class {}", self.class)),
            false => Cow::Borrowed(&self.class),
        }
    }
}

/// Who has written the class of a place, or the class that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// The JDK.
    Jdk,
    /// The program, whose class object this is.
    ProgramsClass,
    /// The program or a library.
    Other,
}

/// Places beyond these count for the one before them, which keeps memory small whatever a dump
/// is like.
const MAX_PLACES: usize = 500_000;
const MAX_DEPTH: u32 = 40;

/// The paths that places are made of: the shortest, and those through local variables only where there is no other.
///
/// # Errors
/// If the store cannot hold the arrays of the search.
pub fn lasting_paths(snapshot: &Snapshot) -> io::Result<ShortestPaths> {
    let graph = snapshot.graph();
    let mut threads = Marks::new(graph.len());
    let mut locals = FxHashSet::default();
    for (thread, root) in graph.locals() {
        threads.set(thread.index());
        locals.insert((*thread, root.object()));
    }
    let turn = |from: Option<ObjectNumber>, to| {
        let is_local = match from {
            // A local variable of an unknown thread.
            None => graph.roots_of(to).iter().all(|root| root.is_local()),
            Some(from) => threads.has(from.index()) && locals.contains(&(from, to)),
        };
        match is_local {
            true => Turn::Later,
            false => Turn::Now,
        }
    };
    ShortestPaths::in_turns(graph, snapshot.store(), &turn)
}

/// The places of all live objects.
///
/// # Errors
/// If there is no room for the place of each object.
pub fn places(snapshot: &Snapshot, paths: &ShortestPaths) -> io::Result<Places> {
    let graph = snapshot.graph();
    let mut place_of = snapshot.store().zeros::<u64>(graph.len())?;
    let classes = graph.classes().list();
    let family = |name: &str| names::family(name).into_owned();
    let class_names: Vec<String> = classes.iter().map(|class| family(&class.name)).collect();
    let mut places = Places::default();
    for position in 0..paths.len() {
        let object = paths.reached_at(position);
        let holder = paths.before(object).filter(|&before| before != object);
        let before = holder.map_or(0, |before| place_of[before.index()]);
        let class_object = graph.class_of_object(object);
        let class = class_object.unwrap_or_else(|| graph.class_of(object));
        let name = &class_names[class.index()];
        let is_class = class_object.is_some();
        let is_here = |place: &Place| place.is_class == is_class && place.class == *name;
        let (is_same, depth) = match places.get(&before) {
            Some(place) if is_here(place) => (true, place.depth),
            Some(place) => (false, place.depth + 1),
            None => (false, 0),
        };
        let mut number = before;
        let mut field = None;
        if !is_same {
            let is_programs = |place: &Place| place.of != Writer::Jdk;
            field = holder
                .filter(|_| places.get(&before).is_some_and(is_programs))
                .and_then(|holder| snapshot.field_to(holder, object));
            let mut hasher = FxHasher::default();
            hasher.write_u64(before);
            hasher.write_u8(u8::from(is_class));
            hasher.write(field.unwrap_or_default().as_bytes());
            hasher.write(name.as_bytes());
            // 0 is no place.
            number = hasher.finish().max(1);
            let is_new = !places.contains_key(&number);
            if is_new && before != 0 && (depth > MAX_DEPTH || places.len() >= MAX_PLACES) {
                number = before;
            }
        }
        place_of[object.index()] = number;
        let place = places.entry(number).or_insert_with(|| Place {
            before,
            class: name.clone(),
            is_class,
            field: field.map(str::to_owned),
            objects: 0,
            bytes: 0,
            example: object,
            depth,
            of: match (
                is_own_class(snapshot, object),
                is_jdk_object(snapshot, object),
            ) {
                (true, _) => Writer::ProgramsClass,
                (_, true) => Writer::Jdk,
                _ => Writer::Other,
            },
        });
        place.objects += 1;
        place.bytes += graph.size(object);
    }
    Ok(places)
}

/// The places on the path to a place, from the root on. Objects of the JDK before a class of the program are left out: they keep
/// its loader.
pub fn path(places: &Places, place: u64) -> Vec<&Place> {
    let mut steps = Vec::new();
    let mut at = place;
    while let Some(place) = places
        .get(&at)
        .filter(|_| steps.len() <= MAX_DEPTH as usize)
    {
        steps.push(place);
        at = place.before;
    }
    steps.reverse();
    let holders = steps.iter().take_while(|it| it.of == Writer::Jdk).count();
    let leads_on = holders + 1 < steps.len();
    let is_own = |it: &&Place| it.of == Writer::ProgramsClass;
    let from = match steps.get(holders).filter(|it| is_own(it) && leads_on) {
        Some(_) => holders,
        None => 0,
    };
    steps.split_off(from.min(steps.len()))
}
