//! Questions about live objects: `object` of the [control socket](crate::control).

use std::fmt;
use std::str::FromStr;

use crate::control::RequestError;

/// Objects of an answer, unless a query says otherwise.
pub const DEFAULT_LIMIT: u32 = 10;
/// The most objects of an answer.
pub const MAX_LIMIT: u32 = 1000;

/// The objects that are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Instances of a class, by its name: `com.acme.Cart`, `byte[]`.
    Class(String),
    /// Objects by the ids that an earlier answer gave them.
    Ids(Vec<u64>),
    /// None: the agent forgets all ids that it gave.
    Forget,
}

/// A question about live objects.
///
/// ```text
/// object com.acme.Cart limit=3 referrers=n where=owner=Ada Lovelace
/// object #17,#18
/// object forget
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectQuery {
    /// The objects.
    pub which: Which,
    /// The most objects of the answer.
    pub limit: u32,
    /// True to find the classes of referrers, which stops the program for a walk over all references.
    pub referrers: bool,
    /// A field and the text of its value, which the objects must have.
    pub condition: Option<(String, String)>,
}

impl ObjectQuery {
    /// A question without conditions.
    #[must_use]
    pub fn new(which: Which) -> Self {
        Self {
            which,
            limit: DEFAULT_LIMIT,
            referrers: true,
            condition: None,
        }
    }
}

impl FromStr for ObjectQuery {
    type Err = RequestError;

    fn from_str(text: &str) -> Result<Self, RequestError> {
        let wrong = |why: &str| RequestError::Object(why.to_owned());
        // The value may contain blanks, and so comes last.
        let (head, condition) = match text.split_once(" where=") {
            Some((head, condition)) => {
                let pair = condition.split_once('=');
                let (field, value) = pair.ok_or_else(|| wrong("where needs FIELD=VALUE"))?;
                (head, Some((field.to_owned(), value.to_owned())))
            }
            None => (text, None),
        };
        let mut words = head.split_whitespace();
        let first = words.next().ok_or_else(|| {
            wrong("object needs a class, such as com.acme.Cart, or ids, such as #17")
        })?;
        let which = if first == "forget" {
            Which::Forget
        } else if first.starts_with('#') {
            let ids = first
                .split(',')
                .map(|id| id.strip_prefix('#')?.parse().ok());
            let ids: Option<Vec<u64>> = ids.collect();
            let ids = ids.ok_or_else(|| wrong("ids are numbers, such as #17,#18"))?;
            if ids.len() > MAX_LIMIT as usize {
                return Err(wrong("at most 1000 ids"));
            }
            Which::Ids(ids)
        } else {
            Which::Class(first.to_owned())
        };
        let mut query = Self {
            condition,
            ..Self::new(which)
        };
        for word in words {
            match word.split_once('=') {
                Some(("limit", number)) => {
                    let limit = number
                        .parse()
                        .ok()
                        .filter(|it| (1..=MAX_LIMIT).contains(it));
                    query.limit = limit.ok_or_else(|| wrong("limit is a number from 1 to 1000"))?;
                }
                Some(("referrers", "y")) => query.referrers = true,
                Some(("referrers", "n")) => query.referrers = false,
                _ => {
                    let why =
                        format!("'{word}' is none of limit=N, referrers=y|n, where=FIELD=VALUE");
                    return Err(wrong(&why));
                }
            }
        }
        if query.condition.is_some() && !matches!(query.which, Which::Class(_)) {
            return Err(wrong("where is for classes"));
        }
        Ok(query)
    }
}

impl fmt::Display for ObjectQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            Which::Class(name) => f.write_str(name)?,
            Which::Ids(ids) => {
                let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
                f.write_str(&ids.join(","))?;
            }
            Which::Forget => return f.write_str("forget"),
        }
        if self.limit != DEFAULT_LIMIT {
            write!(f, " limit={}", self.limit)?;
        }
        if !self.referrers {
            f.write_str(" referrers=n")?;
        }
        match &self.condition {
            Some((field, value)) => write!(f, " where={field}={value}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<ObjectQuery, String> {
        text.parse()
            .map_err(|error: RequestError| error.to_string())
    }

    #[test]
    fn a_value_may_have_blanks_and_equals_signs() {
        let query = parse("com.acme.Cart limit=3 referrers=n where=owner=a = b").unwrap();
        assert_eq!(query.which, Which::Class("com.acme.Cart".to_owned()));
        assert_eq!((query.limit, query.referrers), (3, false));
        assert_eq!(
            query.condition,
            Some(("owner".to_owned(), "a = b".to_owned()))
        );
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, word) in [
            ("", "needs a class"),
            ("#x", "ids are numbers"),
            ("a limit=0", "from 1 to 1000"),
            ("a limit=1001", "from 1 to 1000"),
            ("a b", "none of"),
            ("a where=x", "FIELD=VALUE"),
            ("#1 where=x=1", "for classes"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn queries_come_back(
            name in "[a-zA-Z.$]{1,20}(\\[\\])?",
            limit in 1..=MAX_LIMIT,
            referrers in any::<bool>(),
            condition in prop::option::of(("[a-z]{1,8}", "[a-z =]{0,12}[a-z]")),
        ) {
            prop_assume!(name != "forget");
            let query = ObjectQuery { which: Which::Class(name), limit, referrers, condition };
            prop_assert_eq!(parse(&query.to_string()), Ok(query));
        }
    }
}
