//! Why a view has no answer.

use thiserror::Error;

/// Why a view has no answer. Each text is a sentence for the person who asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ViewError {
    /// The question makes no sense: a bad identifier, node, cursor, column or expression.
    #[error("{0}")]
    Invalid(String),
    /// The dump has no such object, class or thread.
    #[error("{0}")]
    Missing(String),
    /// The analysis is not there, or is not of the kind that the view shows.
    #[error("{0}")]
    NotReady(String),
    /// Too much is asked for at the same time.
    #[error("{0}")]
    Busy(String),
    /// The answer took longer than it may.
    #[error("{0}")]
    TooLong(String),
    /// The files of the analysis cannot be read, or a view broke.
    #[error("{0}")]
    Failed(String),
}

impl ViewError {
    /// A question that makes no sense.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::Invalid(text.into())
    }

    /// A question for what the dump lacks.
    pub fn missing(text: impl Into<String>) -> Self {
        Self::Missing(text.into())
    }

    /// A failure of the system.
    pub fn failed(text: impl std::fmt::Display) -> Self {
        Self::Failed(text.to_string())
    }
}
