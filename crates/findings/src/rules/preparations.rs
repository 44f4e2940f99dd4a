//! Objects that are expensive to make and could be kept, but are made anew for each piece of work.

use hprof_format::ids::TraceSerial;
use hprof_stacks::Frame;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::{count, percent};

/// A kind of such objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prepared {
    /// `java.util.regex.Pattern`.
    Patterns,
    /// Formats of dates, numbers and messages.
    Formats,
    /// Factories of parsers and transformers of XML, and contexts of JAXB.
    XmlFactories,
    /// `ObjectMapper` of Jackson, `Gson`.
    JsonMappers,
    /// Methods, fields and constructors by their names.
    Reflection,
    /// `javax.net.ssl.SSLContext`, with the certificates that it reads.
    TlsContexts,
}

/// Samples of threads that make objects which could be kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preparations {
    /// The kind that most of them make.
    pub kind: Option<Prepared>,
    /// Their share of the samples of CPU.
    pub share: f64,
    /// Their number.
    pub samples: f64,
    /// The line that has them made.
    pub place: Option<Place>,
}

/// Fewer samples may be the start of the program.
const FEWEST: f64 = 20.0;

impl Prepared {
    /// The kind that a method makes.
    fn of(frame: &Frame) -> Option<Self> {
        let (class, method) = (&*frame.class_name, &*frame.method);
        let is_new = method == "<init>";
        let is_factory = method.starts_with("new") || method == "find";
        Some(match class {
            "java.util.regex.Pattern" if is_new || method == "compile" => Self::Patterns,
            "java.text.SimpleDateFormat" | "java.text.DecimalFormat" if is_new => Self::Formats,
            "java.text.MessageFormat" if is_new || method == "applyPattern" => Self::Formats,
            "java.time.format.DateTimeFormatter" if method == "ofPattern" => Self::Formats,
            "java.time.format.DateTimeFormatterBuilder" if method == "appendPattern" => {
                Self::Formats
            }
            "javax.xml.parsers.FactoryFinder"
            | "javax.xml.stream.FactoryFinder"
            | "javax.xml.transform.FactoryFinder"
            | "javax.xml.xpath.XPathFactoryFinder"
            | "javax.xml.validation.SchemaFactoryFinder"
            | "javax.xml.datatype.FactoryFinder"
                if is_factory =>
            {
                Self::XmlFactories
            }
            "javax.xml.bind.JAXBContext" | "jakarta.xml.bind.JAXBContext"
                if method == "newInstance" =>
            {
                Self::XmlFactories
            }
            "com.fasterxml.jackson.databind.ObjectMapper"
            | "com.fasterxml.jackson.databind.json.JsonMapper"
            | "tools.jackson.databind.json.JsonMapper"
            | "com.google.gson.Gson"
                if is_new =>
            {
                Self::JsonMappers
            }
            "java.lang.Class"
                if [
                    "getMethod",
                    "getDeclaredMethod",
                    "getField",
                    "getDeclaredField",
                    "getConstructor",
                    "getDeclaredConstructor",
                ]
                .iter()
                .any(|start| method.starts_with(start)) =>
            {
                Self::Reflection
            }
            "javax.net.ssl.SSLContext" if method == "init" => Self::TlsContexts,
            _ => return None,
        })
    }

    fn work(self) -> &'static str {
        match self {
            Self::Patterns => "Regular expressions were compiled",
            Self::Formats => "Formats of dates, numbers or messages were made",
            Self::XmlFactories => "Factories of XML were looked up",
            Self::JsonMappers => "Mappers of JSON were made",
            Self::Reflection => "Methods, fields or constructors were looked up by name",
            Self::TlsContexts => "Contexts of TLS were made",
        }
    }
}

impl Figures for Preparations {
    const RULE: &'static str = "preparations";
    const NEEDS: &'static [&'static str] = &[
        "jdk.ExecutionSample",
        "jdk.CPUTimeSample",
        "datadog.ExecutionSample",
    ];

    fn of(recorded: &Recorded) -> Self {
        let mut sums: FxHashMap<Prepared, f64> = FxHashMap::default();
        let mut all = 0.0;
        // Many samples have one stack.
        let mut kinds: FxHashMap<TraceSerial, Option<Prepared>> = FxHashMap::default();
        for sample in &recorded.samples {
            all += sample.count;
            let kind = kinds.entry(sample.trace);
            let kind = kind.or_insert_with(|| recorded.frames(sample.trace).find_map(Prepared::of));
            if let Some(kind) = *kind {
                *sums.entry(kind).or_default() += sample.count;
            }
        }
        // Kinds in their order, where two have as many.
        let most = sums
            .into_iter()
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let kind = most.map(|it| it.0);
        let samples = most.map_or(0.0, |it| it.1);
        let its = recorded.samples.iter();
        let its = its.filter(|it| kind.is_some() && kinds.get(&it.trace) == Some(&kind));
        Self {
            kind,
            share: samples / f64::max(all, 1.0),
            samples,
            place: recorded.place(its.map(|it| (it.trace, it.count))),
        }
    }

    fn level(&self) -> Level {
        match self.samples >= FEWEST {
            true => Level::of(self.share, 0.15, 0.6),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        match (self.level(), self.kind) {
            (Level::Ok, _) | (_, None) => format!(
                "Patterns, formats, factories and the like were made in {} of the CPU samples.",
                percent(self.share)
            ),
            (_, Some(kind)) => format!(
                "{} in {} of the CPU samples ({}){}.",
                kind.work(),
                percent(self.share),
                count(self.samples),
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "Such an object takes far longer to make than to use, and this line makes it again for each use.".to_owned()
    }

    fn next(&self) -> String {
        match self.kind {
            Some(Prepared::Patterns) | None => {
                "Compile the Pattern once, into a static final field: String.matches, replaceAll and split compile theirs in each call."
            }
            Some(Prepared::Formats) => {
                "Keep a DateTimeFormatter in a static final field, which all threads may use; a SimpleDateFormat or DecimalFormat belongs \
                 to one thread."
            }
            Some(Prepared::XmlFactories) => {
                "Keep the factory or context: newInstance searches the class path and loads services each time."
            }
            Some(Prepared::JsonMappers) => {
                "Keep one mapper for the program: threads may share it, and it keeps what it has learnt of classes."
            }
            Some(Prepared::Reflection) => {
                "Keep the Method, Field or Constructor, or a MethodHandle of it, in a static final field or a ClassValue."
            }
            Some(Prepared::TlsContexts) => {
                "Keep the SSLContext, or the client that has it: each one reads the certificates again, and knows no earlier session."
            }
        }
        .to_owned()
    }
}
