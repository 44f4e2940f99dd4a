//! A JVM that is to be attached to, with its folders, which may lie in a container.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::Refusal;
use crate::jvm::Jvm;
use crate::jvm::process::{Pid, Status, user_name};
use crate::jvm::root::Root;
use crate::render::screen::printable;

/// A JVM that may be asked.
#[derive(Debug)]
pub struct Target {
    /// The known facts of the JVM.
    pub jvm: Jvm,
    /// Its root folder.
    pub root: Root,
    /// The process does not show its root folder, and ours has been taken for it.
    pub root_is_assumed: bool,
    /// Its current folder, if it can be opened.
    pub current: Option<OwnedFd>,
    /// The process itself, whatever becomes of its number. Linux before 5.3 has no such thing.
    handle: Option<OwnedFd>,
}

impl Target {
    /// Finds a JVM.
    ///
    /// # Errors
    /// If it is none, or another user's.
    pub fn find(pid: Pid) -> Result<Self, Refusal> {
        let status = pid.status().map_err(|_| Refusal::NoProcess(pid))?;
        let own = rustix::process::geteuid();
        if !own.is_root() && own.as_raw() != status.uid {
            return Err(match Jvm::of(pid) {
                Ok(Some(_)) => Refusal::OtherUser {
                    pid,
                    owner: user_name(status.uid),
                },
                _ => not_a_jvm(pid),
            });
        }
        // Opened before it is looked at: a number may come to mean another process.
        let handle = rustix_pid(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let jvm = Jvm::started(pid)
            .map_err(|_| Refusal::NoProcess(pid))?
            .ok_or_else(|| not_a_jvm(pid))?;
        // Taken with our own rights, before those of its user are put on.
        let (root, root_is_assumed) = match Root::of(pid) {
            Ok(root) => (root, false),
            Err(error) => match Root::assumed(pid, &jvm.status) {
                Some(root) => (root, true),
                None => return Err(Refusal::Hidden { pid, error }),
            },
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            root,
            root_is_assumed,
            current: openat(CWD, pid.path("cwd"), flags, Mode::empty()).ok(),
            handle,
            jvm,
        })
    }

    /// Checks all that can be checked without touching it.
    ///
    /// # Errors
    /// Why it cannot be attached to.
    pub fn check_attachable(&self) -> Result<(), Refusal> {
        if self
            .jvm
            .libraries
            .as_ref()
            .is_some_and(|found| found.openj9)
        {
            return Err(Refusal::OpenJ9(self.pid()));
        }
        if self.status().is_stopped {
            return Err(Refusal::Stopped(self.pid()));
        }
        if self.jvm.refuses_attach() {
            return Err(Refusal::Disabled(self.pid()));
        }
        Ok(())
    }

    /// The process.
    pub fn pid(&self) -> Pid {
        self.jvm.pid
    }

    /// The kernel's facts about the process.
    pub fn status(&self) -> &Status {
        &self.jvm.status
    }

    /// Sends SIGQUIT, unless the process would be killed by it.
    ///
    /// # Errors
    /// If it does not catch the signal now, or has gone.
    pub fn wake(&self) -> Result<(), Refusal> {
        let pid = self.pid();
        let status = pid.status().map_err(|_| Refusal::Ended(pid))?;
        if !status.catches_quit {
            return Err(Refusal::NotListening(pid));
        }
        let sent = match (&self.handle, rustix_pid(pid)) {
            (Some(handle), _) => pidfd_send_signal(handle, Signal::QUIT),
            (None, Some(pid)) => kill_process(pid, Signal::QUIT),
            (None, None) => Err(rustix::io::Errno::SRCH),
        };
        sent.map_err(|_| Refusal::Ended(pid))
    }

    /// Runs `work` with the rights of the JVM's user, if this process is root and that is another
    /// user. A JVM compares the user at the other end of its socket with its own. What root
    /// creates in folders of others goes, too, where they have put a link.
    pub fn as_its_user<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let (uid, gid) = (self.status().uid, self.status().gid);
        let same = rustix::process::geteuid().as_raw() == uid
            && rustix::process::getegid().as_raw() == gid;
        if same {
            return Ok(work());
        }
        // The kernel keeps these per thread, and this one ends with the work.
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let gid = rustix::process::Gid::from_raw(gid);
                let uid = rustix::process::Uid::from_raw(uid);
                // Else the groups of root would stay, and what they may.
                if rustix::process::geteuid().is_root() {
                    set_thread_groups(&[gid])?;
                }
                set_thread_res_gid(None, gid, None)?;
                set_thread_res_uid(None, uid, None)?;
                Ok(work())
            });
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn rustix_pid(pid: Pid) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(pid.0).ok()?)
}

fn not_a_jvm(pid: Pid) -> Refusal {
    if pid.status().is_ok_and(|status| status.is_zombie) {
        return Refusal::Ended(pid);
    }
    let words = pid.command_line().unwrap_or_default();
    let command = match words.first() {
        Some(word) => printable(word),
        None => "a kernel thread".to_owned(),
    };
    Refusal::NotAJvm { pid, command }
}
