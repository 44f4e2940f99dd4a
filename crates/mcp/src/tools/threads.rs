//! Threads of a heap dump.

use hprof_server::views::threads::{thread, threads};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Question;
use super::page::Page;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::Session;

/// Locals of a frame that are shown.
const LOCALS: usize = 10;

/// Asks for threads.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Threads {
    /// The heap dump.
    file: String,
    #[serde(flatten)]
    page: Page,
}

impl Question for Threads {
    const NAME: &'static str = "threads";
    const ABOUT: &'static str = "Lists the threads of a heap dump: name, state, what each retains by its \
        stack, depth, innermost method. Ask this when the heap is full because of what is being worked on.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let view = |opened: &std::sync::Arc<_>, query: &_| threads(opened, query);
        let answer = self.page.ask(session, call, &self.file, view).await?;
        Ok(answer.next("thread with the `object` of a row: its stack and what each frame holds"))
    }
}

/// Asks for a thread.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadQuestion {
    /// The heap dump.
    file: String,
    /// The identifier of the thread, the `object` of a row of threads.
    object: String,
}

impl Question for ThreadQuestion {
    const NAME: &'static str = "thread";
    const ABOUT: &'static str = "Shows a thread of a heap dump: its stack, innermost method first, with the \
        objects that each frame holds and their retained sizes.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let id = self.object;
        let mut found = session
            .heap(call, &self.file, move |opened| thread(opened, &id))
            .await?;
        for frame in &mut found.frames {
            frame.locals.truncate(LOCALS);
        }
        found.other_locals.truncate(LOCALS);
        let answer = Answer::new(found).cut_at("frames");
        Ok(answer.next("object with the identifier of a local: what it holds"))
    }
}
