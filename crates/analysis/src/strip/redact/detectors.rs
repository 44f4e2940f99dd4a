//! Detectors: forms of text that are secrets.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Serialize;

/// A kind of secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretKind {
    /// The value of a property, variable or field with the name of a secret, or what follows such a name in a text.
    Password,
    /// A JSON Web Token (RFC 7519).
    Jwt,
    /// An access key of AWS.
    AwsKey,
    /// A private key in PEM form (RFC 7468).
    PrivateKey,
    /// A token of a service, by its prefix, or of an `Authorization` header.
    Token,
    /// An e-mail address.
    Email,
    /// The number of a payment card, by issuer, length and check digit (ISO/IEC 7812).
    Card,
    /// A match of a pattern of the user.
    Pattern,
}

impl SecretKind {
    /// The word for it in lists.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Jwt => "jwt",
            Self::AwsKey => "aws-key",
            Self::PrivateKey => "private-key",
            Self::Token => "token",
            Self::Email => "email",
            Self::Card => "card",
            Self::Pattern => "pattern",
        }
    }
}

/// The forms that are known, with a group around the secret if that is not all.
const FORMS: [(SecretKind, &str); 8] = [
    (
        SecretKind::Password,
        // The value ends at the quote that it begins with, unless that is escaped; in quotes that are themselves
        // escaped, as JSON within JSON has them, at the next such quote; without quotes where a word ends.
        concat!(
            r#"(?i)(?:passw(?:or)?d|passphrase|secret|token|credential|api[_.-]?key|access[_.-]?key|pwd)"#,
            r#"[a-z0-9_.-]{0,64}(?:\\*["'])?\s{0,4}[=:]\s{0,4}(?:"#,
            r#"\\"((?:[^"\\\r\n]|\\{3,}"|\\+[^"\\\r\n]){4,})|"#,
            r#"\\{2,}"([^"\r\n]{3,}[^"\\\r\n])|"#,
            r#""((?:[^"\\\r\n]|\\[^\r\n]){4,})|"#,
            r#"'((?:[^'\\\r\n]|\\[^\r\n]){4,})|"#,
            r#"([^\s"'&;,<>]{4,}))"#,
        ),
    ),
    (
        SecretKind::Password,
        r"(?i)\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{0,64}:([^\s/@]{1,256})@",
    ),
    (
        SecretKind::Jwt,
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    ),
    (
        SecretKind::AwsKey,
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    (
        SecretKind::PrivateKey,
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s:,\\-]*",
    ),
    (
        SecretKind::Token,
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|glpat-[A-Za-z0-9_-]{20,})|(?i:\b(?:bearer|basic) ([a-z0-9+/_.=-]{16,}))",
    ),
    (
        SecretKind::Email,
        r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}\b",
    ),
    (SecretKind::Card, r"\b[2-6][0-9](?:[ -]?[0-9]){11,17}\b"),
];

/// Words in the names of secrets, which may have signs between their parts: `api_key`, `X-Api-Key`.
const NAMES: [&str; 9] = [
    "passw",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "private",
    "pwd",
];

/// True if the value of a property of this name is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let mut name = name.to_lowercase();
    name.retain(|letter| !matches!(letter, '_' | '.' | '-'));
    NAMES.iter().any(|word| name.contains(word))
}

/// Finds secrets in texts.
#[derive(Debug)]
pub struct Detectors {
    /// Tells at once which forms are in a text.
    set: RegexSet,
    forms: Vec<(SecretKind, Regex)>,
}

impl Detectors {
    /// All detectors, and the patterns of a user: regular expressions of the crate `regex` over bytes of Latin-1, with a group
    /// around the secret if that is not all that matches.
    ///
    /// # Errors
    /// If a pattern is no regular expression, or too large.
    pub fn new(patterns: &[String]) -> Result<Self, regex::Error> {
        let known = FORMS.iter().map(|&(kind, form)| (kind, form));
        let patterns = patterns.iter().map(|it| (SecretKind::Pattern, &**it));
        let all: Vec<(SecretKind, &str)> = known.chain(patterns).collect();
        let set = RegexSetBuilder::new(all.iter().map(|(_, form)| form))
            .unicode(false)
            .build()?;
        let compiled = all.into_iter().map(|(kind, form)| {
            let form = RegexBuilder::new(form).unicode(false).build()?;
            Ok((kind, form))
        });
        let forms = compiled.collect::<Result<_, regex::Error>>()?;
        Ok(Self { set, forms })
    }

    /// Calls `see` with the kind, start and end of each secret in a text of one byte per character.
    pub(super) fn find(&self, text: &[u8], mut see: impl FnMut(SecretKind, usize, usize)) {
        for form in self.set.matches(text) {
            let Some((kind, form)) = self.forms.get(form) else {
                continue;
            };
            for found in form.captures_iter(text) {
                let group = found.iter().skip(1).flatten().next();
                let Some(secret) = group.or_else(|| found.get(0)) else {
                    continue;
                };
                let is_card = *kind != SecretKind::Card || is_card(secret.as_bytes());
                if is_card && !secret.is_empty() {
                    see(*kind, secret.start(), secret.end());
                }
            }
        }
    }
}

/// Returns true if digits, with or without blanks and hyphens, are the number of a payment card.
fn is_card(text: &[u8]) -> bool {
    let digits: Vec<u8> = text
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .map(|byte| byte - b'0')
        .collect();
    let issuer = match digits.as_slice() {
        [2 | 5, ..] => digits.len() == 16,
        [3, 4 | 7, ..] => digits.len() == 15,
        [3, ..] => (14..=16).contains(&digits.len()),
        [4, ..] => matches!(digits.len(), 13 | 16 | 19),
        [6, ..] => (16..=19).contains(&digits.len()),
        _ => false,
    };
    // The algorithm of Luhn: every second digit from the right counts twice.
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &digit)| match at % 2 {
            0 => u32::from(digit),
            _ => u32::from(digit) * 2 % 9 + if digit == 9 { 9 } else { 0 },
        })
        .sum();
    issuer && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(SecretKind, String)> {
        let detectors = Detectors::new(&[r"KD-\d{6}".to_owned()]).unwrap();
        let mut found = Vec::new();
        detectors.find(text.as_bytes(), |kind, start, end| {
            found.push((kind, text[start..end].to_owned()));
        });
        found
    }

    #[test]
    fn secrets_have_forms() {
        use SecretKind::{AwsKey, Card, Email, Jwt, Password, Pattern, PrivateKey, Token};
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow==\n-----END RSA PRIVATE KEY-----";
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN";
        for (text, kind, secret) in [
            ("db.password=hunter2;x", Password, "hunter2"),
            (r#"{"apiKey": "abcd1234"}"#, Password, "abcd1234"),
            ("java --token=abc123 App", Password, "abc123"),
            ("jdbc:postgresql://kim:s3cr3t@db/x", Password, "s3cr3t"),
            (jwt, Jwt, jwt),
            ("id AKIAIOSFODNN7EXAMPLE.", AwsKey, "AKIAIOSFODNN7EXAMPLE"),
            (key, PrivateKey, key),
            ("Bearer abcdefghijklmnop1234", Token, "abcdefghijklmnop1234"),
            ("mail kim@example.co.uk now", Email, "kim@example.co.uk"),
            ("card 4111 1111 1111 1111.", Card, "4111 1111 1111 1111"),
            ("5555555555554444", Card, "5555555555554444"),
            ("378282246310005", Card, "378282246310005"),
            ("order KD-123456", Pattern, "KD-123456"),
        ] {
            assert_eq!(found(text), [(kind, secret.to_owned())], "{text}");
        }
    }

    #[test]
    fn secrets_end_at_their_quote() {
        for (text, secret) in [
            (
                r#"password="correct horse, battery" x"#,
                "correct horse, battery",
            ),
            ("pwd: 'a b;c&d' x", "a b;c&d"),
            (r#"{"password":"a,b c","x":1}"#, "a,b c"),
            (r#"{"password":"ab\"cd\\","x":1}"#, r#"ab\"cd\\"#),
            (r#"{"m":"{\"password\":\"in side\",\"x\":1}"}"#, "in side"),
            (
                r#"{"m":"{\"password\":\"in\\\"side\",\"x\":1}"}"#,
                r#"in\\\"side"#,
            ),
            (r#"{\\\"token\\\":\\\"two deep\\\",\\\"x"#, "two deep"),
            ("password=\"no end\nx", "no end"),
        ] {
            let expected = [(SecretKind::Password, secret.to_owned())];
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "4111 1111 1111 1112",
            "1700000000000",
            "the tokenizer of java.lang",
            "a@b",
            "https://example.com:8080/x",
            "password=",
            // Without quotes a value has no comma, and this one has two characters.
            "password=ab,cdef,x",
            "eyJ.x.y",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn names_tell_of_secrets() {
        for name in [
            "db.Password",
            "AWS_SECRET_ACCESS_KEY",
            "X-Api-Key",
            "api.key",
            "accessKey",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        assert!(!is_secret_name("user.name") && !is_secret_name("monkey"));
    }
}
