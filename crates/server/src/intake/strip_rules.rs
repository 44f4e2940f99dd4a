//! Blanking as data: which contents go, and what came of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;

/// The longest text in which a sender may say what it blanked, in bytes.
pub const MAX_SAID: usize = 16 << 10;

/// The options of `hprof-rs strip` that say which contents stay. The default blanks all texts and arrays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StripRules {
    /// Numbers in fields go too.
    pub fields: bool,
    /// The texts of all strings stay.
    pub keep_strings: bool,
    /// Fields whose value stays, as `CLASS.FIELD`; `*` matches any characters.
    pub keep: Vec<String>,
    /// Classes and fields whose values go, as `CLASS[.FIELD]`.
    pub drop: Vec<String>,
    /// Secrets are overwritten; all else stays unless `keep_strings` or `keep` say what does.
    pub redact: bool,
    /// Regular expressions for further secrets.
    pub redact_pattern: Vec<String>,
    /// Android bitmaps with equal pixels share a buffer.
    pub bitmaps: bool,
    /// The rule for the names of threads; none: they stay where the texts of strings do.
    pub thread_names: Option<ThreadNamesRule>,
}

/// The treatment of the names of threads and thread groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadNamesRule {
    /// They stay.
    Keep,
    /// `thread-1` stands for the first one.
    Number,
    /// They go.
    Remove,
}

impl StripRules {
    /// Rules that let nothing stay that the default lets go, with what else these let go: for senders who ask a server
    /// with weaker rules to blank their dump.
    pub fn strictest(&self) -> Self {
        Self {
            fields: self.fields,
            bitmaps: self.bitmaps,
            thread_names: self.thread_names.filter(|it| *it != ThreadNamesRule::Keep),
            ..Self::default()
        }
    }
}

/// Who blanked a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StrippedBy {
    /// This server, before it kept the dump.
    Server,
    /// The sender, who says so; the server has not seen the original.
    Sender,
}

/// A step that took contents out of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stripping {
    /// Who did it.
    pub by: StrippedBy,
    /// The rules that it went by.
    pub rules: StripRules,
    /// The result, in figures.
    #[serde(default)]
    pub figures: StripFigures,
}

/// The contents that went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StripFigures {
    /// Bytes of arrays and fields that held something and are zero now.
    pub emptied: u64,
    /// Texts outside of the heap that are asterisks now.
    pub texts: u64,
    /// Names of threads and groups that are numbers now.
    pub threads: u64,
    /// Secrets that were found, equal ones counted once.
    pub secrets: u64,
    /// Their bytes, wherever they were.
    pub redacted: u64,
}

/// The statement of a sender on the dump that it sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    rules: StripRules,
    #[serde(default)]
    figures: StripFigures,
}

/// The step that a sender says it took; none for an empty text.
///
/// # Errors
/// If the text is no such step.
pub fn said_by_sender(text: &str) -> Result<Option<Stripping>, Problem> {
    if text.is_empty() {
        return Ok(None);
    }
    if text.len() > MAX_SAID {
        let detail = format!("`stripped` has more than {MAX_SAID} bytes");
        return Err(Problem::bad_request(detail));
    }
    let said: Said = serde_json::from_str(text)
        .map_err(|error| Problem::bad_request(format!("`stripped`: {error}")))?;
    Ok(Some(Stripping {
        by: StrippedBy::Sender,
        rules: said.rules,
        figures: said.figures,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_says_what_it_did_and_not_that_the_server_did_it() {
        let text = r#"{"rules": {"keep": ["A.b"]}, "figures": {"secrets": 3}}"#;
        let step = said_by_sender(text).unwrap().unwrap();
        assert_eq!((step.by, step.figures.secrets), (StrippedBy::Sender, 3));
        assert_eq!(step.rules.keep, ["A.b"]);
        assert!(said_by_sender("").unwrap().is_none());
        for wrong in [
            r#"{"by": "server", "rules": {}}"#,
            r#"{"rules": {"other": true}}"#,
            "true",
        ] {
            assert!(said_by_sender(wrong).is_err(), "{wrong}");
        }
        let long = format!(r#"{{"rules": {{"keep": ["{}"]}}}}"#, "x".repeat(MAX_SAID));
        assert!(said_by_sender(&long).is_err());
    }

    #[test]
    fn a_wish_to_blank_is_not_weakened_by_the_rules_of_the_server() {
        let weak = StripRules {
            fields: true,
            keep_strings: true,
            redact: true,
            keep: vec!["*".to_owned()],
            thread_names: Some(ThreadNamesRule::Keep),
            ..StripRules::default()
        };
        let strict = StripRules {
            fields: true,
            ..StripRules::default()
        };
        assert_eq!(weak.strictest(), strict);
    }
}
