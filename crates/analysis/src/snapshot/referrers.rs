//! The referrers of an object.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Snapshot;
use super::describe::Edge;
use crate::graph::{Number, References, Width};
use crate::numbers::ObjectNumber;
use crate::parallel;

/// The objects whose references one task looks at.
const TASK: usize = 1 << 16;

impl Snapshot {
    /// The objects that refer to one, each once, with how they do; of class objects that includes
    /// all instances.
    pub fn referrers(&self, object: ObjectNumber) -> Vec<(ObjectNumber, Edge)> {
        let mut found = self.holders(object);
        if self.graph.class_of_object(object).is_some() {
            let known: FxHashSet<ObjectNumber> = found.iter().map(|(from, _)| *from).collect();
            let instances = self.instances(object).filter(|from| !known.contains(from));
            found.extend(instances.map(|from| (from, Edge::to_class())));
        }
        found
    }

    /// The objects that refer to one in ways other than being its instances.
    pub fn holders(&self, object: ObjectNumber) -> Vec<(ObjectNumber, Edge)> {
        (self.referring(object).into_iter())
            .map(|from| (from, self.edge(from, object)))
            .collect()
    }

    /// The objects that refer to one, each once.
    pub fn referring(&self, object: ObjectNumber) -> Vec<ObjectNumber> {
        match self.graph.width() {
            Width::Narrow(references) => referrers(references, object),
            Width::Wide(references) => referrers(references, object),
        }
    }

    /// The instances of the class that a class object stands for.
    pub fn instances(&self, class_object: ObjectNumber) -> impl Iterator<Item = ObjectNumber> + '_ {
        let class = self.graph.class_of_object(class_object);
        let graph = &self.graph;
        (graph.objects()).filter(move |&object| Some(graph.class_of(object)) == class)
    }

    /// The object of an object's class, if the file has it.
    pub fn class_object(&self, object: ObjectNumber) -> Option<ObjectNumber> {
        let class = self.graph.classes().get(self.graph.class_of(object));
        self.graph.number(class.id).filter(|_| class.id != 0)
    }

    /// The objects that one refers to, each once, with how; its class last.
    pub fn references(&self, object: ObjectNumber) -> Vec<(ObjectNumber, Edge)> {
        // All at once: to look for the edge of each would take the square of their number.
        let list = self.reference_list(object);
        let mut edges: FxHashMap<ObjectNumber, Edge> = FxHashMap::default();
        for at in 0.. {
            match self.reference_at(&list, at) {
                Some(Some((edge, target))) => {
                    edges.entry(target).or_insert(edge);
                }
                Some(None) => {}
                None => break,
            }
        }
        let mut seen = FxHashSet::default();
        let mut targets = self.graph.references(object);
        targets.retain(|&target| seen.insert(target));
        let mut found: Vec<(ObjectNumber, Edge)> = (targets.into_iter())
            .map(|to| {
                let edge = edges.remove(&to);
                (to, edge.unwrap_or_else(|| self.edge(object, to)))
            })
            .collect();
        let class = self.class_object(object).filter(|it| !seen.contains(it));
        found.extend(class.map(|class| (class, Edge::to_class())));
        found
    }

    /// The objects that refer to one in a way that does not keep it alive.
    pub fn weak_referrers(&self, object: ObjectNumber) -> Vec<ObjectNumber> {
        let passed_over = self.graph.passed_over().iter();
        (passed_over.filter(|reference| reference.1 == object.index() as u64))
            .map(|reference| ObjectNumber::new(reference.0 as usize))
            .collect()
    }
}

fn referrers<N: Number>(references: &References<N>, object: ObjectNumber) -> Vec<ObjectNumber> {
    let view = references.view();
    let object = object.index();
    let count = references.len();
    let parts = parallel::run(0, count.div_ceil(TASK), |tasks| {
        let mut found = Vec::new();
        for task in tasks {
            let all = task * TASK..count.min((task + 1) * TASK);
            found.extend(all.filter(|&from| view.of(from).any(|to| to == object)));
        }
        found
    });
    let mut found = parts.concat();
    found.sort_unstable();
    found.into_iter().map(ObjectNumber::new).collect()
}
