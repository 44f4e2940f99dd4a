//! Which objects of a dump are threads, and which threads of the VM they are.

use hashbrown::{HashMap, HashSet};
use hprof_format::binary::{BasicType, IdSize};
use hprof_format::ids::ObjectId;
use hprof_format::model::{Root, RootKind};

use super::survey::Survey;

/// Finds the threads among the objects: a field of `java.lang.Thread` holds the VM's pointer to its
/// own thread while that lives.
pub struct ThreadObjects {
    /// Thread and its subclasses, and where the field lies in the values of their instances.
    classes: Vec<(ObjectId, usize)>,
    /// A bit for some bits of each class id.
    filter: [u64; FILTER_WORDS],
    /// The VM's pointers to live threads, by thread object.
    pub pointers: HashMap<ObjectId, u64>,
}

const FILTER_WORDS: usize = 64;

impl ThreadObjects {
    /// For the classes that are known by now.
    pub fn new(survey: &Survey) -> Self {
        let mut found = Self {
            classes: Vec::new(),
            filter: [0; FILTER_WORDS],
            pointers: HashMap::new(),
        };
        for class in &survey.classes {
            if let Some(at) = pointer_place(survey, class.id) {
                found.classes.push((class.id, at));
                let (word, bit) = filter_place(class.id);
                found.filter[word] |= bit;
            }
        }
        found
    }

    /// Looks at an instance.
    #[inline]
    pub fn note(&mut self, object: ObjectId, class: ObjectId, values: &[u8]) {
        let (word, bit) = filter_place(class);
        if self.filter[word] & bit != 0 {
            self.note_slowly(object, class, values);
        }
    }

    #[inline(never)]
    fn note_slowly(&mut self, object: ObjectId, class: ObjectId, values: &[u8]) {
        let Some(&(_, at)) = self.classes.iter().find(|(id, _)| *id == class) else {
            return;
        };
        let pointer = values.get(at..).and_then(|rest| rest.first_chunk());
        if let Some(pointer) = pointer.map(|bytes| u64::from_be_bytes(*bytes))
            && pointer != 0
        {
            self.pointers.insert(object, pointer);
        }
    }
}

/// The objects of threads, found by the roots, while it is not known which class is `java.lang.Thread`.
pub struct ThreadRoots {
    /// A bit for some bits of each id.
    filter: Box<[u64; ROOT_FILTER_WORDS]>,
    roots: HashSet<ObjectId>,
    /// Object, class and values.
    found: Vec<(ObjectId, ObjectId, Box<[u8]>)>,
}

/// Programs may have thousands of threads.
const ROOT_FILTER_WORDS: usize = 1 << 10;

impl ThreadRoots {
    /// For all roots that are threads.
    pub fn new(roots: &[Root]) -> Self {
        let mut new = Self {
            filter: Box::new([0; ROOT_FILTER_WORDS]),
            roots: HashSet::new(),
            found: Vec::new(),
        };
        for root in roots {
            if let RootKind::ThreadObject { .. } = root.kind {
                let (word, bit) = root_place(root.object);
                new.filter[word] |= bit;
                new.roots.insert(root.object);
            }
        }
        new
    }

    /// Looks at an instance.
    #[inline]
    pub fn note(&mut self, object: ObjectId, class: ObjectId, values: &[u8]) {
        let (word, bit) = root_place(object);
        if self.filter[word] & bit != 0 && self.roots.contains(&object) {
            self.found.push((object, class, values.into()));
        }
    }

    /// The threads, now that names are known.
    pub fn named(self, survey: &Survey) -> ThreadObjects {
        let mut threads = ThreadObjects::new(survey);
        for (object, class, values) in &self.found {
            threads.note(*object, *class, values);
        }
        threads
    }
}

#[inline]
fn root_place(object: ObjectId) -> (usize, u64) {
    let bits = (object.get() >> 3) as usize;
    ((bits >> 6) % ROOT_FILTER_WORDS, 1 << (bits & 63))
}

#[inline]
fn filter_place(class: ObjectId) -> (usize, u64) {
    // Ids are addresses, multiples of eight.
    let bits = (class.get() >> 3) as usize;
    ((bits >> 6) % FILTER_WORDS, 1 << (bits & 63))
}

fn pointer_place(survey: &Survey, class: ObjectId) -> Option<usize> {
    let mut at = 0;
    for class in survey.hierarchy(class) {
        for &(name, basic_type) in &class.fields {
            let is_pointer = &*class.name == "java.lang.Thread" && survey.text(name) == "eetop";
            if is_pointer && basic_type == BasicType::Long {
                return Some(at);
            }
            at += basic_type.width(IdSize::Eight);
        }
    }
    None
}
