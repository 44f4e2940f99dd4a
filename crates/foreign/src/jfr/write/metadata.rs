//! The metadata of a chunk that is written: types and events as the JDK names them, with the fields
//! that there is something for.

use super::bytes::Bytes;

/// Numbers of types. Numbers below 20 are none of the JDK's that its tools know by number.
pub(super) mod id {
    pub(in super::super) const THREAD: u64 = 30;
    pub(in super::super) const CLASS: u64 = 31;
    pub(in super::super) const SYMBOL: u64 = 32;
    pub(in super::super) const METHOD: u64 = 33;
    pub(in super::super) const FRAME_TYPE: u64 = 34;
    pub(in super::super) const THREAD_STATE: u64 = 35;
    pub(in super::super) const STACK_TRACE: u64 = 36;
    pub(in super::super) const EXECUTION_SAMPLE: u64 = 101;
    pub(in super::super) const ALLOCATION_SAMPLE: u64 = 102;
    pub(in super::super) const MONITOR_ENTER: u64 = 103;
    pub(in super::super) const SPREAD: u64 = 104;
    pub(in super::super) const ACTIVE_SETTING: u64 = 105;
    pub(in super::super) const MALLOC: u64 = 106;
    pub(in super::super) const FREE: u64 = 107;
    pub(in super::super) const NATIVE_LOCK: u64 = 108;
    pub(in super::super) const SLOW_CALL: u64 = 109;
}

const STACK_FRAME: u64 = 37;
const BOOLEAN: u64 = 20;
const INT: u64 = 21;
const LONG: u64 = 22;
const STRING: u64 = 23;
const LABEL: u64 = 201;
const CATEGORY: u64 = 202;
const TIMESTAMP: u64 = 203;
const TIMESPAN: u64 = 204;
const DATA_AMOUNT: u64 = 205;
const ADDRESS: u64 = 206;

/// When the events of a chunk happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// When they say.
    True,
    /// That is not known.
    Spread,
}

/// An element of the tree.
struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Element>,
}

fn element(name: &'static str) -> Element {
    Element {
        name,
        attributes: Vec::new(),
        children: Vec::new(),
    }
}

impl Element {
    fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.attributes.push((key, value.to_string()));
        self
    }

    fn child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    fn annotation(self, of: u64, key: &'static str, value: &str) -> Self {
        let annotation = element("annotation").with("class", of);
        self.child(annotation.with(key, value))
    }

    fn field(self, name: &str, of: u64) -> Self {
        self.child(element("field").with("name", name).with("class", of))
    }

    fn pooled(self, name: &str, of: u64) -> Self {
        let field = element("field").with("name", name).with("class", of);
        self.child(field.with("constantPool", "true"))
    }

    /// A field of type long with an annotation.
    fn measured(self, name: &str, annotation: u64, value: &str) -> Self {
        let field = element("field").with("name", name).with("class", LONG);
        self.child(field.annotation(annotation, "value", value))
    }
}

fn class(name: &str, id: u64) -> Element {
    element("class").with("name", name).with("id", id)
}

fn simple(name: &str, id: u64, field: &str) -> Element {
    class(name, id)
        .with("simpleType", "true")
        .field(field, STRING)
}

fn annotation_type(name: &str, id: u64) -> Element {
    let of = class(name, id).with("superType", "java.lang.annotation.Annotation");
    of.field("value", STRING)
}

fn event(name: &str, id: u64, label: &str) -> Element {
    class(name, id)
        .with("superType", "jdk.jfr.Event")
        .annotation(LABEL, "value", label)
        .annotation(CATEGORY, "value-0", "Java Virtual Machine")
        .measured("startTime", TIMESTAMP, "TICKS")
}

/// The address of a block or lock.
fn address() -> Element {
    element("field")
        .with("name", "address")
        .with("class", LONG)
        .child(element("annotation").with("class", ADDRESS))
}

fn root(times: Times) -> Element {
    let frames = element("field").with("name", "frames");
    let frames = frames.with("class", STACK_FRAME).with("dimension", 1);
    let types = element("metadata")
        .child(class("boolean", BOOLEAN))
        .child(class("int", INT))
        .child(class("long", LONG))
        .child(class("java.lang.String", STRING))
        .child(
            class("java.lang.Thread", id::THREAD)
                .field("osName", STRING)
                .field("osThreadId", LONG)
                .field("javaName", STRING)
                .field("javaThreadId", LONG),
        )
        .child(
            class("java.lang.Class", id::CLASS)
                .pooled("name", id::SYMBOL)
                .field("modifiers", INT),
        )
        .child(simple("jdk.types.Symbol", id::SYMBOL, "string"))
        .child(simple("jdk.types.FrameType", id::FRAME_TYPE, "description"))
        .child(simple("jdk.types.ThreadState", id::THREAD_STATE, "name"))
        .child(
            class("jdk.types.Method", id::METHOD)
                .pooled("type", id::CLASS)
                .pooled("name", id::SYMBOL)
                .pooled("descriptor", id::SYMBOL)
                .field("modifiers", INT)
                .field("hidden", BOOLEAN),
        )
        .child(
            class("jdk.types.StackTrace", id::STACK_TRACE)
                .field("truncated", BOOLEAN)
                .child(frames),
        )
        .child(
            class("jdk.types.StackFrame", STACK_FRAME)
                .pooled("method", id::METHOD)
                .field("lineNumber", INT)
                .field("bytecodeIndex", INT)
                .pooled("type", id::FRAME_TYPE),
        )
        .child(
            event(
                "jdk.ExecutionSample",
                id::EXECUTION_SAMPLE,
                "Method Profiling Sample",
            )
            .pooled("sampledThread", id::THREAD)
            .pooled("stackTrace", id::STACK_TRACE)
            .pooled("state", id::THREAD_STATE),
        )
        .child(
            event(
                "jdk.ObjectAllocationSample",
                id::ALLOCATION_SAMPLE,
                "Object Allocation Sample",
            )
            .pooled("eventThread", id::THREAD)
            .pooled("stackTrace", id::STACK_TRACE)
            .pooled("objectClass", id::CLASS)
            .measured("weight", DATA_AMOUNT, "BYTES"),
        )
        .child(
            event(
                "jdk.JavaMonitorEnter",
                id::MONITOR_ENTER,
                "Java Monitor Blocked",
            )
            .measured("duration", TIMESPAN, "TICKS")
            .pooled("eventThread", id::THREAD)
            .pooled("stackTrace", id::STACK_TRACE)
            .pooled("monitorClass", id::CLASS),
        )
        .child(
            event("profiler.Malloc", id::MALLOC, "malloc")
                .pooled("eventThread", id::THREAD)
                .pooled("stackTrace", id::STACK_TRACE)
                .child(address())
                .measured("size", DATA_AMOUNT, "BYTES"),
        )
        .child(
            event("profiler.Free", id::FREE, "free")
                .pooled("eventThread", id::THREAD)
                .pooled("stackTrace", id::STACK_TRACE)
                .child(address()),
        )
        .child(
            event("profiler.NativeLock", id::NATIVE_LOCK, "Native Lock Sample")
                .measured("duration", TIMESPAN, "TICKS")
                .pooled("eventThread", id::THREAD)
                .pooled("stackTrace", id::STACK_TRACE)
                .child(address()),
        )
        .child(
            event("profiler.SlowCall", id::SLOW_CALL, "Slow Call")
                .measured("duration", TIMESPAN, "TICKS")
                .pooled("eventThread", id::THREAD)
                .pooled("method", id::METHOD)
                .measured("cpuTime", TIMESPAN, "NANOSECONDS")
                .measured("stoppedByCollections", TIMESPAN, "NANOSECONDS")
                .field("traceId", STRING)
                .field("spanId", STRING),
        )
        .child(match times {
            Times::True => event("jdk.ActiveSetting", id::ACTIVE_SETTING, "Recording Setting")
                .field("id", LONG)
                .field("name", STRING)
                .field("value", STRING),
            Times::Spread => event(super::SPREAD, id::SPREAD, "Times Are Spread Evenly"),
        })
        .child(annotation_type("jdk.jfr.Label", LABEL))
        .child(
            class("jdk.jfr.Category", CATEGORY)
                .with("superType", "java.lang.annotation.Annotation")
                .child(
                    element("field")
                        .with("name", "value")
                        .with("class", STRING)
                        .with("dimension", 1),
                ),
        )
        .child(annotation_type("jdk.jfr.Timestamp", TIMESTAMP))
        .child(annotation_type("jdk.jfr.Timespan", TIMESPAN))
        .child(annotation_type("jdk.jfr.DataAmount", DATA_AMOUNT))
        .child(
            class("jdk.jfr.MemoryAddress", ADDRESS)
                .with("superType", "java.lang.annotation.Annotation"),
        );
    let region = element("region")
        .with("locale", "en_US")
        .with("gmtOffset", 0);
    element("root").child(types).child(region)
}

/// The body of the event: three numbers, strings, and the tree.
pub(super) fn body(times: Times) -> Bytes {
    let mut strings: Vec<String> = Vec::new();
    let mut tree = Bytes::default();
    write(&root(times), &mut strings, &mut tree);
    let mut body = Bytes::default();
    for number in [super::START_TICKS, 0, 1] {
        body.number(number);
    }
    body.number(strings.len() as u64);
    for text in &strings {
        body.text(text);
    }
    body.0.append(&mut tree.0);
    body
}

fn write(element: &Element, strings: &mut Vec<String>, out: &mut Bytes) {
    let mut string = |text: &str, out: &mut Bytes| {
        let known = strings.iter().position(|it| it == text);
        let index = known.unwrap_or_else(|| {
            strings.push(text.to_owned());
            strings.len() - 1
        });
        out.number(index as u64);
    };
    string(element.name, out);
    out.number(element.attributes.len() as u64);
    for (key, value) in &element.attributes {
        string(key, out);
        string(value, out);
    }
    out.number(element.children.len() as u64);
    for child in &element.children {
        write(child, strings, out);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn of<'a>(element: &'a Element, key: &str) -> Option<&'a str> {
        let mut attributes = element.attributes.iter();
        attributes
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.as_str())
    }

    /// The numbers of types that an element and those below refer to.
    fn referred<'a>(element: &'a Element, out: &mut Vec<&'a str>) {
        if element.name != "class" {
            out.extend(of(element, "class"));
        }
        for child in &element.children {
            referred(child, out);
        }
    }

    #[test]
    fn types_are_what_mission_control_requires() {
        for times in [Times::True, Times::Spread] {
            are_what_mission_control_requires(&root(times));
        }
    }

    fn are_what_mission_control_requires(root: &Element) {
        let types = &root.children[0].children;
        let by_id: BTreeMap<&str, &Element> =
            types.iter().map(|it| (of(it, "id").unwrap(), it)).collect();
        assert_eq!(by_id.len(), types.len(), "each has a number of its own");
        let mut used = Vec::new();
        referred(root, &mut used);
        for id in used {
            assert!(by_id.contains_key(id), "{id} is not declared");
        }
        let named = |name: &str| {
            let mut types = types.iter();
            types.find(|it| of(it, "name") == Some(name)).unwrap()
        };
        let fields = |element: &Element| -> Vec<String> {
            let fields = element.children.iter().filter(|it| it.name == "field");
            fields
                .map(|it| of(it, "name").unwrap().to_owned())
                .collect()
        };
        // Its parser takes no others, and resolves them in this order.
        assert_eq!(
            fields(named("jdk.types.StackFrame")),
            ["method", "lineNumber", "bytecodeIndex", "type"]
        );
        // Numbers are in no pool.
        for field in types.iter().flat_map(|it| &it.children) {
            if of(field, "constantPool").is_some() {
                let name = of(by_id[of(field, "class").unwrap()], "name").unwrap();
                assert!(!["int", "long", "boolean"].contains(&name), "{name}");
            }
        }
    }
}
