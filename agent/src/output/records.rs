//! The records outside of dumps: the head of a profile, threads, the log of waits.

use std::io;

use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{Header, Settings, ThreadStart};
use hprof_format::writer::ProfileWriter;

use crate::os::clock::LocalTime;
use crate::vm::ThreadInfo;

/// Something that happened in the program, for the profile.
pub enum Record {
    /// A thread started, or was found running.
    ThreadStart {
        /// Its serial.
        serial: ThreadSerial,
        /// Its names.
        info: ThreadInfo,
    },
    /// A thread has this name now, perhaps another one than it started with.
    ThreadName {
        /// Its serial.
        serial: ThreadSerial,
        /// The name.
        name: String,
    },
    /// A thread ended.
    ThreadEnd {
        /// Its serial.
        serial: ThreadSerial,
    },
    /// A thread begins to wait in `Object.wait`.
    Wait(WaitRecord),
    /// A thread has waited in `Object.wait`.
    Waited(WaitRecord),
}

/// A line of the log of `Object.wait`.
pub struct WaitRecord {
    /// The class of the monitor as Java source has it.
    pub class: &'static str,
    /// How long the thread may wait or has waited, in milliseconds.
    pub millis: u64,
    /// The thread's serial.
    pub thread: u32,
}

/// The start of a profile.
#[derive(Clone)]
pub struct Begin {
    /// When the run began.
    pub started: LocalTime,
    /// The recorded modes.
    pub settings: Settings,
    /// A line about program and agent.
    pub identity: String,
}

impl Begin {
    pub(super) fn write(&self, writer: &mut dyn ProfileWriter) -> io::Result<()> {
        let created_ctime = self.started.ctime();
        writer.begin(&Header {
            created_millis: self.started.unix_millis(),
            created_ctime: &created_ctime,
            settings: self.settings,
        })?;
        writer.mark(&self.identity)
    }
}

pub(super) fn write_thread(
    writer: &mut dyn ProfileWriter,
    serial: ThreadSerial,
    info: &ThreadInfo,
) -> io::Result<()> {
    writer.thread_start(&ThreadStart {
        object: thread_object(serial),
        serial,
        name: &info.name,
        group: &info.group.name,
        parent_group: &info.group.parent,
        trace: TraceSerial::SYSTEM,
    })
}

/// The object id in a thread's START THREAD record.
pub fn thread_object(serial: ThreadSerial) -> ObjectId {
    let number = u64::from(serial.get() - ThreadSerial::BASE);
    // Objects of a VM lie at multiples of eight: no heap dump has this id.
    ObjectId::new(ObjectId::BASE + 8 * number)
}
