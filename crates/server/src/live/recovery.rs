//! Recordings that an earlier server left in JVMs when it was killed.

use std::path::Path;
use std::time::Duration;

use hprof_wire::control::Request;

use super::machine::Pid;
use super::{ANSWER, Live};

/// How long an agent may take to answer while the server starts.
const SHORT: Duration = Duration::from_secs(2);

impl Live {
    /// Ends recordings that an earlier server left in JVMs when it was killed. Blocks; to be called
    /// before anything else.
    pub fn recover(&self) {
        if let Ok(files) = std::fs::read_dir(&self.folder) {
            for file in files.flatten() {
                let _ = std::fs::remove_file(file.path());
            }
        }
        let ours = format!("net=unix:{}/", self.folder.display());
        let jvms = self.machine.jvms().unwrap_or_default().into_iter();
        for jvm in jvms.filter(|jvm| jvm.has_agent && jvm.refusal.is_none()) {
            let pid = jvm.pid;
            let Ok(status) = self.machine.control(pid, &Request::Status, SHORT) else {
                continue;
            };
            let options = status.get("options").unwrap_or_default();
            if !options.contains(&ours) {
                continue;
            }
            if let Ok(reply) = self.machine.control(pid, &Request::Detach, ANSWER) {
                tracing::info!(%pid, "the agent of an earlier server was detached");
                remove_substitute(pid, reply.get("output").unwrap_or_default());
            }
        }
    }
}

/// Removes the file that an agent begins in the program's folder when it has lost the server.
fn remove_substitute(pid: Pid, output: &str) {
    let path = Path::new(output);
    let name = format!("java.hprof.{pid}.txt");
    if path.is_absolute() && path.file_name().is_some_and(|it| it == name.as_str()) {
        // It may never have got its name.
        let _ = std::fs::remove_file(path);
    }
}
