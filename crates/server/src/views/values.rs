//! Values in words, and what an object means: a text, a number, a date, some bytes.

use hprof_analysis::graph::ClassKind;
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::{Value, decimal};
use hprof_format::binary::{BasicType, SubRecord};
use serde::Serialize;
use utoipa::ToSchema;

use super::opened::Opened;

/// Characters of a text that a preview shows.
const TEXT: usize = 10_000;
/// Bytes that a preview shows.
const BYTES: usize = 256;

/// The value of an object in a reader's terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Preview {
    /// `string`, `number`, `boolean`, `date`, `bytes`, `collection`, `array`, `uuid`, `file`,
    /// `enum` or `thread`.
    pub kind: &'static str,
    /// The value as text.
    pub text: String,
    /// True if there is more of it.
    pub truncated: bool,
}

fn whole(kind: &'static str, text: String) -> Option<Preview> {
    Some(Preview {
        kind,
        text,
        truncated: false,
    })
}

/// A value in a few words.
pub fn in_words(opened: &Opened, value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(object) => opened.snapshot.describe(*object),
        Value::Missing(id) => format!("{id:#x}, which the file lacks"),
        Value::Boolean(value) => value.to_string(),
        Value::Char(value) => format!("'{}'", value.escape_debug()),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => decimal(*value),
    }
}

/// The name of a type of fields.
pub fn type_name(basic_type: BasicType) -> &'static str {
    match basic_type {
        BasicType::Object => "reference",
        other => other.name(),
    }
}

/// The value of an object in a reader's terms; `None` for objects of other classes.
pub fn preview(opened: &Opened, object: ObjectNumber) -> Option<Preview> {
    let (snapshot, graph) = (&opened.snapshot, opened.snapshot.graph());
    if graph.class_of_object(object).is_some() {
        return None;
    }
    if let Some(text) = snapshot.string(object, TEXT + 1) {
        return Some(cut("string", text));
    }
    if let Some(value) = snapshot.unboxed(object) {
        let kind = match value {
            Value::Boolean(_) => "boolean",
            Value::Char(_) => "string",
            _ => "number",
        };
        return whole(kind, in_words(opened, &value));
    }
    let class = graph.class_of(object);
    if let ClassKind::Primitives(_) = graph.classes().get(class).kind {
        return array(opened, object);
    }
    if let Some(collection) = snapshot.collection(object) {
        let size = collection
            .size
            .map_or("unknown".to_owned(), |size| size.to_string());
        return whole("collection", format!("size {size}"));
    }
    let long = |name: &str| snapshot.field(object, name)?.integer();
    let text = |name: &str| snapshot.string(snapshot.field_object(object, name)?, TEXT);
    match snapshot.class_name(object) {
        "java.util.Date" | "java.sql.Timestamp" | "java.sql.Date" => {
            return whole("date", instant(long("fastTime")?, 0)?);
        }
        "java.time.Instant" => {
            let millis = long("seconds")?.checked_mul(1000)?;
            return whole("date", instant(millis, long("nanos").unwrap_or(0))?);
        }
        "java.util.UUID" => {
            return whole("uuid", uuid(long("mostSigBits")?, long("leastSigBits")?));
        }
        "java.io.File" => return whole("file", text("path")?),
        "java.net.URI" => return whole("string", text("string")?),
        _ => {}
    }
    if graph.classes().is_a(class, "java.lang.Enum") {
        return whole("enum", text("name")?);
    }
    if graph.classes().is_a(class, "java.lang.Thread") {
        return whole("thread", snapshot.thread_name(object)?);
    }
    None
}

fn cut(kind: &'static str, text: String) -> Preview {
    let end = text.char_indices().nth(TEXT).map(|(at, _)| at);
    Preview {
        kind,
        truncated: end.is_some(),
        text: end.map_or(text.clone(), |end| text[..end].to_owned()),
    }
}

fn instant(millis: i64, nanos: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(millis).ok()?;
    let nanos = jiff::SignedDuration::from_nanos(nanos);
    Some(time.checked_add(nanos).ok()?.to_string())
}

fn uuid(most: i64, least: i64) -> String {
    let (most, least) = (most as u64, least as u64);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        most >> 32,
        most >> 16 & 0xffff,
        most & 0xffff,
        least >> 48,
        least & 0xffff_ffff_ffff
    )
}

/// The text of characters, the start of bytes in hexadecimal digits, or the first numbers.
fn array(opened: &Opened, object: ObjectNumber) -> Option<Preview> {
    let snapshot = &opened.snapshot;
    let record = snapshot.graph().locate(snapshot.file(), object)?.1;
    let SubRecord::PrimitiveArray {
        element, values, ..
    } = record
    else {
        return None;
    };
    match element {
        BasicType::Char => {
            let units = values.chunks_exact(2).take(TEXT + 1);
            let units: Vec<u16> = units.map(|it| u16::from_be_bytes([it[0], it[1]])).collect();
            Some(cut("string", String::from_utf16_lossy(&units)))
        }
        BasicType::Byte => {
            let digits: Vec<String> = values
                .iter()
                .take(BYTES)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            Some(Preview {
                kind: "bytes",
                text: digits.join(" "),
                truncated: values.len() > BYTES,
            })
        }
        _ => {
            let first = snapshot.primitives(object, BYTES);
            let words: Vec<String> = first.iter().map(|it| in_words(opened, it)).collect();
            Some(Preview {
                kind: "array",
                text: words.join(", "),
                truncated: snapshot.array_length(object)? > BYTES as u64,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_identifiers_are_those_that_java_prints() {
        assert_eq!(instant(0, 0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(
            instant(1_700_000_000_123, 0).unwrap(),
            "2023-11-14T22:13:20.123Z"
        );
        assert_eq!(instant(1000, 5).unwrap(), "1970-01-01T00:00:01.000000005Z");
        assert_eq!(instant(i64::MAX, 0), None);
        assert_eq!(
            uuid(0x0123_4567_89ab_cdef, -1),
            "01234567-89ab-cdef-ffff-ffffffffffff"
        );
    }
}
