//! References together with those of each object to its class.

use super::class_of::ClassView;
use super::number::Number;
use super::references::{ReferenceView, References};
use crate::gate;
use crate::marks::{Marks, SharedMarks};
use crate::numbers::ClassNumber;

/// The references of an object that searches follow in their own order. Tests have longer lists, too.
const FEW: usize = if cfg!(test) { 2 } else { 64 };

/// Numbers are sorted by bits where their range has at most this many numbers for each of them.
const DENSE: usize = if cfg!(test) { 4 } else { 64 };

/// Sorts numbers and removes repeated ones. A bit for each number of their range is faster than comparisons where
/// they are many, as the entries of a large hash table are.
#[inline(never)]
fn sort_unique<N: Number>(numbers: &mut Vec<N>) {
    // A list is often filled in the order in which its elements are made.
    if numbers.is_sorted_by(|one, other| one < other) {
        return;
    }
    let range =
        (numbers.iter().min().zip(numbers.iter().max())).map(|(&least, &most)| (least, most));
    let Some((least, most)) = range else {
        return;
    };
    let span = most.get() - least.get() + 1;
    if span / DENSE > numbers.len() {
        numbers.sort_unstable();
        numbers.dedup();
        return;
    }
    let mut marks = Marks::new(span);
    for number in numbers.drain(..) {
        marks.set(number.get() - least.get());
    }
    numbers.extend(marks.iter().map(|number| N::of(least.get() + number)));
}

/// All that an object keeps alive: what it refers to, and its class.
#[derive(Debug)]
pub struct Links<'a, N> {
    view: ReferenceView<'a, N>,
    references: &'a References<N>,
    class_of: ClassView<'a>,
    class_objects: Vec<N>,
    /// A bit for each object whose class has to be followed, so that the classes of all others
    /// need not be looked up. Empty if there is none, or if classes are looked up.
    follows_class: Vec<u64>,
    looks_up: bool,
}

impl<'a, N: Number> Links<'a, N> {
    /// `class_objects` holds the object of each class; none where it need not be followed. To make them takes a
    /// walk over all objects; see [`Self::of_few`].
    pub fn new(
        references: &'a References<N>,
        class_of: impl Into<ClassView<'a>>,
        class_objects: &[Option<usize>],
    ) -> Self {
        let mut links = Self::of_few(references, class_of, class_objects);
        if links.looks_up {
            links.looks_up = false;
            let class_of = links.class_of;
            let follows: Vec<bool> = class_objects.iter().map(Option::is_some).collect();
            let marks = SharedMarks::of(class_of.len(), |object| {
                follows[class_of.of(object).index()]
            });
            links.follows_class = marks.into_marks().into_words();
        }
        links
    }

    /// Links that are made at once, and take longer for each object: for those who follow few.
    pub fn of_few(
        references: &'a References<N>,
        class_of: impl Into<ClassView<'a>>,
        class_objects: &[Option<usize>],
    ) -> Self {
        let number = |object: &Option<usize>| object.map_or(N::NONE, N::of);
        Self {
            view: references.view(),
            references,
            class_of: class_of.into(),
            class_objects: class_objects.iter().map(number).collect(),
            follows_class: Vec::new(),
            looks_up: class_objects.iter().any(Option::is_some),
        }
    }

    /// Tells whether objects are looked up in any order from now on.
    pub fn set_hot(&self, is_hot: bool) {
        self.references.set_hot(is_hot);
    }

    #[inline(always)]
    fn follows_class(&self, object: usize) -> bool {
        match self.follows_class.get(object / 64) {
            Some(word) => word >> (object % 64) & 1 != 0,
            None => {
                self.looks_up && self.class_objects[self.class_of.of(object).index()] != N::NONE
            }
        }
    }

    /// The number of objects.
    pub fn count(&self) -> usize {
        self.class_of.len()
    }

    /// Calls `visit` with all that an object keeps alive.
    #[inline(always)]
    pub fn each(&self, object: usize, mut visit: impl FnMut(usize)) {
        self.each_reference(object, &mut visit);
        if self.follows_class(object) {
            visit(self.class_objects[self.class_of.of(object).index()].get());
        }
    }

    /// Calls `visit` with the first [`FEW`] that an object keeps alive, and gives `rest` the others, each once and in the
    /// order of the heap: the entries of a large hash table lie all over it, and each would bring other memory.
    #[inline(always)]
    pub(crate) fn first(&self, object: usize, rest: &mut Vec<N>, mut visit: impl FnMut(usize)) {
        let mut length = 0;
        self.each(object, |target| {
            length += 1;
            match length <= FEW {
                true => visit(target),
                false => rest.push(N::of(target)),
            }
        });
        if length > FEW {
            sort_unique(rest);
        }
    }

    /// Calls `visit` with all that an object keeps alive but its class.
    #[inline(always)]
    pub fn each_reference(&self, object: usize, mut visit: impl FnMut(usize)) {
        for target in self.view.of(object) {
            gate::pass();
            visit(target);
        }
    }

    /// The class of an object.
    #[inline(always)]
    pub fn class_of(&self, object: usize) -> ClassNumber {
        self.class_of.of(object)
    }

    /// By class: the object that its instances keep alive, if that has to be followed.
    pub fn class_objects(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        let all = self.class_objects.iter();
        all.map(|&object| (object != N::NONE).then(|| object.get()))
    }

    /// The objects that keep others alive.
    pub(crate) fn inner(&self) -> Marks {
        let starts = &*self.references.start;
        let marks = SharedMarks::of(starts.len(), |object| {
            starts[object] != N::NONE || self.follows_class(object)
        });
        marks.into_marks()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_sorted_by_bits_and_by_comparison(
            mut numbers in prop::collection::vec(0u32..300, 0..100),
        ) {
            let expected: Vec<u32> = (numbers.iter().copied())
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect();
            sort_unique(&mut numbers);
            prop_assert_eq!(numbers, expected);
        }
    }
}
