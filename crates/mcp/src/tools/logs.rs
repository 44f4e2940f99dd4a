//! Logs that commands read: garbage collections, thread dumps.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::Question;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::roots::Found;
use crate::session::{Session, blocking};

/// How long a command may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// The bytes of its output that are read.
const MAX_OUTPUT: u64 = 1 << 20;
/// The bytes of its messages that are read.
const MAX_MESSAGE: u64 = 16 << 10;
/// Thread dumps of one question.
const MAX_FILES: usize = 20;

/// Runs a command on a file, and gives its JSON.
async fn run_json(session: &Session, arguments: &[&str], file: &str) -> Result<Answer, Refusal> {
    let memory = session.memory().to_string();
    let arguments = [arguments, &["--memory", &memory]].concat();
    let said = said(session, &arguments, &[file.to_owned()]).await?;
    let value: serde_json::Value = serde_json::from_str(&said.text).map_err(Refusal::wrong)?;
    Ok(Answer::new(value))
}

/// Runs a command on files, and gives its lines.
async fn run(session: &Session, arguments: &[&str], files: &[String]) -> Result<Answer, Refusal> {
    let memory = session.memory().to_string();
    let arguments = [arguments, &["--memory", &memory]].concat();
    run_as_it_is(session, &arguments, files).await
}

/// As [`run`], for a command that needs no limit of its memory.
async fn run_as_it_is(
    session: &Session,
    arguments: &[&str],
    files: &[String],
) -> Result<Answer, Refusal> {
    let Said { text, message } = said(session, arguments, files).await?;
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let notes: Vec<&str> = message.lines().collect();
    Ok(Answer::new(json!({"lines": lines, "notes": notes})).cut_at("lines"))
}

/// The output of a command, with the names of files that its caller knows.
struct Said {
    text: String,
    /// Its messages.
    message: String,
}

async fn said(session: &Session, arguments: &[&str], files: &[String]) -> Result<Said, Refusal> {
    let mut found: Vec<Found> = Vec::new();
    for file in files {
        let (roots, file) = (Arc::clone(&session.roots), file.clone());
        found.push(blocking(move || roots.find(&file)).await?);
    }
    let mut child = Command::new(session.executable())
        .args(arguments)
        .args(found.iter().map(Found::link))
        .env("COLUMNS", "160")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(Refusal::wrong)?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let (Some(output), Some(errors)) = (output, errors) else {
        return Err(Refusal::wrong("a process without pipes"));
    };
    let work = async {
        let (mut text, mut message) = (Vec::new(), Vec::new());
        let mut output = output.take(MAX_OUTPUT);
        let mut errors = errors.take(MAX_MESSAGE);
        tokio::try_join!(
            output.read_to_end(&mut text),
            errors.read_to_end(&mut message)
        )?;
        // A child that writes more than that blocks until its output is read.
        let is_cut = output.limit() == 0 || errors.limit() == 0;
        if is_cut {
            child.start_kill()?;
        }
        let status = child.wait().await?;
        Ok::<_, std::io::Error>((text, message, is_cut || status.success()))
    };
    let done = tokio::time::timeout(DEADLINE, work).await;
    let done = done.map_err(|_| Refusal::Wrong("the file takes too long to read".to_owned()))?;
    let (text, message, is_done) = done.map_err(Refusal::wrong)?;
    let named = |bytes: &[u8]| {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for file in &found {
            text = text.replace(&*file.link().to_string_lossy(), &file.name);
        }
        text
    };
    let message = named(&message);
    if !is_done {
        return Err(Refusal::Wrong(
            message.trim().trim_start_matches("hprof-rs: ").to_owned(),
        ));
    }
    let text = named(&text);
    Ok(Said { text, message })
}

/// Asks for the findings of a recording.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RecordingFindings {
    /// The recording (JFR) of the JDK, of async-profiler or of hprof-rs, plain or compressed.
    file: String,
    /// Packages or classes of the program, such as com.acme; inferred without it.
    own: Option<Vec<String>>,
}

impl Question for RecordingFindings {
    const NAME: &'static str = "recording_findings";
    const ABOUT: &'static str = "Says what holds a program up, from its Flight Recorder recording: ranked findings \
        with level, figures, line of the program, cause and next step, on CPU, locks, collections, allocation, \
        exceptions, I/O, pools and more. Ask this first of a recording.";

    async fn ask(self, session: &Session, _call: &Call) -> Result<Answer, Refusal> {
        let own = self.own.unwrap_or_default().into_iter();
        let own: Vec<String> = own.map(|pattern| format!("--own={pattern}")).collect();
        let own = own.iter().map(String::as_str);
        let report = ["report", "--findings", "--json"].into_iter();
        let arguments: Vec<&str> = report.chain(own).collect();
        let answer = run_json(session, &arguments, &self.file).await?;
        Ok(answer
            .cut_at("findings")
            .next("ask methods or callers for the stacks behind a finding"))
    }
}

/// Asks for a log of collections.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GcLog {
    /// The log (-Xlog:gc*, or -XX:+PrintGCDetails of JDK 8) or recording (JFR), plain or compressed.
    file: String,
    /// A later log or recording, to compare with.
    after: Option<String>,
}

impl Question for GcLog {
    const NAME: &'static str = "gc_log";
    const ABOUT: &'static str = "Summarizes the collections of a log or of a Flight Recorder recording: pauses, \
        causes, heap after collections, allocation rate, stops for other reasons, and findings with advice; or \
        compares two. Ask this for slow \
        responses, and to see whether the heap grows.";

    async fn ask(self, session: &Session, _call: &Call) -> Result<Answer, Refusal> {
        let files: Vec<String> = [Some(self.file), self.after]
            .into_iter()
            .flatten()
            .collect();
        let answer = run(session, &["gc", "--alone"], &files).await?;
        Ok(answer
            .next("if the heap grows after each collection, open a heap dump and ask suspects"))
    }
}

/// Asks for what is left of a process that ran out of memory.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ProcessMemoryFile {
    /// An hs_err_pid.log, the kernel's log with "Killed process", or the JSON of `hprof-rs memory PID --record 10m -o
    /// memory.json`.
    file: String,
}

impl Question for ProcessMemoryFile {
    const NAME: &'static str = "process_memory";
    const ABOUT: &'static str = "Says what took the memory of a process, heap and all the rest: from a recording \
        which row grew, how fast, and when it reaches the limit; from a report of a crash or the kernel's log why it ended. \
        Ask this when a container was killed though the heap is fine.";

    async fn ask(self, session: &Session, _call: &Call) -> Result<Answer, Refusal> {
        let answer = run_as_it_is(session, &["memory", "--post-mortem"], &[self.file]).await?;
        Ok(answer.next("if the Java heap grows, open a heap dump and ask suspects"))
    }
}

/// Asks for thread dumps.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ThreadDumps {
    /// Files with thread dumps of one program, oldest first: of jstack, jcmd or kill -3, or recordings (JFR).
    files: Vec<String>,
}

impl Question for ThreadDumps {
    const NAME: &'static str = "thread_dumps";
    const ABOUT: &'static str = "Summarizes thread dumps: what threads do by equal stacks, pools, locks and \
        who holds them, deadlocks; over several dumps what moved and what is stuck.";

    async fn ask(self, session: &Session, _call: &Call) -> Result<Answer, Refusal> {
        if self.files.is_empty() || self.files.len() > MAX_FILES {
            return Err(Refusal::Wrong(format!("files: 1 to {MAX_FILES} of them")));
        }
        run(session, &["stacks", "--top", "15"], &self.files).await
    }
}
