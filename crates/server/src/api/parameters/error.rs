//! Faults of parameters.

use std::fmt;
use std::num::IntErrorKind;

use serde::de;

/// Characters of a value that are repeated.
const MAX_VALUE: usize = 100;

/// A parameter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterError {
    /// Its name and the text given for it, where the fault is in the text.
    given: Option<(String, String)>,
    fault: Fault,
}

/// The fault of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// The request lacks it.
    Missing(&'static str),
    /// The request has it more than once.
    Repeated(&'static str),
    /// No parameter has this name; with those that exist.
    Unknown(String, &'static [&'static str]),
    /// The text is none of these words.
    NoneOf(&'static [&'static str]),
    /// The text is no whole number from 0 on.
    NotWhole,
    /// The number has more bits than its type.
    TooLarge,
    /// The text is no number.
    NotNumber,
    /// Any other; in the words of the type that reads it.
    Other(String),
}

impl ParameterError {
    /// An error of a number with sign or point.
    pub(super) fn not_number() -> Self {
        Fault::NotNumber.into()
    }

    /// An error of a whole number without a sign.
    pub(super) fn not_whole(kind: &IntErrorKind) -> Self {
        match kind {
            IntErrorKind::PosOverflow => Fault::TooLarge.into(),
            _ => Fault::NotWhole.into(),
        }
    }

    /// An error of a text that is none of some words.
    pub(super) fn none_of(words: &'static [&'static str]) -> Self {
        Fault::NoneOf(words).into()
    }

    /// Adds the parameter to a fault of its text.
    pub(super) fn of(self, name: &str, text: &str) -> Self {
        Self {
            given: Some((name.to_owned(), cut(text))),
            ..self
        }
    }
}

impl From<Fault> for ParameterError {
    fn from(fault: Fault) -> Self {
        Self { given: None, fault }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, text)) = &self.given {
            write!(to, "{name}={text}: ")?;
        }
        match &self.fault {
            Fault::Missing(name) => write!(to, "{name}: the parameter is missing"),
            Fault::Repeated(name) => write!(to, "{name}: give the parameter once"),
            Fault::Unknown(name, known) => {
                let (name, known) = (cut(name), known.join(", "));
                write!(to, "{name}: no such parameter; the parameters are {known}")
            }
            Fault::NoneOf(words @ ["true", "false"]) => {
                write!(to, "it is one of {}", words.join(", "))
            }
            Fault::NoneOf(words) => {
                write!(to, "no such value; it is one of {}", words.join(", "))
            }
            Fault::NotWhole => to.write_str("give a whole number from 0 on"),
            Fault::TooLarge => to.write_str("the number is too large"),
            Fault::NotNumber => to.write_str("give a number such as 0.5"),
            Fault::Other(words) => to.write_str(words),
        }
    }
}

impl std::error::Error for ParameterError {}

impl de::Error for ParameterError {
    fn custom<T: fmt::Display>(words: T) -> Self {
        Fault::Other(words.to_string()).into()
    }

    fn missing_field(field: &'static str) -> Self {
        Fault::Missing(field).into()
    }

    fn duplicate_field(field: &'static str) -> Self {
        Fault::Repeated(field).into()
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Fault::Unknown(field.to_owned(), expected).into()
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Fault::NoneOf(expected).into()
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
