//! `filter=`: which threads are sampled.

use super::patterns::glob;

/// Names of threads, with `*` for any characters. None matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadFilter(Vec<String>);

impl ThreadFilter {
    /// Reads patterns with colons between them.
    ///
    /// # Errors
    /// Why a pattern can match no thread.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let patterns: Vec<String> = text.split(':').map(str::to_owned).collect();
        match patterns.iter().any(String::is_empty) {
            true => Err("one of them is empty"),
            false => Ok(Self(patterns)),
        }
    }

    /// Returns whether it leaves no thread out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether threads of this name are sampled.
    pub fn matches(&self, name: &str) -> bool {
        let name = name.as_bytes();
        let mut patterns = self.0.iter();
        self.0.is_empty() || patterns.any(|pattern| glob(pattern.as_bytes(), name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        let filter = ThreadFilter::parse("http-*:main:pool (*)").unwrap();
        for (name, fits) in [
            ("http-1", true),
            ("main", true),
            ("pool (7)", true),
            ("main-2", false),
            ("my http-1", false),
            ("", false),
        ] {
            assert_eq!(filter.matches(name), fits, "{name}");
        }
        assert!(ThreadFilter::default().matches(""));
        assert!(ThreadFilter::parse("a::b").is_err() && ThreadFilter::parse("").is_err());
    }
}
