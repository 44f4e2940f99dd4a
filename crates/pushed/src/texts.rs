//! Many short texts in one: names of frames and threads.

/// Texts by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Texts {
    all: String,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Texts {
    /// Texts of these lengths, one after the other; `None` if they are not texts, or not all of `all`.
    pub(super) fn of(all: String, lengths: &[u32]) -> Option<Self> {
        let mut end = 0_usize;
        let ends = lengths.iter().map(|&length| {
            end = end.checked_add(length as usize)?;
            all.is_char_boundary(end).then_some(end)
        });
        let ends: Vec<usize> = ends.collect::<Option<_>>()?;
        (end == all.len()).then_some(Self { all, ends })
    }

    /// The bytes that they take in memory.
    pub(super) fn bytes(&self) -> usize {
        self.all.len() + size_of_val(&self.ends[..])
    }

    /// Adds a text.
    pub(super) fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }

    /// The text of a number.
    pub(super) fn get(&self, number: u32) -> Option<&str> {
        let number = number as usize;
        let end = *self.ends.get(number)?;
        let start = match number.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)?,
        };
        self.all.get(start..end)
    }

    /// All texts.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len() as u32).map(|at| self.get(at).unwrap_or_default())
    }

    /// All of them as one.
    pub(super) fn all(&self) -> &str {
        &self.all
    }

    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_numbers() {
        let mut texts = Texts::default();
        for text in ["", "main", "größe", ""] {
            texts.push(text);
        }
        let all: Vec<&str> = texts.iter().collect();
        assert_eq!(all, ["", "main", "größe", ""]);
        assert_eq!((texts.get(2), texts.get(4)), (Some("größe"), None));
        let again = Texts::of(texts.all().to_owned(), &[0, 4, 7, 0]);
        assert_eq!(again, Some(texts.clone()));
        for wrong in [&[0, 4, 3, 4][..], &[0, 4, 7, 1], &[0, 4], &[u32::MAX; 9]] {
            assert_eq!(Texts::of(texts.all().to_owned(), wrong), None);
        }
    }
}
