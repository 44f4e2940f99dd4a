//! The strings of a snapshot, as a source for counting, and as a sign of stripped contents.

use hprof_format::binary::SubRecord;
use hprof_format::ids::ObjectId;

use super::Snapshot;
use crate::graph::Graph;
use crate::heap::{Layout, StringClass, StringSource, Uniform};
use crate::marks::SharedMarks;
use crate::numbers::ObjectNumber;

/// Strings that are looked at to tell whether contents were blanked.
const LOOKED_AT: usize = 500;
/// The looks at the file after which it is let go of.
const LOOKS: usize = 16;

impl Snapshot {
    /// True if a tool blanked the contents of strings and arrays, so that nothing can be
    /// said of them.
    pub fn is_stripped(&self) -> bool {
        *self.stripped.get_or_init(|| {
            if self.contents.lacks_elements {
                return true;
            }
            let mut uniform = Uniform::default();
            let is_string: Vec<bool> = (self.graph.classes().list().iter())
                .map(|class| class.name == "java.lang.String")
                .collect();
            let class_of = |object| self.graph.class_of(ObjectNumber::new(object));
            let all = SharedMarks::of(self.graph.len(), |object| {
                is_string[class_of(object).index()]
            });
            let all = all.into_marks();
            // The first strings are the VM's own, so some of all are looked at.
            let step = all.len() / LOOKED_AT + 1;
            let some = all.iter().step_by(step).map(ObjectNumber::new);
            for (number, string) in some.enumerate() {
                // Each lies elsewhere, and the system may map megabytes around it.
                if number % LOOKS == LOOKS - 1 {
                    crate::input::forget(&self.file, 0..self.file.len());
                }
                let array = self.field_object(string, "value");
                let located = array.and_then(|array| self.graph.locate(&self.file, array));
                if let Some((
                    _,
                    SubRecord::PrimitiveArray {
                        element, values, ..
                    },
                )) = located
                {
                    uniform.see(element, values);
                }
            }
            uniform.is_stripped()
        })
    }
}

impl StringSource for Graph {
    fn layout(&self) -> Layout {
        Self::layout(self).0
    }

    fn id_bytes(&self) -> usize {
        self.id_size().bytes()
    }

    fn string_classes(&self) -> Vec<StringClass> {
        let classes = self.classes();
        let all = classes.numbers().zip(classes.list());
        let strings = all.filter(|(_, class)| class.name == "java.lang.String" && class.id != 0);
        let described = strings.filter_map(|(number, class)| {
            let place = |name| {
                let mut fields = classes.fields(number);
                let placed = fields.find(|placed| placed.field.name == name);
                placed.map(|placed| placed.offset)
            };
            Some(StringClass {
                class: ObjectId::new(class.id),
                value: place("value")?,
                coder: place("coder"),
                part: place("offset").zip(place("count")),
                shallow: class.instance_bytes.unwrap_or(0),
            })
        });
        described.collect()
    }
}

impl StringSource for Snapshot {
    fn layout(&self) -> Layout {
        StringSource::layout(&self.graph)
    }

    fn id_bytes(&self) -> usize {
        self.graph.id_bytes()
    }

    fn string_classes(&self) -> Vec<StringClass> {
        self.graph.string_classes()
    }
}
