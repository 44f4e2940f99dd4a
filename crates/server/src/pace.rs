//! The pace that a peer must keep while the server waits for it, in either direction.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep};

/// The slowest pace that the server bears of a peer.
#[derive(Debug, Clone, Copy)]
pub struct MinimumPace {
    /// Bytes in a second, on average over a window; with 0, one byte in a window is enough.
    pub bytes_per_second: u64,
    /// The window. Only time in which the server waits for the peer counts.
    pub window: Duration,
}

impl Default for MinimumPace {
    fn default() -> Self {
        Self {
            bytes_per_second: 1024,
            window: Duration::from_secs(60),
        }
    }
}

impl MinimumPace {
    /// The bytes that must move in each window.
    fn least(&self) -> u64 {
        let bytes = self.window.as_secs_f64() * self.bytes_per_second as f64;
        // A window shorter than a second still asks for something; fractions are cut off.
        (bytes as u64).max(1)
    }
}

/// A peer fell below the pace.
#[derive(Debug, Clone, Copy)]
pub struct TooSlow {
    /// The bytes that moved in the last window.
    pub bytes: u64,
    /// The pace that was asked for.
    pub pace: MinimumPace,
}

impl fmt::Display for TooSlow {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.pace.window.as_secs();
        match self.bytes {
            0 => write!(to, "nothing came for {seconds} s"),
            bytes => write!(
                to,
                "{bytes} bytes in {seconds} s are too few: {} must come",
                self.pace.least()
            ),
        }
    }
}

impl Error for TooSlow {}

impl TooSlow {
    /// The cause of an error, if it is this one.
    pub fn behind<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            // An error of `std::io` shows the source of the error that it holds, and not that error.
            let held = error.downcast_ref::<std::io::Error>();
            let held = held.and_then(|it| it.get_ref()).map(|it| it as _);
            next = held.or_else(|| error.source());
        }
        None
    }
}

/// Measures one direction of a connection.
pub struct Meter {
    pace: MinimumPace,
    /// Since when the server has waited; none while it does not.
    since: Option<Instant>,
    /// How long it had waited before, in this window.
    waited: Duration,
    /// The bytes that moved in this window.
    bytes: u64,
    /// Rings at the end of the window, if the peer moves nothing until then.
    end: Option<Pin<Box<Sleep>>>,
}

impl Meter {
    /// A meter of nothing yet.
    pub fn new(pace: MinimumPace) -> Self {
        Self {
            pace,
            since: None,
            waited: Duration::ZERO,
            bytes: 0,
            end: None,
        }
    }

    /// Notes that bytes moved.
    pub fn moved(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
            self.end = None;
        }
    }

    /// Notes that the peer has to move something; ready when it is too slow. The task is woken for that.
    pub fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<TooSlow> {
        loop {
            self.since.get_or_insert_with(Instant::now);
            let left = self.pace.window.saturating_sub(self.waited);
            let end = self.end.get_or_insert_with(|| Box::pin(sleep(left)));
            if end.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            if self.bytes < self.pace.least() {
                return Poll::Ready(TooSlow {
                    bytes: self.bytes,
                    pace: self.pace,
                });
            }
            *self = Self::new(self.pace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::time::timeout;

    fn pace(bytes_per_second: u64) -> MinimumPace {
        MinimumPace {
            bytes_per_second,
            window: Duration::from_millis(50),
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.unwrap().block_on(work)
    }

    async fn late(meter: &mut Meter) -> TooSlow {
        poll_fn(|context| meter.poll_late(context)).await
    }

    #[test]
    fn a_peer_that_moves_nothing_is_late_after_one_window() {
        run(async {
            let began = Instant::now();
            let slow = late(&mut Meter::new(pace(0))).await;
            assert_eq!(slow.bytes, 0);
            assert!(began.elapsed() >= Duration::from_millis(50));
        });
    }

    #[test]
    fn a_peer_that_moves_a_byte_now_and_then_is_late() {
        run(async {
            let mut meter = Meter::new(pace(1000));
            for _ in 0..10_000 {
                match timeout(Duration::from_millis(5), late(&mut meter)).await {
                    Ok(slow) => return assert!(slow.bytes < 50, "{slow:?}"),
                    Err(_) => meter.moved(1),
                }
            }
            panic!("a trickle is never late");
        });
    }

    /// A pace over a window that no busy machine makes these tests miss.
    fn long() -> MinimumPace {
        MinimumPace {
            bytes_per_second: 10,
            window: Duration::from_secs(30),
        }
    }

    #[test]
    fn a_peer_that_keeps_the_pace_begins_another_window() {
        run(async {
            for (bytes, is_late) in [(299, true), (300, false)] {
                let mut meter = Meter::new(long());
                meter.moved(bytes);
                meter.waited = long().window;
                let found = timeout(Duration::from_millis(100), late(&mut meter)).await;
                assert_eq!(found.is_ok(), is_late, "{bytes}");
                assert_eq!(meter.bytes, if is_late { 299 } else { 0 });
            }
        });
    }

    #[test]
    fn time_in_which_the_server_does_not_wait_does_not_count() {
        run(async {
            let mut meter = Meter::new(long());
            let (began, work) = (Instant::now(), Duration::from_millis(30));
            for _ in 0..3 {
                let waited = timeout(Duration::from_millis(1), late(&mut meter)).await;
                assert!(waited.is_err(), "{waited:?}");
                meter.moved(1);
                tokio::time::sleep(work).await;
            }
            assert!(began.elapsed() - meter.waited >= 3 * work);
        });
    }

    #[test]
    fn the_cause_is_found_behind_other_errors() {
        let slow = TooSlow {
            bytes: 7,
            pace: pace(1),
        };
        let wrapped = axum::Error::new(std::io::Error::other(slow));
        assert_eq!(TooSlow::behind(&wrapped).unwrap().bytes, 7);
        assert!(TooSlow::behind(&std::io::Error::other("another")).is_none());
    }
}
