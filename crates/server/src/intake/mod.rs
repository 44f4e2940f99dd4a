//! The way in: bytes are written, counted, hashed and looked at as they come.

mod direct;
mod join;
mod local;
#[cfg(feature = "serve")]
mod receive;
mod redact;
mod strip_rules;
mod uploads;

#[cfg(feature = "serve")]
pub use receive::{receive, refuse, slow};
pub use strip_rules::{
    MAX_SAID, StripFigures, StripRules, StrippedBy, Stripping, ThreadNamesRule, said_by_sender,
};
pub use uploads::Uploads;

use std::fs::File;
use std::io::{self, Read, Write};

use hprof_analysis::contents::looks_like_a_profile;
use hprof_analysis::input::Compression;
use http::StatusCode;
use sha2::{Digest, Sha256};

use crate::catalogue::{Added, Dump, JobState, NewDump};
use crate::ids::{ContentHash, DumpId};
use crate::problem::Problem;
use crate::rules::{self, Rule};
use crate::state::AppState;
use crate::store::{self, PartId};

/// The bytes by which most files are recognised.
const HEAD: usize = 64 << 10;
/// The bytes of a text in which the first thread dump or line on a collection must begin: programs log for long before
/// one.
const TEXT: usize = 4 << 20;
/// The longest name of a file that is kept, in bytes.
const MAX_NAME: usize = 200;

/// Hash and kind of the bytes that have come.
#[derive(Clone, Default)]
pub struct Digested {
    hasher: Sha256,
    /// Their number.
    pub length: u64,
    head: Vec<u8>,
    /// As many bytes were looked at.
    looked_at: usize,
    is_recognised: bool,
}

/// How a kind of file is called, and what to do with it.
pub type Recognise = fn(&[u8]) -> Option<(&'static str, &'static str)>;

impl Digested {
    /// Takes in the next bytes.
    ///
    /// # Errors
    /// If they show that this is no file for this server.
    pub fn take(&mut self, bytes: &[u8], recognise: Recognise) -> Result<(), Problem> {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        if !self.is_recognised {
            let missing = TEXT - self.head.len();
            self.head
                .extend_from_slice(bytes.get(..missing).unwrap_or(bytes));
            // Twice as many each time, so that all looks together take as long as two at all bytes.
            if self.head.len() >= HEAD.max(2 * self.looked_at).min(TEXT) {
                self.look(recognise, self.head.len() == TEXT)?;
            }
        }
        Ok(())
    }

    /// The hash of all bytes.
    ///
    /// # Errors
    /// If this is no file for this server.
    pub fn end(mut self, recognise: Recognise) -> Result<ContentHash, Problem> {
        if !self.is_recognised {
            self.look(recognise, true)?;
        }
        Ok(ContentHash::of_bytes(self.hasher.finalize().into()))
    }

    /// Looks at what has come. Unless it `is_last`, more may show what a text is.
    fn look(&mut self, recognise: Recognise, is_last: bool) -> Result<(), Problem> {
        self.looked_at = self.head.len();
        match look(&self.head, recognise) {
            Err(_) if !is_last && !self.head.contains(&0) => Ok(()),
            looked => {
                self.is_recognised = looked.is_ok();
                self.head = Vec::new();
                looked
            }
        }
    }
}

/// True if a head has lines of a garbage collection log.
fn looks_like_a_gc_log(head: &[u8]) -> bool {
    let mut reader = hprof_gclog::Reader::new();
    reader.feed(head);
    let summary = reader.finish();
    summary.collector.is_some() || summary.pauses.count > 0
}

/// Looks at the first bytes of a file.
///
/// # Errors
/// If they show that this is no file for this server.
fn look(head: &[u8], recognise: Recognise) -> Result<(), Problem> {
    let is_taken = head.starts_with(b"JAVA PROFILE")
        || Compression::of(head) != Compression::None
        || looks_like_a_profile(head)
        || hprof_foreign::Kind::of(head).is_some()
        || hprof_thread_dumps::begins_in(head)
        || looks_like_a_gc_log(head);
    if is_taken {
        return Ok(());
    }
    // For plain text, the advice for commands names fewer kinds than a server takes.
    let found =
        recognise(head.get(..HEAD).unwrap_or(head)).filter(|(what, _)| *what != "plain text");
    let detail = match found {
        _ if head.is_empty() => "the file is empty".to_owned(),
        Some((what, advice)) => format!("this is {what}, not an HPROF file: {advice}"),
        None => "this is no heap dump, profile, thread dump or garbage collection log: give what a JVM, \
             `jcmd PID GC.heap_dump`, `hprof-rs run` or Android wrote"
            .to_owned(),
    };
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "not-a-dump",
        "No dump, profile or log",
        detail,
    ))
}

/// The wishes of a sender beside the analysis.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Blank the values before the dump is kept.
    pub strips: bool,
    /// Rules for the dump.
    pub rules: Vec<Rule>,
    /// The values that the sender says it has blanked.
    pub stripped: Option<Stripping>,
}

impl Wishes {
    /// Wishes as texts: `true`, `yes` or `1` to strip, rules with commas between them, and what was blanked, in JSON.
    ///
    /// # Errors
    /// If one of them is wrong.
    pub fn of_texts(strip: &str, fail_above: &str, stripped: &str) -> Result<Self, Problem> {
        let strips = match strip {
            "" | "false" | "no" | "0" => false,
            "true" | "yes" | "1" => true,
            _ => return Err(Problem::bad_request("strip is true or false")),
        };
        let rules = rules::parse_list(fail_above).map_err(Problem::bad_request)?;
        Ok(Self {
            strips,
            rules,
            stripped: said_by_sender(stripped)?,
        })
    }
}

/// A part that is being written.
pub struct Incoming {
    file: File,
    /// Its hash and kind.
    pub digested: Digested,
    limit: u64,
    recognise: Recognise,
}

impl Incoming {
    /// A part that has come as far as `digested` says; `limit` bytes may come in all.
    pub fn new(state: &AppState, file: File, digested: Digested, limit: u64) -> Self {
        let recognise = state.config().recognise;
        Self {
            file,
            digested,
            limit,
            recognise,
        }
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// If there are too many, the disk fails, or they show that this is no dump.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if self.digested.length + bytes.len() as u64 > self.limit {
            return Err(too_large(self.limit));
        }
        self.file
            .write_all(bytes)
            .map_err(|error| of_disk(&error))?;
        self.digested.take(bytes, self.recognise)
    }

    /// Has the bytes survive a crash of the machine.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&self) -> Result<(), Problem> {
        self.file.sync_data().map_err(|error| of_disk(&error))
    }
}

/// Hash and kind of a file that lies there.
///
/// # Errors
/// If it cannot be read, or is no dump.
pub fn digest(file: &mut File, recognise: Recognise) -> Result<Digested, Problem> {
    let mut digested = Digested::default();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(digested),
            Ok(length) => {
                digested.take(buffer.get(..length).unwrap_or_default(), recognise)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Problem::internal(error)),
        }
    }
}

/// Too many bytes have come or are announced.
pub fn too_large(limit: u64) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-large",
        "Too large",
        format!("at most {limit} bytes may come; `serve --max-upload` sets the limit"),
    )
}

/// A problem of the disk, which is likely to be full.
pub fn of_disk(error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(),
        _ => Problem::internal(error),
    }
}

fn full() -> Problem {
    Problem::new(
        StatusCode::INSUFFICIENT_STORAGE,
        "disk-full",
        "The disk is full",
        "delete dumps that are not needed any more, or start the server with another --folder",
    )
}

/// The last part of a name of a file, without what could be taken for a folder or a control
/// character; `dump` if nothing is left.
pub fn file_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut name = String::new();
    for character in last.chars().filter(|it| !it.is_control()) {
        if name.len() + character.len_utf8() > MAX_NAME {
            break;
        }
        name.push(character);
    }
    match name.trim() {
        "" | "." | ".." => "dump".to_owned(),
        name => name.to_owned(),
    }
}

impl AppState {
    /// Refuses a length that the limit or the disk does not allow. Blocks.
    ///
    /// # Errors
    /// Then.
    pub fn has_room(&self, length: u64) -> Result<(), Problem> {
        let limit = self.config().max_upload;
        if length > limit {
            return Err(too_large(limit));
        }
        let free = self.store().free_bytes().map_err(Problem::internal)?;
        match length > free {
            true => Err(full()),
            false => Ok(()),
        }
    }

    /// As [`AppState::admit_with`], without wishes.
    ///
    /// # Errors
    /// If the disk or the catalogue fails.
    pub fn admit(&self, part: &PartId, name: &str, digested: Digested) -> Result<Dump, Problem> {
        self.admit_with(part, name, digested, &Wishes::default())
    }

    /// Makes a dump of a complete part, which goes, and has it analysed if it is new. Blocks; where values are
    /// blanked, for as long as that takes.
    ///
    /// # Errors
    /// If the disk, the catalogue or the blanking fails.
    pub fn admit_with(
        &self,
        part: &PartId,
        name: &str,
        digested: Digested,
        wishes: &Wishes,
    ) -> Result<Dump, Problem> {
        let dump = self.admit_copy(part, name, digested, wishes)?;
        // An original that cannot go would stay readable: it is a failure.
        self.store().delete_part(part).map_err(Problem::internal)?;
        Ok(dump)
    }

    /// As [`AppState::admit_with`], but the part stays, so that it can be tried again.
    ///
    /// # Errors
    /// If the disk, the catalogue or the blanking fails.
    pub fn admit_copy(
        &self,
        part: &PartId,
        name: &str,
        digested: Digested,
        wishes: &Wishes,
    ) -> Result<Dump, Problem> {
        let redacted = match self.strip_rules(wishes) {
            Some(rules) => self.redact(part, rules)?,
            None => None,
        };
        let Some(redacted) = redacted else {
            return self.publish(part, name, digested, wishes, None);
        };
        let digested = redacted.digested;
        let step = Some((redacted.note, redacted.step));
        let admitted = self.publish(&redacted.part, name, digested, wishes, step);
        let deleted = self.store().delete_part(&redacted.part);
        deleted.map_err(Problem::internal)?;
        admitted
    }

    /// The rules by which a dump is blanked here; none if it stays as it is.
    fn strip_rules(&self, wishes: &Wishes) -> Option<StripRules> {
        match (&self.config().strip, wishes.strips) {
            (None, false) => None,
            (None, true) => Some(StripRules::default()),
            (Some(rules), false) => Some(rules.clone()),
            (Some(rules), true) => Some(rules.strictest()),
        }
    }

    /// Makes a part a dump. `step` is there, with a note, if its values were blanked here.
    fn publish(
        &self,
        part: &PartId,
        name: &str,
        digested: Digested,
        wishes: &Wishes,
        step: Option<(String, Stripping)>,
    ) -> Result<Dump, Problem> {
        let stripped = step.is_some();
        let (note, step) = step.unzip();
        let bytes = digested.length;
        let sha256 = digested.end(self.config().recognise)?;
        let id = DumpId::of_hash(&sha256);
        self.check_id(&id, &sha256)?;
        self.give_way(&id)?;
        let published = self.store().publish(part, &id, &sha256);
        published.map_err(|error| store::problem(&error))?;
        let dump = self.register(NewDump {
            id,
            name: file_name(name),
            bytes,
            sha256,
            stripped,
            strippings: wishes.stripped.iter().cloned().chain(step).collect(),
            note: note.unwrap_or_default(),
        })?;
        match wishes.rules.is_empty() {
            true => Ok(dump),
            false => {
                self.set_rules(&dump.id, &wishes.rules)?;
                self.dump(&dump.id)
            }
        }
    }

    /// Refuses a hash that another dump's id stands for.
    fn check_id(&self, id: &DumpId, sha256: &ContentHash) -> Result<(), Problem> {
        match self.catalogue().dump(id)? {
            Some(known) if known.sha256 != *sha256 => Err(Problem::conflict(format!(
                "another dump whose hash begins alike has the id {id}; delete it first"
            ))),
            _ => Ok(()),
        }
    }

    /// Removes a dump whose bytes have another SHA-256 than its sender announced: a client that has the right ones must
    /// not be refused because of it.
    fn give_way(&self, id: &DumpId) -> Result<(), Problem> {
        let job = self.catalogue().dump(id)?.and_then(|known| known.job);
        let is_wrong = job.is_some_and(|job| {
            let error = job.error.filter(|_| job.state == JobState::Failed);
            error.is_some_and(|error| error.title == store::DAMAGED_TITLE)
        });
        match is_wrong {
            true => self.delete_dump(id),
            false => Ok(()),
        }
    }

    /// Adds a dump whose file is in the store, and has it analysed if it is new. Blocks.
    ///
    /// # Errors
    /// If the catalogue fails.
    pub fn register(&self, dump: NewDump) -> Result<Dump, Problem> {
        let id = dump.id.clone();
        if let Added::New(job) = self.catalogue().add_dump(&dump)? {
            self.announce(job);
            self.jobs().wake();
        }
        self.dump(&id)
    }

    /// A dump as it is now. Blocks.
    ///
    /// # Errors
    /// If there is none.
    pub fn dump(&self, id: &DumpId) -> Result<Dump, Problem> {
        let dump = self.catalogue().dump(id)?;
        let mut dump = dump.ok_or_else(|| Problem::not_found(format!("there is no dump {id}")))?;
        self.judge_in(&mut dump)?;
        if let Some(job) = &mut dump.job {
            self.jobs().show(job);
        }
        Ok(dump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_file_keeps_nothing_that_leads_elsewhere() {
        for (given, kept) in [
            ("heap.hprof", "heap.hprof"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\a.hprof", "a.hprof"),
            ("a\u{0}\n\u{1b}[31mb", "a[31mb"),
            ("..", "dump"),
            ("", "dump"),
        ] {
            assert_eq!(file_name(given), kept);
        }
        assert!(file_name(&"ä".repeat(1000)).len() <= MAX_NAME);
    }

    #[test]
    fn what_is_no_dump_is_refused_with_its_kind() {
        let recognise: Recognise = |_| Some(("JSON", "`jq . FILE` shows it"));
        let mut other = Digested::default();
        other.take(b"{}", recognise).unwrap();
        let problem = other.end(recognise).unwrap_err();
        assert!(problem.detail.contains("JSON"), "{}", problem.detail);
        let mut dump = Digested::default();
        dump.take(b"JAVA PROFILE 1.0.2\0", recognise).unwrap();
        assert!(dump.end(recognise).is_ok());
        // No text has zeros.
        let mut garbage = Digested::default();
        assert!(garbage.take(&[0; HEAD], recognise).is_err());
        let mut text = Digested::default();
        let mut come = 0;
        while text.take(&[b'x'; 100_000], recognise).is_ok() {
            come += 100_000;
            assert!(come <= TEXT);
        }
        assert!(text.head.is_empty());
    }

    #[test]
    fn empty_and_plain_files_are_refused_for_what_they_are() {
        // This is how the command recognises both.
        let recognise: Recognise = |_| Some(("plain text", "give a heap dump"));
        let empty = Digested::default().end(recognise).unwrap_err();
        assert_eq!(empty.detail, "the file is empty");
        let mut text = Digested::default();
        text.take(b"just words\n", recognise).unwrap();
        let text = text.end(recognise).unwrap_err();
        assert!(
            text.detail.contains("garbage collection log"),
            "{}",
            text.detail
        );
    }

    #[test]
    fn a_log_is_recognised_wherever_its_first_dump_or_collection_begins() {
        let recognise: Recognise = |_| None;
        let chatter = "2026-11-23 02:50:00 INFO nothing of interest\n".repeat(80_000);
        for line in [
            "Full thread dump OpenJDK 64-Bit Server VM (21 mixed mode):\n",
            "[9.5s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M) 2.3ms\n",
        ] {
            let log = format!("{chatter}{line}{chatter}");
            for piece in [10_000, 1 << 30] {
                let mut digested = Digested::default();
                for bytes in log.as_bytes().chunks(piece) {
                    digested.take(bytes, recognise).unwrap();
                }
                assert!(digested.head.is_empty(), "{line} {piece}");
                assert!(digested.end(recognise).is_ok());
            }
            // A short one is looked at when it has ended.
            let mut short = Digested::default();
            let log = format!("{}\n{line}", &chatter[..100_000]);
            short.take(log.as_bytes(), recognise).unwrap();
            assert!(short.end(recognise).is_ok());
        }
        let mut other = Digested::default();
        other
            .take(chatter.get(..100_000).unwrap().as_bytes(), recognise)
            .unwrap();
        assert!(other.end(recognise).is_err());
    }
}
