//! Virtual threads of a running JVM: its dump as text leaves them out, and `Thread.dump_to_file` (JDK 21 and later) has
//! them.

use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use hprof_thread_dumps::Dumps;
use rustix::fs::{AtFlags, unlinkat};

use super::{LIMITS, MAX_BYTES};
use crate::attach::{self, Request, Target};
use crate::jvm::process::Pid;

/// The folder of the file, as the JVM sees it.
const FOLDER: &str = "/tmp";
/// The first JDK with them.
const FIRST_FEATURE: u32 = 21;

/// Adds the virtual threads of process `pid` to the last dump, which was taken a moment earlier. A sentence if there may be
/// some, and they are left out. Nothing in the dump as text shows whether there are any that wait.
pub fn add_virtual_threads(pid: u32, dumps: &mut Dumps) -> Option<String> {
    let target = Target::find(Pid(pid)).ok()?;
    if target
        .jvm
        .feature()
        .is_some_and(|feature| feature < FIRST_FEATURE)
    {
        return None;
    }
    let added = take(&target).and_then(|dump| Ok(dumps.add_virtual_threads(&dump)?));
    added.err().map(|error| {
        format!(
            "Virtual threads are left out, if there are any: {error:#}. `jcmd {pid} Thread.dump_to_file -format=json \
             FILE` writes them, and `hprof-rs stacks FILE` reads that."
        )
    })
}

/// Has the JVM write a file, and takes it away.
fn take(target: &Target) -> anyhow::Result<Vec<u8>> {
    let pid = target.pid().0;
    let number = RandomState::new().hash_one(pid);
    let name = format!(".hprof-rs-{pid}-{number:016x}.json");
    let path = Path::new(FOLDER).join(&name);
    let folder = target.root.folder(Path::new(FOLDER))?;
    let command = format!("Thread.dump_to_file -format=json {}", path.display());
    let answer = attach::ask(target, &Request::Diagnostic(&command), LIMITS);
    let file = target.root.file(&path, Some(target.status().uid));
    // Whatever came of it, the name goes; it may not be there.
    let _ = unlinkat(&folder, Path::new(&name), AtFlags::empty());
    let answer = answer?;
    if answer.status != 0 {
        bail!("the JVM says: {}", attach::said(&answer));
    }
    let file = file.with_context(|| format!("the JVM says: {}", attach::said(&answer)))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
