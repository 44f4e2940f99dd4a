//! News that the database sends: one connection per process listens, and comes back after a loss.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::{sleep, timeout};

use super::pool::Pool;
use crate::catalogue::{JobState, News};
use crate::ids::JobId;

/// The channel of news.
pub(super) const CHANNEL: &str = "hprof_rs";
/// How often the connection is tried out.
const PULSE: Duration = Duration::from_secs(10);
/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// The pause after a loss.
const PAUSE: Duration = Duration::from_millis(500);

/// Listens as long as the pool has an owner.
pub(super) async fn run(pool: Weak<Pool>, news: broadcast::Sender<News>) {
    while let Some(pool) = pool.upgrade() {
        listen(&pool, &news).await;
        drop(pool);
        sleep(PAUSE).await;
    }
}

/// Listens until the connection is lost.
async fn listen(pool: &Arc<Pool>, news: &broadcast::Sender<News>) {
    let tell = {
        let news = news.clone();
        move |payload: &str| {
            if let Some(found) = of_payload(payload) {
                // There may be no listener.
                let _ = news.send(found);
            }
        }
    };
    let connected = timeout(
        DEADLINE,
        pool.connect(move |it| {
            if it.channel() == CHANNEL {
                tell(it.payload());
            }
        }),
    );
    let Ok(Ok(client)) = connected.await else {
        return;
    };
    let mut question = format!("LISTEN {CHANNEL}");
    loop {
        let asked = timeout(DEADLINE, client.batch_execute(&question)).await;
        if !matches!(asked, Ok(Ok(()))) {
            return;
        }
        if question != "SELECT 1" {
            "SELECT 1".clone_into(&mut question);
            // Before that no connection listened.
            let _ = news.send(News::Missed);
        }
        let mut waited = Duration::ZERO;
        while waited < PULSE {
            sleep(PAUSE).await;
            waited += PAUSE;
            if client.is_closed() || Arc::strong_count(pool) == 1 {
                return;
            }
        }
    }
}

fn of_payload(payload: &str) -> Option<News> {
    if payload == "missed" {
        return Some(News::Missed);
    }
    let mut words = payload.split(' ');
    let (kind, id) = (words.next()?, words.next()?);
    match kind {
        "job" => {
            let state = JobState::of_word(words.next()?)?;
            Some(News::Job {
                id: JobId(id.parse().ok()?),
                state,
                dump: words.next()?.parse().ok()?,
            })
        }
        "dump" => Some(News::Dump(id.parse().ok()?)),
        "gone" => Some(News::DumpDeleted(id.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood_and_nothing_else() {
        let expected = News::Job {
            id: JobId(12),
            state: JobState::Queued,
            dump: "0a1b2c3d4e5f6071".parse().unwrap(),
        };
        assert_eq!(of_payload("job 12 queued 0a1b2c3d4e5f6071"), Some(expected));
        let gone = of_payload("gone 0a1b2c3d4e5f6071");
        assert!(matches!(gone, Some(News::DumpDeleted(_))));
        for wrong in [
            "",
            "job",
            "job x queued",
            "job 1 lost 0a1b2c3d4e5f6071",
            "job 1 queued",
            "dump ../x",
            "other 1",
        ] {
            assert_eq!(of_payload(wrong), None, "{wrong}");
        }
    }
}
