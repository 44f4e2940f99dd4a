//! `hprof-rs capture`: from a JVM to the report on a server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use hprof_server::intake::StripFigures;
use hprof_server::rules::Rule;
use serde_json::json;

use super::convert;
use crate::capture::{
    Address, Client, DumpWish, Interrupt, LOOK_EVERY, Outcome, Packing, Parcel, Patience, Secret,
    WatchedFolder, describe, dump, pack, send, send_direct, wait,
};
use crate::jvm::pick;
use crate::jvm::process::Pid;
use crate::render::out::tell;
use crate::render::screen::{bytes, print, print_json, printable};
use crate::strip_rules::{StripArguments, StripWork};
use crate::written;

/// The longest text on what was blanked that goes into a header, in bytes.
const MAX_STRIPPED: usize = 4 << 10;
/// The environment variable with the server's address.
const SERVER: &str = "HPROF_RS_SERVER";
/// The longest silence of a server: its answer to the last piece of an upload waits for its disk.
const SERVER_SILENCE: Duration = Duration::from_secs(120);
/// The longest silence of object storage.
const STORAGE_SILENCE: Duration = Duration::from_secs(30);

/// Dump the heap of a JVM to a server, and print the link of its report.
///
/// The command asks the JVM for a dump (JDK 6 and later, HotSpot; in a container too), compresses it
/// unless the server is on this machine, sends it, and waits for the analysis. Where the server keeps
/// its dumps in object storage the file goes straight there, by addresses that the server signs. An
/// upload continues after a lost connection. Ctrl+C removes the dump and the upload.
#[derive(Debug, Args)]
#[command(after_long_help = LONG_HELP)]
pub struct Capture {
    /// The JVM's process id or a part of its program's name, as `hprof-rs ps` shows them, or a heap dump or profile; with --watch a folder.
    #[arg(value_name = "PID|NAME|FILE|FOLDER")]
    what: PathBuf,

    /// Stay, and send each `.hprof` or `.hprof.gz` file of the folder when it is complete: beside a JVM
    /// with `-XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=FOLDER`.
    #[arg(long, conflicts_with_all = ["live", "keep", "name", "json"])]
    watch: bool,

    /// Remove each dump of the folder after it was sent.
    #[arg(long, requires = "watch")]
    remove: bool,

    /// The server's URL, or the link that `hprof-rs serve` printed [default: `HPROF_RS_SERVER`].
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// The token. Other users of this machine see it; use `HPROF_RS_TOKEN` or --token-file there.
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,

    /// A file with the token.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// The certificates of the authority that signed the server's certificate, in PEM [default:
    /// those that this machine trusts].
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Collect garbage first, and leave out what no root reaches.
    #[arg(long)]
    live: bool,

    /// A label, such as `service=shop`; may be repeated.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,

    /// The name to show [default: the name of the file, or program and process id].
    #[arg(long)]
    name: Option<String>,

    /// Keep what is sent in a file too; `.gz` at the end of its name compresses it.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,

    /// A rule for the dump, such as `suspects=0`; may be repeated. Status 1 if one is broken.
    #[arg(long, value_name = "RULE")]
    fail_above: Vec<Rule>,

    /// End when the file is sent; the server analyses it later.
    #[arg(long, conflicts_with = "fail_above")]
    no_wait: bool,

    /// Send to the server also where its object storage could take the file itself.
    #[arg(long)]
    through_server: bool,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// The folder for the JVM's dump, as the JVM sees it.
    #[arg(long, value_name = "DIR", default_value = "/tmp")]
    dump_folder: PathBuf,

    /// The time limit for the JVM's dump, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    timeout: u64,

    /// How long to try again while the server cannot be reached, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(0..=86400))]
    patience: u64,

    /// How long the other end may neither take nor send a byte before a request is repeated, in
    /// seconds [default: 120, for object storage 30].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    silence: Option<u64>,

    #[command(flatten)]
    strip: StripArguments,
}

const LONG_HELP: &str = "\
Examples:
  hprof-rs capture 4242 --server 'http://127.0.0.1:7117/?token=TOKEN'
      the link of a server on this machine, as `hprof-rs serve` printed it

  HPROF_RS_TOKEN=... hprof-rs capture 4242 --server https://dumps.example.com \\
      --strip --live --label service=shop --label build=812
      sends no text of the program to the colleagues' server

  hprof-rs capture 4242 --server https://dumps.example.com --token-file token \\
      --strip-redact --strip-redact-pattern 'KD-[0-9]{6}' --strip-drop 'com.example.customer.*'
      sends texts without secrets and customers; the page says what was done

  hprof-rs capture heap.hprof --server https://dumps.example.com --token-file token \\
      --fail-above suspects=0 --fail-above retained:com.example.Cache=100MB
      for a pipeline: status 1 if a rule is broken

  hprof-rs capture /dumps --watch --remove --server https://dumps.example.com --token-file token
      beside JVMs with -XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/dumps: sends each dump, then removes it

Rules:
  Each is KIND=LIMIT or KIND:NAME=LIMIT, and broken above its limit.
  retained:CLASS, package:NAME   what a class or package keeps alive; `*` matches any characters
  objects, objects:CLASS         live objects
  live, unreached, duplicates    bytes of live, unreached and duplicate objects
  largest                        what the largest object keeps alive
  suspects                       leak suspects
  classes, classloaders, threads their numbers; classloaders:CLASS the loaders of a class
  Sizes have a unit: kB, MB, GB of 1000, KiB, MiB, GiB of 1024.

Exit status:
  0; 1 if a rule is broken; 2 if there is no report.";

/// Returns the summary of blanked contents that the server shows; none where it would be too long for a header.
fn stripped(work: &StripWork, figures: Option<StripFigures>) -> Option<String> {
    let said = json!({"rules": work.rules(), "figures": figures?}).to_string();
    if said.len() > MAX_STRIPPED {
        tell!("hprof-rs: the rules are too long for the server's page, which will not show them");
        return None;
    }
    Some(said)
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("a label is KEY=VALUE".to_owned()),
    }
}

/// The file to send.
struct Source {
    file: File,
    name: String,
}

/// The way to the server.
#[derive(Clone, Copy)]
struct Way<'a> {
    strip: Option<&'a StripWork>,
    client: &'a Client,
    address: &'a Address,
    interrupt: &'a Interrupt,
}

impl Capture {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        Ok(self.run().unwrap_or_else(|error| {
            tell!("hprof-rs: {error:#}");
            ExitCode::from(2)
        }))
    }

    fn run(&self) -> anyhow::Result<ExitCode> {
        let strip = self.strip.work()?;
        let address = self.address()?;
        let secret = Secret::find(self.token.as_deref(), self.token_file.as_deref())?;
        let secret = secret.or_else(|| address.secret.clone());
        let secret = secret.context(
            "there is no token: set HPROF_RS_TOKEN, give --token-file, or give the link that \
             `hprof-rs serve` printed",
        )?;
        let interrupt = Interrupt::watch()?;
        let client = Client::new(
            &address,
            Some(&secret),
            self.ca.as_deref(),
            self.silence.map_or(SERVER_SILENCE, Duration::from_secs),
            interrupt.clone(),
        )?;
        let mut patience = Patience::new(Duration::from_secs(self.patience));
        let pid = self.pid()?;
        let opened = match pid {
            None if !self.watch => Some(self.open()?),
            _ => None,
        };
        // A JVM is not stopped for a server that takes nothing.
        check(&client, &mut patience)?;
        if !address.is_tls && !address.is_local {
            tell!("hprof-rs: http:// protects neither token nor dump on the way; https:// does");
        }
        let way = Way {
            strip: strip.as_ref(),
            client: &client,
            address: &address,
            interrupt: &interrupt,
        };
        if self.watch {
            return self.watch(way);
        }
        let mut source = match (opened, pid) {
            (Some(source), _) => source,
            (None, Some(pid)) => self.dump(pid, &interrupt)?,
            (None, None) => bail!("neither a process nor a file"),
        };
        self.deliver(way, &mut source, &mut patience)
    }

    /// Sends a dump, waits for its analysis, and prints the link.
    fn deliver(
        &self,
        way: Way<'_>,
        source: &mut Source,
        patience: &mut Patience,
    ) -> anyhow::Result<ExitCode> {
        let (dump, sent) = self.send(way, source, patience)?;
        describe(way.client, &dump, &self.labels, patience)?;
        let outcome = wait(way.client, &dump, !self.no_wait, patience)?;
        self.show(&way.address.link(&dump), &dump, sent, &outcome)
    }

    /// Sends each dump that is completed in a folder, until a signal ends the command.
    fn watch(&self, way: Way<'_>) -> anyhow::Result<ExitCode> {
        let shown = || format!("cannot watch {}", self.what.display());
        let mut folder = WatchedFolder::open(&self.what).with_context(shown)?;
        tell!("hprof-rs: watching {}", self.what.display());
        loop {
            // The folder may be away for a while, as a mount is.
            let arrival = folder.next(Instant::now()).unwrap_or_else(|error| {
                tell!("hprof-rs: {}: {error}", shown());
                None
            });
            let Some(arrival) = arrival else {
                std::thread::sleep(LOOK_EVERY);
                continue;
            };
            let name = arrival.name.to_string_lossy().into_owned();
            let mut source = Source {
                file: arrival.file.try_clone()?,
                name: name.clone(),
            };
            let mut patience = Patience::new(Duration::from_secs(self.patience));
            match self.deliver(way, &mut source, &mut patience) {
                Ok(_) => {
                    folder.done(&arrival);
                    if self.remove
                        && let Err(error) = folder.remove(&arrival)
                    {
                        tell!("hprof-rs: cannot remove {name}: {error}");
                    }
                }
                Err(error) => {
                    let next = match folder.failed(&arrival, Instant::now()) {
                        Some(pause) => format!("next try in {} minutes", pause.as_secs() / 60),
                        None => "given up; the file stays".to_owned(),
                    };
                    tell!("hprof-rs: {name} was not sent: {error:#}; {next}");
                }
            }
        }
    }

    fn address(&self) -> anyhow::Result<Address> {
        match (&self.server, std::env::var(SERVER)) {
            (Some(text), _) => Address::parse(text),
            (None, Ok(text)) => Address::parse(&text),
            (None, Err(_)) => bail!(
                "give the server with --server, or in HPROF_RS_SERVER; `hprof-rs serve` starts one"
            ),
        }
    }

    /// The process that is meant, if it is one.
    fn pid(&self) -> anyhow::Result<Option<Pid>> {
        if self.watch {
            return Ok(None);
        }
        let found = pick::instead_of_file(&self.what).transpose();
        Ok(found.map_err(anyhow::Error::msg)?.map(Pid))
    }

    fn open(&self) -> anyhow::Result<Source> {
        let shown = || format!("cannot read {}", self.what.display());
        let file = File::open(&self.what).with_context(shown)?;
        anyhow::ensure!(
            file.metadata().with_context(shown)?.is_file(),
            "{} is no plain file",
            self.what.display()
        );
        let name = self.what.file_name().map(|it| it.to_string_lossy());
        let name = name.unwrap_or_default().into_owned();
        Ok(Source {
            file,
            name: self.name.clone().unwrap_or(name),
        })
    }

    fn dump(&self, pid: Pid, interrupt: &Interrupt) -> anyhow::Result<Source> {
        let wish = DumpWish {
            pid,
            is_live: self.live,
            folder: self.dump_folder.clone(),
            limit: Duration::from_secs(self.timeout),
        };
        let (file, program) = dump(&wish, interrupt)?;
        let name = format!("{program}-{}.hprof", pid.0);
        Ok(Source {
            file,
            name: self.name.clone().unwrap_or(name),
        })
    }

    /// Packs and sends the file; gives the dump's id and the bytes that were sent.
    fn send(
        &self,
        way: Way<'_>,
        source: &mut Source,
        patience: &mut Patience,
    ) -> anyhow::Result<(String, u64)> {
        let Way {
            client,
            address,
            interrupt,
            ..
        } = way;
        let named = |path: &Path| path.extension().is_some_and(|it| it == "gz");
        let packing = Packing {
            strip: way.strip,
            compresses: match &self.keep {
                Some(keep) => named(keep),
                // Here a compressed file costs more time than its bytes.
                None => !address.is_local,
            },
        };
        let room = || tempfile::tempfile().context("cannot pack (TMPDIR names another folder)");
        let mut packed = pack(&mut source.file, &source.name, packing, room)?;
        let figures = packed.as_ref().and_then(|it| it.figures);
        let file = packed.as_mut().map_or(&mut source.file, |it| &mut it.file);
        if let Some(keep) = &self.keep {
            keep_copy(file, keep)?;
        }
        let sent = file.metadata()?.len();
        let rules: Vec<String> = self.fail_above.iter().map(Rule::to_string).collect();
        let mut metadata = Vec::new();
        if !rules.is_empty() {
            metadata.push(("fail_above", rules.join(",")));
        }
        if let Some(said) = way.strip.and_then(|work| stripped(work, figures)) {
            metadata.push(("stripped", said));
        }
        let mut parcel = Parcel {
            file,
            name: &source.name,
            metadata: &metadata,
        };
        let silence = self.silence.map_or(STORAGE_SILENCE, Duration::from_secs);
        let authorities = self.ca.as_deref();
        let storage =
            |storage: &Address| Client::new(storage, None, authorities, silence, interrupt.clone());
        let direct = match self.through_server {
            true => None,
            false => send_direct(client, address, storage, &mut parcel, patience, interrupt)?,
        };
        match direct {
            Some(dump) => Ok((dump, sent)),
            None => Ok((send(client, parcel, patience, interrupt)?, sent)),
        }
    }

    fn show(
        &self,
        link: &str,
        dump: &str,
        sent: u64,
        outcome: &Outcome,
    ) -> anyhow::Result<ExitCode> {
        let broken = outcome.rules.iter().any(|rule| rule.passed == Some(false));
        let is_done = outcome.state == "done";
        let status = match (is_done || self.no_wait, broken) {
            (true, false) => ExitCode::SUCCESS,
            (true, true) => ExitCode::from(1),
            (false, _) => ExitCode::from(2),
        };
        if self.json {
            print_json(&json!({
                "dump": dump,
                "link": link,
                "sent_bytes": sent,
                "state": outcome.state,
                "headline": outcome.headline,
                "note": outcome.note,
                "error": outcome.error,
                "rules": outcome.rules,
            }))?;
            return Ok(status);
        }
        tell!("hprof-rs: sent {}", bytes(sent));
        let mut text = String::new();
        if let Some(headline) = &outcome.headline {
            text.push_str(&format!("{}\n", printable(headline)));
        }
        for rule in &outcome.rules {
            let word = match rule.passed {
                Some(true) => "kept",
                Some(false) => "BROKEN",
                None => "unknown",
            };
            let sentence = rule.sentence.as_deref().unwrap_or_default();
            let (rule, sentence) = (printable(&rule.rule), printable(sentence));
            text.push_str(&format!("{word}: {rule}: {sentence}\n"));
        }
        text.push_str(&format!("{link}\n"));
        print(&text)?;
        if !outcome.note.is_empty() {
            tell!("hprof-rs: note: {}", outcome.note);
        }
        if let Some(error) = &outcome.error {
            tell!("hprof-rs: the analysis {}: {error}", outcome.state);
        } else if !is_done && !self.no_wait {
            tell!("hprof-rs: the analysis is {}", outcome.state);
        }
        Ok(status)
    }
}

/// Asks whether the server takes uploads with this token.
fn check(client: &Client, patience: &mut Patience) -> anyhow::Result<()> {
    let answer = client.ask("GET", "/api/v1/server", &[], None, patience)?;
    if answer.status != 200 {
        return Err(answer.problem());
    }
    match answer.json()?["role"].as_str() {
        Some("uploader" | "admin") => Ok(()),
        Some("reader") => bail!(
            "the token lets you read only; `hprof-rs serve --new-token uploader` makes another"
        ),
        _ => bail!("the answer is not one of `hprof-rs serve`; check the address"),
    }
}

fn keep_copy(file: &mut File, path: &Path) -> anyhow::Result<()> {
    use std::io::{Seek, SeekFrom};
    let fail = || format!("cannot write {}", path.display());
    file.seek(SeekFrom::Start(0))?;
    let copied = convert::write_whole_with(path, |to| Ok(std::io::copy(file, to)?));
    copied.with_context(fail)?;
    written::say(path, "look at it with `hprof-rs summary FILE`");
    Ok(())
}
