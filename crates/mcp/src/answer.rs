//! Answers that an assistant can read: bounded, with what to ask next.

use serde::Serialize;
use serde_json::{Map, Value};

/// The largest answer, in bytes of JSON: some ten thousand tokens.
pub const MAX_BYTES: usize = 32 << 10;
/// The longest text of an answer, in characters.
const MAX_TEXT: usize = 1500;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    data: Map<String, Value>,
    next: Vec<String>,
    /// The list that may lose its end, and how to ask for the rest.
    list: Option<&'static str>,
}

impl Answer {
    /// An answer that is a JSON object. Anything else is put under the key `answer`.
    pub fn new(data: impl Serialize) -> Self {
        let data = match serde_json::to_value(data).unwrap_or_default() {
            Value::Object(data) => data,
            other => Map::from_iter([("answer".to_owned(), other)]),
        };
        Self {
            data,
            next: Vec::new(),
            list: None,
        }
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.data.insert(key.to_owned(), value);
        self
    }

    /// The key of the list of which the end is left out where the answer is too large.
    #[must_use]
    pub fn cut_at(mut self, list: &'static str) -> Self {
        self.list = Some(list);
        self
    }

    /// Adds what to ask next.
    #[must_use]
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next.push(step.into());
        self
    }

    /// The text of the answer.
    pub fn text(mut self) -> String {
        for value in self.data.values_mut() {
            shorten(value, MAX_TEXT);
        }
        let offset = self.data.get("offset").and_then(Value::as_u64).unwrap_or(0);
        let total = self.data.get("total").and_then(Value::as_u64);
        loop {
            let rows = self.rows().map_or(0, |rows| rows.len());
            let shown = offset + rows as u64;
            let mut data = self.data.clone();
            let mut next = self.next.clone();
            if total.is_some_and(|total| shown < total) && rows > 0 {
                data.insert(
                    "more".to_owned(),
                    format!("ask again with offset={shown}").into(),
                );
            } else if total.is_none() && self.data.contains_key("left_out") {
                next.push("ask for less at once, as a part of the answer was left out".to_owned());
            }
            if !next.is_empty() {
                data.insert("next_steps".to_owned(), next.into());
            }
            let text = Value::Object(data).to_string();
            if text.len() <= MAX_BYTES {
                return text;
            }
            if rows > 1 {
                if let Some(rows) = self.rows() {
                    rows.truncate(rows.len() * 3 / 4);
                }
                if total.is_none() {
                    self.data.insert("left_out".to_owned(), true.into());
                }
            } else if !self.shrink() {
                return r#"{"error":"the answer is too large; ask about a part of it"}"#.to_owned();
            }
        }
    }

    fn rows(&mut self) -> Option<&mut Vec<Value>> {
        self.data.get_mut(self.list?)?.as_array_mut()
    }

    /// Halves the largest value; false if nothing is left to halve.
    fn shrink(&mut self) -> bool {
        let size = |value: &Value| value.to_string().len();
        let largest = self.data.iter_mut().max_by_key(|(_, value)| size(value));
        let Some((_, value)) = largest else {
            return false;
        };
        let is_done = match value {
            Value::Array(items) if items.len() > 1 => {
                items.truncate(items.len() / 2);
                true
            }
            Value::Null => false,
            other => {
                let text = other.to_string();
                let half: String = text.chars().take(text.len() / 4).collect();
                *other = Value::String(format!("{half}…"));
                text.len() > 64
            }
        };
        self.data.insert("left_out".to_owned(), true.into());
        is_done
    }
}

/// Cuts long texts.
fn shorten(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => {
            let Some((end, _)) = text.char_indices().nth(limit) else {
                return;
            };
            let rest = text[end..].chars().count();
            text.truncate(end);
            text.push_str(&format!("… ({rest} more characters)"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, limit)),
        Value::Object(map) => map.values_mut().for_each(|item| shorten(item, limit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(answer: Answer) -> Value {
        let text = answer.text();
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_is_left_out_of_a_table_can_be_asked_for() {
        let rows: Vec<Value> = (0..400)
            .map(|at| json!({"at": at, "text": "x".repeat(500)}))
            .collect();
        let answer = Answer::new(json!({"rows": rows, "total": 1000, "offset": 100}));
        let answer = parsed(answer.cut_at("rows").next("look"));
        let shown = answer["rows"].as_array().unwrap().len();
        assert!(shown > 20, "{shown}");
        assert_eq!(
            answer["more"],
            format!("ask again with offset={}", 100 + shown)
        );
        assert_eq!(answer["next_steps"], json!(["look"]));
        let whole = Answer::new(json!({"rows": [1, 2], "total": 2, "offset": 0})).cut_at("rows");
        assert_eq!(
            parsed(whole),
            json!({"rows": [1, 2], "total": 2, "offset": 0})
        );
    }

    #[test]
    fn no_answer_is_larger_than_the_limit() {
        let long = parsed(Answer::new(json!({"text": "\u{1f600}".repeat(100_000)})));
        assert!(
            long["text"]
                .as_str()
                .unwrap()
                .ends_with("(98500 more characters)")
        );
        for data in [
            json!({"deep": {"list": vec!["x".repeat(1000); 100]}}),
            json!({"a": vec![1; 100_000], "b": "b"}),
            json!(vec!["x".repeat(1000); 100]),
        ] {
            let answer = parsed(Answer::new(&data));
            assert_eq!(answer["left_out"], true);
        }
    }
}
