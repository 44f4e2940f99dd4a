//! The last few answers of a kind, for those who ask again.

use std::sync::Arc;

use parking_lot::Mutex;

/// Answers that are kept.
const KEPT: usize = 32;

/// The last few answers by question.
#[derive(Debug)]
pub struct Kept<K, T>(Mutex<Vec<(K, Arc<T>)>>);

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, T> Kept<K, T> {
    /// The answer to a question; `make` finds it where it is not kept.
    pub fn of(&self, key: K, make: impl FnOnce() -> T) -> Arc<T> {
        let made = self.try_of(key, || Ok::<_, std::convert::Infallible>(make()));
        made.unwrap_or_else(|never| match never {})
    }

    /// The answer to a question, if `make` finds one.
    ///
    /// # Errors
    /// Returns the errors of `make`.
    pub fn try_of<E>(&self, key: K, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        {
            let mut kept = self.0.lock();
            if let Some(at) = kept.iter().position(|known| known.0 == key) {
                let found = kept.remove(at);
                let answer = Arc::clone(&found.1);
                kept.push(found);
                return Ok(answer);
            }
        }
        // Others are not held up; two who ask at once both look.
        let answer = Arc::new(make()?);
        let mut kept = self.0.lock();
        kept.push((key, Arc::clone(&answer)));
        if kept.len() > KEPT {
            kept.remove(0);
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_once_and_the_oldest_go() {
        let kept: Kept<usize, usize> = Kept::default();
        for key in 0..KEPT {
            kept.of(key, || key);
        }
        assert_eq!(*kept.of(0, || unreachable!()), 0);
        kept.of(KEPT, || KEPT);
        // The second was asked for least recently.
        assert_eq!(*kept.of(1, || 100), 100);
        assert_eq!(*kept.of(0, || unreachable!()), 0);
        assert_eq!(kept.try_of(1000, || Err("no")), Err("no"));
    }
}
