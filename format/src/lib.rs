//! Placeholder text, replaced with the first content of this crate.
