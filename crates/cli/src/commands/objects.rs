//! Live objects, as the agent describes them.

use hprof_wire::control::Reply;
use serde_json::{Map, Value, json};

use crate::render::screen::{count, plural, printable};

/// An object of an answer: the values whose names begin with `object.N.`.
#[derive(Debug, Default)]
struct Object<'a> {
    parts: Vec<(&'a str, &'a str)>,
}

impl<'a> Object<'a> {
    fn get(&self, name: &str) -> &'a str {
        let found = self.parts.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value)
    }

    /// The values below a name, such as `field.`, without it.
    fn below(&self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let parts = self.parts.iter();
        parts.filter_map(move |(key, value)| Some((key.strip_prefix(name)?, *value)))
    }
}

/// The objects in order, and the other values.
fn split(reply: &Reply) -> (Vec<Object<'_>>, Vec<(&str, &str)>) {
    let (mut objects, mut others) = (Vec::new(), Vec::new());
    let mut last = "";
    for (name, value) in &reply.values {
        let rest = name.strip_prefix("object.");
        let Some((number, name)) = rest.and_then(|rest| rest.split_once('.')) else {
            others.push((name.as_str(), value.as_str()));
            continue;
        };
        if number != last || objects.is_empty() {
            objects.push(Object::default());
            last = number;
        }
        if let Some(object) = objects.last_mut() {
            object.parts.push((name, value.as_str()));
        }
    }
    (objects, others)
}

/// An answer for people.
pub(super) fn as_text(reply: &Reply) -> String {
    let (objects, others) = split(reply);
    let mut text = String::new();
    for object in &objects {
        text.push_str(&format!(
            "{} #{}, {} bytes\n",
            printable(object.get("class")),
            printable(object.get("id")),
            printable(object.get("size"))
        ));
        let mut line = |name: &str, value: &str| {
            text.push_str(&format!("    {} = {}\n", printable(name), printable(value)));
        };
        for name in ["names", "length", "text"] {
            if object.parts.iter().any(|(key, _)| *key == name) {
                line(name, object.get(name));
            }
        }
        object
            .below("field.")
            .for_each(|(name, value)| line(name, value));
        for (at, value) in object.below("element.") {
            line(&format!("[{at}]"), value);
        }
        for (_, value) in object.below("referrer.") {
            let (number, referrer) = value.split_once(' ').unwrap_or(("", value));
            let times = match number {
                "1" => String::new(),
                number => format!(", {} references", printable(number)),
            };
            text.push_str(&format!("    <- {}{times}\n", printable(referrer)));
        }
    }
    let number = |name: &str| {
        let found = others.iter().find(|(key, _)| *key == name);
        found.and_then(|(_, value)| value.parse::<u64>().ok())
    };
    if let Some(forgotten) = number("forgotten") {
        text.push_str(&format!("{} ids are forgotten\n", count(forgotten)));
        return text;
    }
    let shown = number("shown").unwrap_or(0);
    if let Some(instances) = number("instances") {
        text.push_str(&format!(
            "{} shown of {} in the heap",
            plural(shown, "object", "objects"),
            count(instances)
        ));
        match number("unreachable") {
            Some(0) | None => {}
            Some(dead) => text.push_str(&format!(
                "; {} passed over, as nothing refers to them",
                count(dead)
            )),
        }
    } else {
        text.push_str(&format!("{} shown", plural(shown, "object", "objects")));
        match number("gone") {
            Some(0) | None => {}
            Some(gone) => {
                text.push_str(&format!("; {} gone: collected, or forgotten", count(gone)))
            }
        }
    }
    let find = |name: &str| others.iter().find(|(key, _)| *key == name).map(|it| it.1);
    if find("reachable_only") == Some("n") {
        text.push_str("; some may be garbage, as no referrers were looked for");
    }
    if let Some(looked) = number("looked_at") {
        text.push_str(&format!(
            "; the condition was tried on the first {}",
            count(looked)
        ));
    }
    if let Some(cut) = find("cut") {
        text.push_str(&format!("; {}", printable(cut)));
    }
    match find("pauses") {
        Some("0") | None => text.push_str("; the program was not stopped\n"),
        Some(_) => text.push_str(&format!(
            "; the program stood still for {} ms\n",
            printable(find("pause_ms").unwrap_or("?"))
        )),
    }
    text
}

/// An answer for programs: `objects` with `fields`, `elements` and `referrers`.
pub(super) fn as_json(reply: &Reply) -> Value {
    let (objects, others) = split(reply);
    let number = |text: &str| {
        let parsed = text
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64);
        match text.parse::<i64>() {
            Ok(number) => Value::from(number),
            Err(_) => parsed.map_or_else(|| Value::from(text), Value::Number),
        }
    };
    let objects = objects.iter().map(|object| {
        let mut json = Map::new();
        for name in ["id", "class", "size", "names", "length", "text"] {
            if let Some((_, value)) = object.parts.iter().find(|(key, _)| *key == name) {
                let value = match name {
                    "class" | "names" | "text" => Value::from(*value),
                    _ => number(value),
                };
                json.insert(name.to_owned(), value);
            }
        }
        let fields = object.below("field.");
        let fields = fields.map(|(name, value)| json!({"name": name, "value": value}));
        json.insert("fields".to_owned(), fields.collect());
        let elements = object
            .below("element.")
            .map(|(_, value)| Value::from(value));
        json.insert("elements".to_owned(), elements.collect());
        let referrers = object.below("referrer.").map(|(_, value)| {
            let (times, referrer) = value.split_once(' ').unwrap_or(("", value));
            json!({"referrer": referrer, "references": number(times)})
        });
        json.insert("referrers".to_owned(), referrers.collect());
        Value::Object(json)
    });
    let objects: Vec<Value> = objects.collect();
    let others: Map<String, Value> = others
        .into_iter()
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect();
    json!({"ok": reply.error.is_none(), "error": reply.error, "objects": objects, "values": others})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_readable_and_hostile_names_are_harmless() {
        let mut reply = Reply::default();
        reply.push("instances", 5);
        for (name, value) in [
            ("object.1.id", "17"),
            ("object.1.class", "com.acme.Cart"),
            ("object.1.size", "24"),
            ("object.1.field.owner", "\"Ada\" #18"),
            ("object.1.field.x\u{1b}[31m", "1"),
            ("object.1.referrer.1", "2 java.util.HashMap$Node"),
            ("object.2.id", "19"),
            ("object.2.class", "com.acme.Cart"),
            ("object.2.size", "24"),
        ] {
            reply.push(name, value);
        }
        reply.push("shown", 2);
        reply.push("unreachable", 1);
        reply.push("pauses", 2);
        reply.push("pause_ms", "3.5");
        let text = as_text(&reply);
        assert!(!text.contains('\u{1b}'), "{text}");
        for part in [
            "com.acme.Cart #17, 24 bytes\n",
            "    owner = \"Ada\" #18\n",
            "    <- java.util.HashMap$Node, 2 references\n",
            "2 objects shown of 5 in the heap; 1 passed over, as nothing refers to them; the program \
             stood still for 3.5 ms\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let json = as_json(&reply);
        assert_eq!(json["objects"][0]["id"], 17);
        assert_eq!(json["objects"][0]["fields"][0]["value"], "\"Ada\" #18");
        assert_eq!(json["objects"][0]["referrers"][0]["references"], 2);
        assert_eq!(json["objects"].as_array().unwrap().len(), 2);
        assert_eq!(json["values"]["pause_ms"], 3.5);
    }
}
