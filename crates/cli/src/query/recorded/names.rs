//! Names of types in queries, which have dots.

use super::super::text::tokens;
use super::View;

/// Puts the names of types in quotation marks, as SQL takes a dot for the end of a name.
pub fn prepare(sql: &str, views: &[View<'_>]) -> String {
    let known = |name: &str| {
        let mut views = views.iter();
        views.find(|view| view.name.eq_ignore_ascii_case(name))
    };
    let tokens: Vec<_> = tokens(sql).collect();
    let mut prepared = String::with_capacity(sql.len() + 8);
    let mut at = 0;
    while at < tokens.len() {
        let mut name = String::new();
        let mut found = None;
        for (place, token) in tokens.iter().enumerate().skip(at) {
            let is_dot = token.text == ".";
            let wants_dot = (place - at) % 2 == 1;
            if token.is_blank || is_dot != wants_dot {
                break;
            }
            name.push_str(token.text);
            if name.contains('.')
                && !is_dot
                && let Some(view) = known(&name)
            {
                found = Some((place + 1, view));
            }
        }
        match found {
            Some((after, view)) => {
                prepared.push_str(&super::quoted(view.name));
                at = after;
            }
            None => {
                prepared.push_str(tokens[at].text);
                at += 1;
            }
        }
    }
    prepared
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hprof_foreign::jfr::any::Type;

    use super::*;

    #[test]
    fn only_names_of_types_are_quoted() {
        let types = ["jdk.SocketRead", "com.acme.Order", "com.acme"]
            .map(|name| (name.to_owned(), Type::default()));
        let types = BTreeMap::from(types);
        let views = super::super::views(&types);
        for (sql, expected) in [
            (
                "SELECT * FROM jdk.SocketRead",
                "SELECT * FROM \"jdk.SocketRead\"",
            ),
            (
                "select jdk.socketread.host from JDK.SocketRead",
                "select \"jdk.SocketRead\".host from \"jdk.SocketRead\"",
            ),
            (
                "SELECT 1 FROM com.acme.Order, com.acme o",
                "SELECT 1 FROM \"com.acme.Order\", \"com.acme\" o",
            ),
            (
                "SELECT 'jdk.SocketRead', \"jdk.SocketRead\", a.b, 1.5",
                "SELECT 'jdk.SocketRead', \"jdk.SocketRead\", a.b, 1.5",
            ),
            ("SELECT x -- jdk.SocketRead", "SELECT x -- jdk.SocketRead"),
        ] {
            assert_eq!(prepare(sql, &views), expected);
        }
    }
}
