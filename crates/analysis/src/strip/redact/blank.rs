//! Overwrites secrets in contents that pass by.

use std::ops::Range;

use super::Secrets;
use crate::strip::windows::each_window;

/// The bytes on either side of a place that decide whether it belongs to a secret.
pub(in crate::strip) const MARGIN: usize = 64;

impl Secrets {
    /// Calls `see` with the place of each run of windows that are known to be of secrets, and that is long enough.
    pub(in crate::strip) fn each_known(&self, bytes: &[u8], mut see: impl FnMut(Range<usize>)) {
        if self.windows.is_empty() {
            return;
        }
        let mut open: Option<(Range<usize>, u8)> = None;
        let mut end = |run: (Range<usize>, u8)| {
            if run.0.len() >= usize::from(run.1) {
                see(run.0);
            }
        };
        each_window(bytes, 0, |at, window| {
            let Some(&needed) = self.windows.get(&window) else {
                return;
            };
            match &mut open {
                Some((run, least)) if at < run.end => {
                    run.end = at + 8;
                    *least = needed.min(*least);
                }
                _ => {
                    open.replace((at..at + 8, needed))
                        .into_iter()
                        .for_each(&mut end);
                }
            }
        });
        open.into_iter().for_each(end);
    }
}

/// Overwrites bytes by asterisks. Zeros stay, so that text of UTF-16 is still text.
pub(in crate::strip) fn blank(bytes: &mut [u8]) -> u64 {
    let mut changed = 0;
    for byte in bytes.iter_mut().filter(|byte| **byte != 0) {
        changed += u64::from(*byte != b'*');
        *byte = b'*';
    }
    changed
}
