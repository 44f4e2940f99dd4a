//! Answers of JVMs that are shared for a moment: each stops the program, so however many ask, it is
//! asked seldom.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::machine::{JvmFacts, Pid, Refused};

/// How long an answer is shared at least.
const MIN_AGE: Duration = Duration::from_secs(1);
/// An answer is shared for this many times as long as it took.
const SHARE: u32 = 20;
/// The longest time that an answer is shared.
const MAX_AGE: Duration = Duration::from_secs(60);
/// JVMs whose answers are kept.
const MAX_KEPT: usize = 32;

/// An answer with the time at which it was asked for and what that took.
#[derive(Debug)]
struct Answer<T> {
    asked: Instant,
    took: Duration,
    value: Arc<T>,
}

/// One JVM's place: the caller that asks the JVM holds it, and the others wait for the answer.
type Place<T> = Arc<Mutex<Option<Answer<T>>>>;

/// Answers by JVM.
#[derive(Debug)]
pub struct Fresh<T>(Mutex<HashMap<(Pid, u64), Place<T>>>);

impl<T> Default for Fresh<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Fresh<T> {
    /// The answer of a JVM and its age; `ask` gets one if there is none or it is too old. With
    /// `is_new`, only an answer that was asked for later counts. Blocks.
    ///
    /// # Errors
    /// Returns the errors of `ask`.
    pub fn get(
        &self,
        jvm: &JvmFacts,
        is_new: bool,
        ask: impl FnOnce() -> Result<T, Refused>,
    ) -> Result<(Arc<T>, Duration), Refused> {
        let came = Instant::now();
        let place = {
            let mut places = self.0.lock();
            if places.len() >= MAX_KEPT {
                places.clear();
            }
            Arc::clone(places.entry((jvm.pid, jvm.began)).or_default())
        };
        let mut place = place.lock();
        if let Some(known) = &*place {
            let lasts = (known.took * SHARE).clamp(MIN_AGE, MAX_AGE);
            let serves = match is_new {
                true => known.asked >= came,
                false => known.asked.elapsed() < lasts,
            };
            if serves {
                return Ok((Arc::clone(&known.value), known.asked.elapsed()));
            }
        }
        let asked = Instant::now();
        let value = Arc::new(ask()?);
        *place = Some(Answer {
            asked,
            took: asked.elapsed(),
            value: Arc::clone(&value),
        });
        Ok((value, Duration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jvm(pid: u32) -> JvmFacts {
        JvmFacts {
            pid: Pid(pid),
            began: 1,
            name: String::new(),
            version: None,
            user: String::new(),
            uptime: None,
            resident: 0,
            refusal: None,
            apart: None,
            has_agent: false,
            in_container: false,
        }
    }

    #[test]
    fn a_jvm_is_not_asked_again_at_once() {
        let fresh = Fresh::default();
        assert_eq!(*fresh.get(&jvm(1), false, || Ok(1)).unwrap().0, 1);
        assert_eq!(*fresh.get(&jvm(1), false, || Ok(2)).unwrap().0, 1);
        assert_eq!(*fresh.get(&jvm(2), false, || Ok(3)).unwrap().0, 3);
        assert_eq!(*fresh.get(&jvm(1), true, || Ok(4)).unwrap().0, 4);
        assert_eq!(*fresh.get(&jvm(1), false, || Ok(5)).unwrap().0, 4);
    }
}
