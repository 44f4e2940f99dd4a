//! Which files there are, and the head of one.

use std::sync::Arc;

use hprof_server::views::overview::overview;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Question;
use crate::analyses::Kind;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::roots::FILES;
use crate::session::{PATIENCE, Session, blocking};

/// The longest that `open` waits, in seconds.
const MAX_PATIENCE: u64 = 600;
/// The threads of a profile that its head names.
const THREADS: usize = 20;
/// The slowest calls of each timed method.
const CALLS: usize = 3;

/// Lists files.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ListFiles {}

impl Question for ListFiles {
    const NAME: &'static str = "list_files";
    const ABOUT: &'static str = "Lists the heap dumps, profiles, garbage collection logs and thread \
        dumps that can be read, the newest first. Ask this first, then open one.";

    async fn ask(self, session: &Session, _call: &Call) -> Result<Answer, Refusal> {
        let roots = Arc::clone(&session.roots);
        let listing = blocking(move || Ok(roots.list())).await?;
        let is_none = listing.files.is_empty();
        let mut answer = Answer::new(json!({"files": listing.files})).cut_at("files");
        if listing.is_cut {
            let note = format!("only {FILES} files are listed; others can be opened by their path");
            answer = answer.with("notes", [note]);
        }
        Ok(match is_none {
            true => answer.next(
                "no dump, profile or log was recognised; ask the user for its path, or to start \
                 `hprof-rs mcp` with the folder that holds it",
            ),
            false => answer.next("open a dump or profile; gc_log or thread_dumps for logs"),
        })
    }
}

/// Opens a file.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Open {
    /// The path of a heap dump or profile, plain or compressed.
    file: String,
    /// How long to wait for a large dump to be read, 0 to 600; 45 without it. Reading continues after that.
    wait_seconds: Option<u64>,
}

impl Question for Open {
    const NAME: &'static str = "open";
    const ABOUT: &'static str = "Reads a heap dump or profile and summarizes it: kind, the finding that \
        matters most, totals, the largest objects or the measured quantities. A large dump takes minutes \
        to read, once; later questions about it are quick.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let patience = self.wait_seconds.unwrap_or(PATIENCE);
        if patience > MAX_PATIENCE {
            return Err(Refusal::Wrong(format!("wait_seconds: 0 to {MAX_PATIENCE}")));
        }
        let analysis = session.analysis(call, &self.file, patience).await?;
        match analysis.kind {
            Kind::Heap => {
                let found = session.heap(call, &self.file, |opened| Ok(overview(opened)));
                let answer = Answer::new(found.await?).with("kind", "heap dump");
                Ok(answer
                    .with("headline", &analysis.headline)
                    .next(
                        "suspects: which objects keep an unexpected part alive, and who holds them",
                    )
                    .next("histogram, dominators, threads: classes, the largest objects, stacks"))
            }
            Kind::Profile => {
                let mut about = session
                    .profile(call, &self.file, |profile| Ok(profile.about()))
                    .await?;
                about.threads.truncate(THREADS);
                for method in about.slow.iter_mut().flat_map(|slow| &mut slow.methods) {
                    method.slowest.truncate(CALLS);
                    // The times of its states say what an assistant asks for.
                    for strip in method.slowest.iter_mut().flat_map(|call| &mut call.strip) {
                        strip.segments.clear();
                    }
                }
                let answer = Answer::new(about).with("kind", "profile");
                Ok(answer
                    .with("headline", &analysis.headline)
                    .next(
                        "methods: which methods cost most themselves; dimension names the quantity",
                    )
                    .next("call_tree with least_percent=5: the costly ways from the top"))
            }
        }
    }
}
