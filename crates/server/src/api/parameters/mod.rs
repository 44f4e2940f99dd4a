//! Parameters of requests as values. An error says which parameter is wrong and why, in types.

mod error;
mod value;

use std::borrow::Cow;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::Uri;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;

use crate::problem::Problem;

use value::{Name, Written};

/// Reads the parameters after the question mark.
///
/// # Errors
///
/// A parameter is missing, given twice, or has a value that its type does not take.
pub fn of_query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let pairs = pairs.map(|(name, text)| (Name(name.clone()), Written { name, text }));
    T::deserialize(MapDeserializer::new(pairs))
        .map_err(|error| Problem::bad_request(error.to_string()))
}

/// Reads the only parameter in the path of a route.
///
/// # Errors
///
/// No resource has such a path.
pub async fn of_path<T: DeserializeOwned>(parts: &mut Parts) -> Result<T, Problem> {
    let found = RawPathParams::from_request_parts(parts, &()).await;
    let found = found.map_err(|error| Problem::not_found(error.body_text()))?;
    let (name, text) = found.iter().next().unwrap_or_default();
    let (name, text) = (Cow::Borrowed(name), Cow::Borrowed(text));
    T::deserialize(Written { name, text }).map_err(|error| Problem::not_found(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum By {
        Class,
        Package,
        Loader,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wanted {
        with: String,
        by: Option<By>,
        limit: Option<usize>,
        byte: Option<u8>,
        least: Option<f64>,
        invert: Option<bool>,
    }

    fn read<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
        of_query(&format!("/x?{query}").parse().unwrap())
    }

    #[test]
    fn values_become_those_of_the_type() {
        let all = "with=a%20b+c&by=loader&limit=7&byte=255&least=0.5&invert=true&unknown=1";
        let wanted = Wanted {
            with: "a b c".to_owned(),
            by: Some(By::Loader),
            limit: Some(7),
            byte: Some(255),
            least: Some(0.5),
            invert: Some(true),
        };
        assert_eq!(read::<Wanted>(all).unwrap(), wanted);
        assert_eq!(read::<Wanted>("with=").unwrap().with, "");
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
            ("byte=256", "byte=256: the number is too large"),
            ("least=much", "least=much: give a number such as 0.5"),
            ("least=", "least=: give a number such as 0.5"),
            ("invert=yes", "invert=yes: it is one of true, false"),
            ("by=class", "with: the parameter is missing"),
            ("with=a&with=b", "with: give the parameter once"),
        ] {
            let problem = read::<Wanted>(query).unwrap_err();
            assert_eq!(problem.detail, sentence, "{query}");
        }
        let cut = read::<Wanted>(&format!("by={long}")).unwrap_err().detail;
        assert!(cut.starts_with("by=xxx") && cut.len() < 250, "{cut}");
    }

    #[test]
    fn an_unknown_parameter_is_named_where_the_type_refuses_it() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "nothing but the error is looked at")]
        struct Strict {
            from: Option<u64>,
            to: Option<u64>,
        }
        let problem = read::<Strict>("from=1&til=2").unwrap_err();
        let sentence = "til: no such parameter; the parameters are from, to";
        assert_eq!(problem.detail, sentence);
    }

    proptest! {
        /// Any text is a value or an error with the name of the parameter.
        #[test]
        fn every_query_has_an_answer(name in "with|by|limit|byte|least|invert", text in "\\PC{0,20}") {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair(&name, &text).finish();
            if let Err(problem) = read::<Wanted>(&query) {
                let named = [&*name, "with"].iter().any(|it| problem.detail.strip_prefix(it).is_some());
                prop_assert!(named, "{}", problem.detail);
            }
        }
    }
}
