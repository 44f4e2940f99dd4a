//! Which objects of a dump are threads, and which threads of the VM they are.

use hashbrown::HashMap;
use hprof_format::binary::{BasicType, IdSize};
use hprof_format::ids::ObjectId;

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
