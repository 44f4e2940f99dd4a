//! The rights of this process. A test that needs a right it does not have is skipped, with a
//! line that says so.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// A user other than the one of the tests.
pub const NOBODY: u32 = 65534;

/// Returns whether programs can be started with mounts and process ids of their own, as in a
/// container.
pub fn may_make_containers() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    let may = *MAY.get_or_init(|| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", "mount -t tmpfs tmpfs /tmp"]);
        succeeds(&mut command)
    });
    or_skip(may, "to make mount and process namespaces (unshare, mount)")
}

/// Returns whether programs of [`NOBODY`] can be started and looked into.
pub fn may_act_for_others() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    let may = *MAY.get_or_init(|| {
        let mut command = Command::new("sleep");
        let child = command.arg("60").uid(NOBODY).gid(NOBODY).spawn();
        child.is_ok_and(|mut child| {
            let seen = fs::read_dir(format!("/proc/{}/root/", child.id())).is_ok();
            end(&mut child);
            seen
        })
    });
    or_skip(
        may,
        "to start programs as another user and to look into them (setuid, ptrace)",
    )
}

/// Returns whether a command for something that takes a right succeeds; `right` completes "this
/// takes the right …".
pub fn may(command: &mut Command, right: &str) -> bool {
    or_skip(succeeds(command), right)
}

fn succeeds(command: &mut Command) -> bool {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn or_skip(may: bool, right: &str) -> bool {
    if !may {
        eprintln!("not tested: this takes the right {right}");
    }
    may
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
