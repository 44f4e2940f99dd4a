//! Rules for heap dumps, so that a pipeline fails when a heap grows: `--fail-above`.
//!
//! A rule is `KIND=LIMIT` or `KIND:NAME=LIMIT`, such as `retained:com.example.Cache=100MB`. A dump
//! breaks it if what is measured is above the limit. The figures are those of the report, so a rule
//! can be judged whenever there is one.

mod judge;
mod limit;
mod stored;

pub use judge::judge;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use limit::size;
use limit::{parse_count, parse_size};

/// The most rules of a dump.
pub const MAX_RULES: usize = 64;
/// The longest rule, in bytes.
const MAX_RULE: usize = 500;

/// The quantity that a rule limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Retained,
    Package,
    Largest,
    Live,
    Unreached,
    Duplicates,
    Suspects,
    Objects,
    Classes,
    ClassLoaders,
    Threads,
}

/// When a kind takes a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Never,
    May,
    Must,
}

impl Kind {
    const ALL: [Self; 11] = [
        Self::Retained,
        Self::Package,
        Self::Largest,
        Self::Live,
        Self::Unreached,
        Self::Duplicates,
        Self::Suspects,
        Self::Objects,
        Self::Classes,
        Self::ClassLoaders,
        Self::Threads,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Retained => "retained",
            Self::Package => "package",
            Self::Largest => "largest",
            Self::Live => "live",
            Self::Unreached => "unreached",
            Self::Duplicates => "duplicates",
            Self::Suspects => "suspects",
            Self::Objects => "objects",
            Self::Classes => "classes",
            Self::ClassLoaders => "classloaders",
            Self::Threads => "threads",
        }
    }

    fn names(self) -> Names {
        match self {
            Self::Retained | Self::Package => Names::Must,
            Self::Objects | Self::ClassLoaders => Names::May,
            _ => Names::Never,
        }
    }

    fn is_size(self) -> bool {
        matches!(
            self,
            Self::Retained
                | Self::Package
                | Self::Largest
                | Self::Live
                | Self::Unreached
                | Self::Duplicates
        )
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    kind: Kind,
    /// A class, package or loader's class; `*` stands for any characters.
    name: Option<String>,
    /// Bytes, or a number.
    limit: u64,
    /// The limit as it was written.
    written: String,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        if let Some(name) = &self.name {
            write!(f, ":{name}")?;
        }
        write!(f, "={}", self.written)
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() > MAX_RULE {
            return Err(format!("a rule has at most {MAX_RULE} bytes"));
        }
        let form =
            "a rule is KIND=LIMIT or KIND:NAME=LIMIT, as in retained:com.example.Cache=100MB";
        let (what, limit) = text.rsplit_once('=').ok_or(form)?;
        let (word, name) = match what.split_once(':') {
            Some((word, name)) => (word, Some(name)),
            None => (what, None),
        };
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
        let kind = kind.ok_or_else(|| {
            let words = Kind::ALL.map(Kind::word).join(", ");
            format!("there is no rule for \"{word}\"; there are {words}")
        })?;
        match (kind.names(), name) {
            (Names::Must, None) => {
                return Err(format!(
                    "{word} needs a name, as in {word}:com.example.*=100MB"
                ));
            }
            (Names::Never, Some(_)) => return Err(format!("{word} takes no name")),
            _ => {}
        }
        // Commas separate rules, and no name of a class has one.
        let is_name = |name: &str| {
            let is_other = |c: char| c == ',' || c.is_whitespace() || c.is_control();
            !name.is_empty() && !name.contains(is_other)
        };
        if name.is_some_and(|name| !is_name(name)) {
            return Err("the name of a rule has no commas and no spaces".to_owned());
        }
        let number = match kind.is_size() {
            true => parse_size(limit)?,
            false => parse_count(limit)?,
        };
        Ok(Self {
            kind,
            name: name.map(str::to_owned),
            limit: number,
            written: limit.to_owned(),
        })
    }
}

/// Reads rules with commas between them; none from an empty text.
///
/// # Errors
/// Says why the first faulty rule is refused, or that there are too many.
pub fn parse_list(text: &str) -> Result<Vec<Rule>, String> {
    let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let rules = parts.map(str::parse).collect::<Result<Vec<_>, _>>()?;
    match rules.len() > MAX_RULES {
        true => Err(format!("a dump has at most {MAX_RULES} rules")),
        false => Ok(rules),
    }
}

/// A rule of a dump, and whether the dump keeps to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verdict {
    /// The rule as it was given.
    pub rule: String,
    /// False if what is measured is above the limit; none before the job is done.
    pub passed: Option<bool>,
    /// The verdict as a sentence; none before the job is done.
    pub sentence: Option<String>,
}

impl Verdict {
    /// A rule that is not judged yet.
    pub fn open(rule: &Rule) -> Self {
        Self {
            rule: rule.to_string(),
            passed: None,
            sentence: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written_alike() {
        for text in [
            "suspects=0",
            "retained:com.example.Cache=100MB",
            "retained:com.example.*=1.5GiB",
            "package:com.example=64KiB",
            "objects=1000",
            "objects:java.lang.String=5000000",
            "classloaders:org.example.PluginLoader=1",
            "duplicates=50MB",
        ] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        let list = parse_list(" suspects=0, live=1GB,,").unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(list[1].limit, 1_000_000_000);
    }

    #[test]
    fn what_is_no_rule_is_refused_with_a_hint() {
        for (text, hint) in [
            ("", "KIND=LIMIT"),
            ("suspects", "KIND=LIMIT"),
            ("suspect=0", "there are retained"),
            ("retained=5MB", "needs a name"),
            ("suspects:x=1", "takes no name"),
            ("retained:=5MB", "no commas"),
            ("retained:a b=5MB", "no commas"),
            ("retained:a=5", "unit"),
            ("suspects=1.5", "whole number"),
            ("suspects=-1", "whole number"),
        ] {
            let error = text.parse::<Rule>().unwrap_err();
            assert!(error.contains(hint), "{text}: {error}");
        }
        assert!("live=1GB".repeat(100).parse::<Rule>().is_err());
        assert!(parse_list(&"suspects=1,".repeat(65)).is_err());
    }
}
