//! The memory of a running JVM, from `/proc` and from the JVM's own answers. No agent is loaded.

pub mod post_mortem;
pub mod record;
pub mod saved;
pub mod text;
pub mod watch;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use hprof_process_memory::cgroup::Group;
use hprof_process_memory::code_cache::CodeCache;
use hprof_process_memory::flags::Flags;
use hprof_process_memory::growth::Growth;
use hprof_process_memory::heap::Heap;
use hprof_process_memory::memory::ProcessMemory;
use hprof_process_memory::nmt::Account;
use hprof_process_memory::objects::Objects;
use hprof_process_memory::status::{self, Status};
use hprof_process_memory::{Bytes, Cause, Evidence, Kind, Table, cgroup, loaders, smaps, threads};
use serde::Serialize;

use crate::attach::{self, Limits, Request, Target};
use crate::jvm::process::Pid;
use crate::jvm::{self, Jvm};
use crate::render::screen::printable;

/// How long a JVM may take to open its socket, and to answer: counting objects stops the program for a walk.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(10),
    answer: Duration::from_secs(60),
};
/// The usual place of cgroups.
pub const CGROUPS: &str = "/sys/fs/cgroup";
/// Loaders are listed from this size of the metaspace on: the list needs a stop of the program.
const LIST_LOADERS: Bytes = Bytes::mib(32);

/// The requests that may be made to the JVM.
#[derive(Debug, Clone)]
pub struct Effort {
    /// Count objects, which stops the program for a walk over the heap.
    pub objects: bool,
    /// Count them again after a full collection.
    pub collect: bool,
    /// List class loaders, however small the metaspace is.
    pub loaders: bool,
    /// Do not ask the JVM at all.
    pub no_attach: bool,
    /// Where hierarchies of cgroups are mounted.
    pub cgroups: PathBuf,
}

/// The memory of a process at one time.
#[derive(Debug, Clone, Serialize)]
pub struct Snapshot {
    /// The version of this command.
    version: &'static str,
    /// The process.
    pub pid: u32,
    /// Its program.
    pub name: String,
    /// Its JDK.
    pub jdk: Option<String>,
    /// The account.
    pub table: Table,
    /// Causes with their sentences, the likeliest first.
    pub causes: Vec<Named>,
    /// Limits and settings.
    pub limits: Bounds,
    /// Figures of the kernel.
    pub status: Status,
    /// The cgroup.
    pub group: Option<Group>,
    /// The growth since the first look, with `--watch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Sentences on what could not be seen.
    pub notes: Vec<String>,
    #[serde(skip)]
    taken: Instant,
}

/// A cause with its sentence.
#[derive(Debug, Clone, Serialize)]
pub struct Named {
    /// The cause.
    #[serde(flatten)]
    pub cause: Cause,
    /// The sentence.
    pub sentence: String,
}

/// Limits of the JVM and of the process.
#[derive(Debug, Clone, Serialize)]
pub struct Bounds {
    /// The most that the heap may take (`-Xmx`).
    pub max_heap: Option<Bytes>,
    /// The part of the memory that the heap may take (`-XX:MaxRAMPercentage`); none where `-Xmx` is given.
    pub max_ram_percentage: Option<f64>,
    /// The most that direct buffers may take; the same as the heap unless it is set.
    pub max_direct: Option<Bytes>,
    /// The most metadata of classes.
    pub max_metaspace: Option<Bytes>,
    /// The most compiled code.
    pub code_cache: Option<Bytes>,
    /// The stack of a Java thread.
    pub thread_stack: Option<Bytes>,
    /// The size of the address space (`ulimit -v`).
    pub address_space: Option<Bytes>,
    /// The memory of the machine.
    pub machine: Option<Bytes>,
}

/// Finds the JVM that is meant: by its process id, or by its main class or JAR file.
///
/// # Errors
/// If there is none or several.
pub fn find(name: &str) -> anyhow::Result<Target> {
    if let Ok(pid) = name.parse() {
        return Ok(Target::find(Pid(pid))?);
    }
    let all = jvm::all()?;
    let exact = |jvm: &&Jvm| jvm.main == name || jvm.short_name() == name;
    let mut found: Vec<&Jvm> = all.iter().filter(exact).collect();
    if found.is_empty() {
        found = all.iter().filter(|jvm| jvm.main.contains(name)).collect();
    }
    match &found[..] {
        [one] => Ok(Target::find(one.pid)?),
        [] => bail!("no JVM runs {name:?}; `hprof-rs ps` lists those of this machine"),
        several => {
            let pids: Vec<String> = several.iter().map(|jvm| jvm.pid.0.to_string()).collect();
            bail!(
                "several JVMs run {name:?}: name one by its process id ({})",
                pids.join(", ")
            )
        }
    }
}

/// Looks at the memory of a JVM.
///
/// # Errors
/// If its mappings cannot be read. Where the JVM does not answer, notes say what is missing.
pub fn look(target: &Target, effort: &Effort) -> anyhow::Result<Snapshot> {
    let pid = target.pid();
    let mut asked = Asked {
        target,
        notes: Vec::new(),
        is_deaf: effort.no_attach,
    };
    if effort.no_attach {
        let note =
            "the JVM was not asked (--no-attach): its heap, metaspace and flags are not known";
        asked.notes.push(note.to_owned());
    }
    let flags = asked
        .diagnostic("VM.flags -all")
        .map(|text| Flags::parse(&text));
    let flags = flags.unwrap_or_default();
    let code_cache = asked.diagnostic("Compiler.codecache");
    let heap = asked
        .diagnostic("GC.heap_info")
        .and_then(|text| Heap::parse(&text));
    let heap = asked.metaspace(heap);
    let tracking = asked.diagnostic("VM.native_memory summary scale=KB");
    let read = |name: &str| {
        let text = fs::read_to_string(pid.path(name));
        text.map_err(|error| unreadable(pid, name, &error))
    };
    let mut evidence = Evidence {
        mappings: smaps::parse(&read("smaps")?),
        status: status::parse(&read("status")?),
        threads: threads::read(&pid.path("task")),
        tracking: tracking.as_deref().and_then(Account::parse),
        code_cache: code_cache.as_deref().and_then(CodeCache::parse),
        heap,
        flags,
        machine: machine(),
        limits_arenas: limits_arenas(pid),
        group: cgroup::read(&read("cgroup").unwrap_or_default(), &effort.cgroups),
        ..Evidence::default()
    };
    match ProcessMemory::open(&pid.path("")) {
        Ok(memory) => evidence.find_areas(&memory),
        Err(error) => asked.notes.push(format!(
            "cannot look into malloc, whose memory is unexplained therefore: {error}; run this command as root"
        )),
    }
    let metaspace = evidence.heap.as_ref().and_then(|heap| heap.metaspace);
    if let Some(space) = metaspace.filter(|space| effort.loaders || space.committed >= LIST_LOADERS)
    {
        let text = asked.diagnostic("VM.classloader_stats").unwrap_or_default();
        evidence.loaders = loaders::parse(&text, space.committed);
    }
    if effort.objects || effort.collect {
        evidence.objects = asked.histogram(false);
    }
    if effort.collect {
        evidence.live_objects = asked.histogram(true);
    }
    let table = Table::of(&evidence);
    let causes = Cause::all(&evidence, &table);
    let mut notes = asked.notes;
    notes.extend(remarks(&evidence, &table, !asked.is_deaf));
    Ok(Snapshot {
        version: env!("CARGO_PKG_VERSION"),
        pid: pid.0,
        name: printable(target.jvm.short_name()),
        jdk: target.jvm.version.clone(),
        limits: bounds(
            &evidence.flags,
            &read("limits").unwrap_or_default(),
            evidence.machine,
        ),
        causes: causes.into_iter().map(named).collect(),
        status: evidence.status,
        group: evidence.group,
        growth: None,
        table,
        notes,
        taken: Instant::now(),
    })
}

fn named(cause: Cause) -> Named {
    Named {
        sentence: cause.to_string(),
        cause,
    }
}

impl Snapshot {
    /// The memory that the limit of the cgroup leaves.
    pub fn left(&self) -> Option<Bytes> {
        let group = self.group.as_ref()?;
        // The kernel takes page cache back before it kills.
        Some(group.limit? - (group.current - group.parts.cache()))
    }

    /// Sets the growth since an earlier look.
    pub fn compare(&mut self, before: &Self) {
        let time = self.taken.saturating_duration_since(before.taken);
        self.growth = Growth::between(&before.table, &self.table, time, self.left());
    }
}

/// Sentences on the limits of the account.
fn remarks(evidence: &Evidence, table: &Table, answered: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if evidence.tracking.is_none() && answered {
        notes.push(
            "native memory tracking is off, so malloc is not divided, and GC is an estimate from the sizes of mappings: start the \
             program with -XX:NativeMemoryTracking=summary"
                .to_owned(),
        );
    }
    if table.heap_views > 1 {
        notes.push(format!(
            "ZGC maps its heap {} times, and the kernel counts each page as often: the resident set is too large by {}",
            table.heap_views,
            Bytes(table.resident(Kind::JavaHeap).0 / table.heap_views * (table.heap_views - 1))
        ));
    }
    if evidence.status.swapped.0 > 0 {
        notes.push(format!(
            "{} of the process are swapped out, and in no row",
            evidence.status.swapped
        ));
    }
    notes
}

/// Asks the JVM, until it turns out that it does not answer.
struct Asked<'a> {
    target: &'a Target,
    notes: Vec<String>,
    is_deaf: bool,
}

impl Asked<'_> {
    /// The answer to a diagnostic command; `None` if the JVM does not know it.
    fn diagnostic(&mut self, command: &str) -> Option<String> {
        self.ask(&Request::Diagnostic(command))
    }

    /// Adds the metaspace to a heap. The command is not known before JDK 11.
    fn metaspace(&mut self, heap: Option<Heap>) -> Option<Heap> {
        let mut heap = heap?;
        if let Some(text) = self.diagnostic("VM.metaspace vslist") {
            heap.add_metaspace(&text);
        }
        Some(heap)
    }

    fn histogram(&mut self, live: bool) -> Option<Objects> {
        let text = self.ask(&Request::Histogram { live })?;
        Objects::parse(&text)
    }

    fn ask(&mut self, request: &Request<'_>) -> Option<String> {
        if self.is_deaf {
            return None;
        }
        match attach::ask(self.target, request, LIMITS) {
            Ok(answer) => (answer.status == 0).then_some(answer.text),
            Err(refusal) => {
                self.is_deaf = true;
                self.notes.push(format!(
                    "the JVM does not answer, so its heap, metaspace and flags are not known: {refusal}"
                ));
                None
            }
        }
    }
}

/// The error of a file of the kernel, with what helps.
fn unreadable(pid: Pid, name: &str, error: &io::Error) -> anyhow::Error {
    let what = format!("cannot read /proc/{}/{name}", pid.0);
    match error.kind() {
        io::ErrorKind::PermissionDenied => anyhow!(
            "{what}: {error}. Only root, or a user with the right to trace the process (CAP_SYS_PTRACE), may look into a process \
             that changed its user or forbids it: run this command as root"
        ),
        io::ErrorKind::NotFound => anyhow!("process {} ended meanwhile", pid.0),
        _ => anyhow!("{what}: {error}"),
    }
}

fn machine() -> Option<Bytes> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    hprof_process_memory::bytes::parse_size(line)
}

fn limits_arenas(pid: Pid) -> bool {
    let environment = fs::read(pid.path("environ")).unwrap_or_default();
    let mut words = environment.split(|&byte| byte == 0);
    words.any(|word| word.starts_with(b"MALLOC_ARENA_MAX=") || word.starts_with(b"GLIBC_TUNABLES="))
}

fn bounds(flags: &Flags, limits: &str, machine: Option<Bytes>) -> Bounds {
    let max_heap = flags.bytes("MaxHeapSize");
    // The JVM writes "no limit" as the largest number.
    let set = |name| flags.bytes(name).filter(|limit| limit.0 < 1 << 60);
    Bounds {
        max_heap,
        max_ram_percentage: flags
            .text("MaxRAMPercentage")
            .filter(|_| !flags.is_given("MaxHeapSize"))
            .and_then(|text| text.parse().ok()),
        max_direct: set("MaxDirectMemorySize").or(max_heap),
        max_metaspace: set("MaxMetaspaceSize"),
        code_cache: flags.bytes("ReservedCodeCacheSize"),
        thread_stack: flags
            .bytes("ThreadStackSize")
            .map(|size| Bytes::kib(size.0)),
        address_space: status::address_space_limit(limits),
        machine,
    }
}
