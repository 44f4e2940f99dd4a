//! The head of a dump: totals, what it lacks, the largest objects; and its leak suspects.

use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use utoipa::ToSchema;

use super::opened::Opened;
use super::report::{Report, Step, Suspect};
use super::sites::has_sites;
use crate::ids::SuspectCode;

/// Objects that an overview names.
const BIGGEST: usize = 20;

/// Properties that tell the JVM.
const JVM: [&str; 12] = [
    "java.version",
    "java.vendor",
    "java.vm.name",
    "java.vm.version",
    "java.vm.info",
    "java.runtime.version",
    "java.home",
    "sun.java.command",
    "os.name",
    "os.version",
    "os.arch",
    "user.timezone",
];

/// The head of a dump.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Overview {
    /// The dump's name.
    pub file: String,
    /// When it was taken, in milliseconds since 1970-01-01 UTC.
    pub created_at: Option<u64>,
    /// The model of sizes, and which references were followed, as a sentence.
    pub model: String,
    /// The gaps of the dump, as sentences.
    pub notes: Vec<String>,
    /// Observations beside the suspects: deadlocks, memory that no root reaches, memory outside of the heap.
    pub observations: Vec<ObservationItem>,
    /// Totals, as docs/report-schema.md has them.
    #[schema(value_type = Object)]
    pub summary: Value,
    /// Facts of the JVM, by the names of its system properties; on Android of the device.
    pub jvm: BTreeMap<String, String>,
    /// The objects that retain most.
    pub biggest: Vec<Biggest>,
    /// The views, by the ends of their addresses, that have nothing to show of this dump.
    pub empty: Vec<&'static str>,
}

/// An object that retains much.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Biggest {
    /// Its identifier.
    pub object: String,
    /// The object in a few words.
    pub name: String,
    /// Its retained size, in bytes.
    pub retained: u64,
    /// The share of the live heap, from 0 to 100.
    pub percent: f64,
}

/// The head of a dump.
pub fn overview(opened: &Opened) -> Overview {
    let report = &opened.report;
    let biggest = report.objects.iter().take(BIGGEST).map(|share| Biggest {
        object: share.id.clone(),
        name: share.description.clone(),
        retained: share.retained_bytes,
        percent: opened.percent(share.retained_bytes),
    });
    Overview {
        file: opened.files.name.clone(),
        created_at: report.created_millis,
        model: report.model.clone(),
        notes: report.notes.clone(),
        observations: observations(report),
        summary: report.summary.clone(),
        jvm: jvm(report),
        biggest: biggest.collect(),
        empty: empty(opened),
    }
}

/// Views that have nothing to show; only what is known without looking at objects.
fn empty(opened: &Opened) -> Vec<&'static str> {
    let classes = opened.snapshot.graph().classes();
    let described = || classes.list().iter().filter(|class| class.is_described);
    let mut names = HashSet::new();
    let is_twice = described().any(|class| !names.insert(&*class.name));
    let sums = || classes.numbers().zip(opened.sums());
    let has_buffers = sums().any(|(class, sum)| {
        sum.live + sum.unreached > 0 && classes.is_a(class, "java.nio.DirectByteBuffer")
    });
    let has_unreachable = sums().any(|(_, sum)| sum.unreached > 0);
    let has = [
        ("android", opened.report.android.is_some()),
        ("buffers", has_buffers),
        ("duplicate-classes", is_twice),
        ("properties", !opened.report.properties.is_empty()),
        ("sites", has_sites(opened)),
        ("unreachable", has_unreachable),
    ];
    has.into_iter().filter(|it| !it.1).map(|it| it.0).collect()
}

fn jvm(report: &Report) -> BTreeMap<String, String> {
    let properties = report.properties.iter();
    let known = properties.filter(|(name, _)| JVM.contains(&name.as_str()));
    let mut facts: BTreeMap<String, String> = known.cloned().collect();
    for (name, value) in report.android.iter().flatten() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => continue,
            other => other.to_string(),
        };
        facts.insert(name.clone(), text);
    }
    facts
}

/// An observation about a dump.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ObservationItem {
    /// The kind, as docs/report-schema.md lists them.
    pub kind: String,
    /// The observation in a sentence.
    pub title: String,
    /// The facts, in sentences.
    pub sentences: Vec<String>,
}

fn observations(report: &Report) -> Vec<ObservationItem> {
    let all = report.observations.iter().map(|it| ObservationItem {
        kind: it.kind.clone(),
        title: it.headline.clone(),
        sentences: it.sentences.clone(),
    });
    all.collect()
}

/// Leak suspects, the largest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Suspects {
    /// Observations beside them.
    pub observations: Vec<ObservationItem>,
    /// The suspects.
    pub items: Vec<SuspectItem>,
    /// The largest object, if there are no suspects.
    pub largest: Option<SuspectItem>,
}

/// A leak suspect.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SuspectItem {
    /// The suspicion in a sentence.
    pub title: String,
    /// Its code in `/fleet/suspects/{code}`, equal in all dumps; none in analyses of earlier versions.
    pub code: Option<SuspectCode>,
    /// The last field of the program on the way to it, as `Class.field`; none if the program has none there.
    pub field: Option<String>,
    /// The facts, in sentences.
    pub sentences: Vec<String>,
    /// The share of the live heap, from 0 to 100.
    pub percent: f64,
    /// The bytes that are kept alive.
    pub bytes: u64,
    /// How many objects are suspected together.
    pub count: u64,
    /// The object that the title names; of a group the one at which memory piles up.
    pub object: String,
    /// Its class.
    pub class: Option<String>,
    /// The root in words.
    pub root: String,
    /// The way from the root to it.
    pub path: Vec<PathItem>,
    /// The last of the way, where memory piles up.
    pub accumulation: Option<PathItem>,
    /// The objects that the last of the way dominates directly, by class.
    pub children: Vec<SuspectChild>,
}

/// An object on a way from a root.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PathItem {
    /// Its identifier.
    pub object: String,
    /// The object in a few words.
    pub name: String,
    /// The field or element of the object before that holds it; of the first the root in words.
    pub field: Option<String>,
    /// Its retained size, in bytes.
    pub retained: u64,
    /// The objects between the one before and this one that are left out: of a list the middle. Then `field` is of
    /// the last of these.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Objects of a class that a suspect keeps alive.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SuspectChild {
    /// The class.
    pub class: String,
    /// The objects.
    pub count: u64,
    /// Their retained size, in bytes.
    pub bytes: u64,
}

/// The leak suspects of a dump.
pub fn suspects(opened: &Opened) -> Suspects {
    let leaks = &opened.report.leaks;
    let item = |suspect| item(opened, suspect);
    Suspects {
        observations: observations(&opened.report),
        items: leaks.suspects.iter().map(item).collect(),
        largest: leaks.largest.as_ref().map(item),
    }
}

fn item(opened: &Opened, suspect: &Suspect) -> SuspectItem {
    let path: Vec<PathItem> = (suspect.path.steps.iter()).map(step).collect();
    let id = (suspect.subject_id.as_ref()).unwrap_or(&suspect.accumulation_id);
    let object = opened.object(id).ok();
    let class = object.and_then(|object| opened.snapshot.class_object(object));
    let children = suspect.children.iter().map(|share| SuspectChild {
        class: share.name.clone(),
        count: share.objects,
        bytes: share.bytes,
    });
    SuspectItem {
        title: suspect.headline.clone(),
        code: (!suspect.signature.is_empty())
            .then(|| SuspectCode::of_signature(&suspect.signature)),
        field: suspect.field.clone(),
        sentences: suspect.sentences.clone(),
        percent: (suspect.share * 10_000.0).round() / 100.0,
        bytes: suspect.retained_bytes,
        count: suspect.count,
        object: id.clone(),
        class: class.map(|class| super::table::hex(opened.id(class))),
        root: suspect.path.root.clone(),
        accumulation: path.last().cloned(),
        path,
        children: children.collect(),
    }
}

/// A step of a way that a report tells.
pub(super) fn step(step: &Step) -> PathItem {
    let field = step.edge.as_ref().map(|edge| match edge.kind.as_str() {
        "field" => match &edge.reference {
            Some(kind) => format!(".{} ({kind})", edge.name),
            None => format!(".{}", edge.name),
        },
        "static" => format!(".{} (static)", edge.name),
        "element" => format!("[{}]", edge.name),
        _ => edge.name.clone(),
    });
    PathItem {
        object: step.id.clone(),
        name: step.description.clone(),
        field,
        retained: step.retained_bytes,
        more: step.more,
    }
}
