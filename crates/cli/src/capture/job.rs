//! The job of a dump, from the queue to its end.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::meter::Meter;
use super::{Client, Patience};

/// The pause between two questions, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// The verdict on a rule of `--fail-above`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// The rule as it was given.
    pub rule: String,
    /// True if the dump keeps to it; none if the job has not ended well.
    pub passed: Option<bool>,
    /// The verdict as a sentence; none if the job has not ended well.
    pub sentence: Option<String>,
}

/// How a job ended.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// `done`, `failed` or `cancelled`; `queued` or `running` if the caller did not wait.
    pub state: String,
    /// The sentence that matters most.
    pub headline: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// The server's remarks about the file.
    pub note: String,
    /// Verdicts on rules.
    pub rules: Vec<Verdict>,
}

/// Gives a dump labels beside those that it has, a note, and rules.
///
/// # Errors
/// If the server refuses them.
pub fn describe(
    client: &Client,
    dump: &str,
    labels: &[(String, String)],
    patience: &mut Patience,
) -> anyhow::Result<()> {
    if labels.is_empty() {
        return Ok(());
    }
    let path = format!("/api/v1/dumps/{dump}");
    let shown = client.ask("GET", &path, &[], None, patience)?;
    let mut all = shown.json()?["labels"].take();
    let Some(kept) = all.as_object_mut() else {
        return Err(shown.problem());
    };
    kept.extend(
        labels
            .iter()
            .map(|(key, value)| (key.clone(), json!(value))),
    );
    let patch = json!({ "labels": all });
    let answer = client.ask("PATCH", &path, &[], Some(&patch), patience)?;
    match answer.status {
        200 => Ok(()),
        _ => Err(answer.problem()),
    }
}

/// Waits for the end of a dump's job, or looks once.
///
/// # Errors
/// If the server does not answer for as long as patience lasts.
pub fn wait(
    client: &Client,
    dump: &str,
    is_awaited: bool,
    patience: &mut Patience,
) -> anyhow::Result<Outcome> {
    let path = format!("/api/v1/dumps/{dump}");
    let mut shown = Shown::default();
    let mut pause = PAUSES.0;
    loop {
        let answer = client.ask("GET", &path, &[], None, patience)?;
        if answer.status != 200 {
            return Err(answer.problem());
        }
        let found = answer.json()?;
        let outcome = outcome(&found)?;
        let has_ended = matches!(outcome.state.as_str(), "done" | "failed" | "cancelled");
        if has_ended || !is_awaited {
            return Ok(outcome);
        }
        shown.show(&found["job"]);
        sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

fn outcome(dump: &Value) -> anyhow::Result<Outcome> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let job = &dump["job"];
    let Some(state) = text(&job["state"]) else {
        bail!("the server has no job for the dump; add it again");
    };
    let error = &job["error"];
    let error = text(&error["title"]).zip(text(&error["detail"]));
    let rules = dump.get("rules").cloned().unwrap_or_else(|| json!([]));
    Ok(Outcome {
        state,
        headline: text(&dump["headline"]),
        error: error.map(|(title, detail)| format!("{title}: {detail}")),
        note: text(&dump["note"]).unwrap_or_default(),
        rules: serde_json::from_value(rules).context("the server is of another version")?,
    })
}

/// The phase that is shown.
#[derive(Default)]
struct Shown {
    phase: &'static str,
    done: u64,
    meter: Option<Meter>,
}

/// The phases of a job. Others, of a later server, are shown as one.
const PHASES: [&str; 8] = [
    "queued",
    "unpacking",
    "reading",
    "graph",
    "dominators",
    "index",
    "report",
    "working",
];

impl Shown {
    fn show(&mut self, job: &Value) {
        let told = match job["state"].as_str() {
            Some("queued") => "queued",
            _ => job["phase"].as_str().unwrap_or("working"),
        };
        let known = PHASES.iter().find(|phase| **phase == told);
        let phase = known.copied().unwrap_or("working");
        let done = job["done"].as_u64().unwrap_or(0);
        if phase != self.phase {
            self.meter = Some(Meter::begin(phase, job["total"].as_u64().unwrap_or(0)));
            (self.phase, self.done) = (phase, 0);
        }
        if let Some(meter) = &self.meter {
            meter.add(done.saturating_sub(self.done));
        }
        self.done = self.done.max(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_read_with_its_error_and_rules() {
        let done = json!({"job": {"state": "done"}, "headline": "x", "note": "", "rules": [
            {"rule": "suspects=0", "passed": false, "sentence": "one"}]});
        let found = outcome(&done).unwrap();
        assert_eq!(
            (found.state.as_str(), found.headline.as_deref()),
            ("done", Some("x"))
        );
        assert_eq!(found.rules[0].passed, Some(false));
        let failed = json!({"job": {"state": "failed", "error": {"title": "a", "detail": "b"}}});
        assert_eq!(outcome(&failed).unwrap().error.as_deref(), Some("a: b"));
        assert!(outcome(&json!({})).is_err());
    }
}
