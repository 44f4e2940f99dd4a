//! The sizes of objects, which the VM's dump does not tell.

use hashbrown::HashMap;
use hprof_format::model::InstanceLayout;

use crate::names::java_class_name;
use crate::report;
use crate::vm::{ArrayLayout, Jni, Jvmti, measure_arrays, measure_classes};

/// How large objects are in the VM.
pub struct Sizes {
    arrays: ArrayLayout,
    /// By class name. Classes of different loaders may share a name, and differ.
    classes: HashMap<String, Vec<u64>>,
}

impl Sizes {
    /// Measures arrays and classes. `None` if the VM does not help.
    pub fn measure(jvmti: &Jvmti, jni: &Jni) -> Option<Self> {
        let arrays = measure_arrays(jvmti, jni).ok()?;
        let mut by_name: HashMap<String, Vec<u64>> = HashMap::new();
        match measure_classes(jni) {
            Ok(measured) => {
                for class in measured {
                    let name = java_class_name(&class.signature);
                    by_name.entry(name).or_default().push(class.bytes);
                }
            }
            Err(error) => {
                report::error(&format!("sizes in the heap dump are estimates ({error})"));
            }
        }
        Some(Self {
            arrays,
            classes: by_name,
        })
    }

    /// The layout of arrays.
    pub fn arrays(&self) -> ArrayLayout {
        self.arrays
    }

    /// Bytes of an instance of the class `name`, whose fields are `layout`.
    pub fn instance(&self, name: &str, layout: &InstanceLayout) -> u64 {
        let estimate = self.arrays.estimate_instance(
            u64::from(layout.references),
            u64::from(layout.primitive_bytes),
        );
        let known = self.classes.get(name).into_iter().flatten().copied();
        known
            .min_by_key(|size| size.abs_diff(estimate))
            .unwrap_or(estimate)
    }
}
