//! References together with those of each object to its class.

use super::number::Number;
use super::references::{ReferenceView, References};

/// All that an object keeps alive: what it refers to, and its class.
#[derive(Debug)]
pub struct Links<'a, N> {
    view: ReferenceView<'a, N>,
    class_of: &'a [u32],
    class_objects: Vec<N>,
}

impl<'a, N: Number> Links<'a, N> {
    /// `class_objects` holds the object of each class; none where it need not be followed.
    pub fn new(
        references: &'a References<N>,
        class_of: &'a [u32],
        class_objects: &[Option<usize>],
    ) -> Self {
        let number = |object: &Option<usize>| object.map_or(N::NONE, N::of);
        Self {
            view: references.view(),
            class_of,
            class_objects: class_objects.iter().map(number).collect(),
        }
    }

    /// The number of objects.
    pub fn count(&self) -> usize {
        self.class_of.len()
    }

    /// Calls `visit` with all that an object keeps alive.
    #[inline(always)]
    pub fn each(&self, object: usize, mut visit: impl FnMut(usize)) {
        for target in self.view.of(object) {
            visit(target);
        }
        let class = self.class_objects[self.class_of[object] as usize];
        if class != N::NONE {
            visit(class.get());
        }
    }

    /// True if the object keeps nothing alive.
    #[inline(always)]
    pub fn is_leaf(&self, object: usize) -> bool {
        self.view.is_empty(object) && self.class_objects[self.class_of[object] as usize] == N::NONE
    }
}
