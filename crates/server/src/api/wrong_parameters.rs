//! Sentences about parameters that cannot be read, in place of a parser's words.

use axum::extract::Query;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::http::Uri;

use crate::problem::Problem;

/// Characters of a value that are repeated.
const MAX_VALUE: usize = 100;

/// Describes an error in the parameters after the question mark.
pub fn query(uri: &Uri, rejection: &QueryRejection) -> Problem {
    let said = rejection.body_text();
    let said = said.rsplit_once("query string: ").map_or(&*said, |it| it.1);
    let Some((key, message)) = said.split_once(": ") else {
        return Problem::bad_request(of_field(said));
    };
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
    let value = pairs.iter().find(|pair| pair.0 == key).map(|pair| &*pair.1);
    Problem::bad_request(match value {
        Some(value) => of_value(key, value, message),
        None => said.to_owned(),
    })
}

/// Describes an error in the parameters of the path. No resource has such a path.
pub fn path(rejection: &PathRejection) -> Problem {
    let PathRejection::FailedToDeserializePathParams(failed) = rejection else {
        return Problem::not_found(rejection.body_text());
    };
    Problem::not_found(match failed.kind() {
        ErrorKind::ParseErrorAtKey { key, value, .. } => of_value(key, value, "invalid digit"),
        ErrorKind::DeserializeError {
            key,
            value,
            message,
        } => of_value(key, value, message),
        ErrorKind::ParseError { value, .. } => format!("{}: {NUMBER}", cut(value)),
        kind => kind.to_string(),
    })
}

/// The advice where a parameter is a number.
const NUMBER: &str = "give a whole number from 0 on";

/// A parameter and what a parser says of its value.
fn of_value(key: &str, value: &str, message: &str) -> String {
    let given = format!("{key}={}", cut(value));
    if let Some(expected) = expected(message) {
        return format!("{given}: no such value; it is one of {expected}");
    }
    let advice = match message {
        _ if message.starts_with("invalid digit") => NUMBER,
        "cannot parse integer from empty string" => NUMBER,
        _ if message.starts_with("number too") => "the number is too large",
        _ if message.contains("float") => "give a number such as 0.5",
        _ if message.contains("`true` or `false`") => "it is one of true, false",
        other => other,
    };
    format!("{given}: {advice}")
}

/// A parameter that is missing or given twice.
fn of_field(message: &str) -> String {
    let quoted = || message.split('`').nth(1).unwrap_or_default();
    if message.starts_with("missing field") {
        format!("{}: the parameter is missing", quoted())
    } else if message.starts_with("duplicate field") {
        format!("{}: give the parameter once", quoted())
    } else {
        message.to_owned()
    }
}

/// The values that a parameter takes, with commas between them.
fn expected(message: &str) -> Option<String> {
    let message = message.strip_prefix("unknown variant ")?;
    // The unknown value may hold anything, the known ones are words of this server.
    let (_, known) = message.rsplit_once(", expected ")?;
    let words = known.split('`').skip(1).step_by(2);
    Some(words.collect::<Vec<_>>().join(", "))
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(MAX_VALUE) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum By {
        Class,
        Package,
        Loader,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "nothing but the errors is looked at")]
    struct Wanted {
        with: String,
        by: Option<By>,
        limit: Option<usize>,
        least: Option<f64>,
        invert: Option<bool>,
    }

    fn said(query_text: &str) -> String {
        let uri: Uri = format!("/x?{query_text}").parse().unwrap();
        let rejection = Query::<Wanted>::try_from_uri(&uri).unwrap_err();
        query(&uri, &rejection).detail
    }

    #[test]
    fn a_wrong_value_is_named_with_those_that_are_allowed() {
        let long = "x".repeat(1000);
        for (query, sentence) in [
            (
                "by=colour%20%60a%60%2C%20expected%20b",
                "by=colour `a`, expected b: no such value; it is one of class, package, loader",
            ),
            (
                "by=",
                "by=: no such value; it is one of class, package, loader",
            ),
            ("limit=ten", "limit=ten: give a whole number from 0 on"),
            ("limit=-1", "limit=-1: give a whole number from 0 on"),
            ("limit=", "limit=: give a whole number from 0 on"),
            (
                "limit=99999999999999999999",
                "limit=99999999999999999999: the number is too large",
            ),
            ("least=much", "least=much: give a number such as 0.5"),
            ("least=", "least=: give a number such as 0.5"),
            ("invert=yes", "invert=yes: it is one of true, false"),
            ("by=class", "with: the parameter is missing"),
            ("with=a&with=b", "with: give the parameter once"),
        ] {
            assert_eq!(said(query), sentence, "{query}");
        }
        let cut = said(&format!("by={long}"));
        assert!(cut.starts_with("by=xxx") && cut.len() < 250, "{cut}");
    }
}
