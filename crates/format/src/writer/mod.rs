//! The interface that both output formats implement.

mod heap;
mod monitors;

pub use heap::HeapWriter;
pub use monitors::MonitorWriter;

use std::io;

use crate::ids::{ThreadSerial, TraceSerial};
use crate::model::{Header, MethodName, OldCpuRow, Settings, SlowRow, ThreadStart, Trace};
use crate::rank::RankedCpuTable;

/// Tells class and method of a trace's innermost frame, `None` for a trace without frames.
pub type InnermostMethod<'a> = &'a dyn Fn(TraceSerial) -> Option<MethodName<'a>>;

/// Writes one profile in some format.
///
/// A caller calls [`begin`](Self::begin) once and first, then whatever it has to tell, then
/// [`flush`](Self::flush). It never has to know which format it writes: what a format has no
/// place for is silently left out. A writer does not buffer across calls: each call hands whole
/// lines or whole records to the underlying writer, so wrap that in a buffer. It keeps
/// track of what it has written, since a trace, a string or a class
/// is written once per file and referred to afterwards.
///
/// After an error the profile is damaged at an unknown place; a caller should stop writing.
pub trait ProfileWriter: HeapWriter + MonitorWriter {
    /// Writes the start of the profile.
    fn begin(&mut self, header: &Header<'_>) -> io::Result<()>;

    /// Sets the time that the following records carry, in microseconds since the creation time
    /// of the header. The binary format keeps it modulo 2^32 (71.6 minutes), text has no place
    /// for it. It is 0 until set.
    fn set_time(&mut self, micros_since_creation: u64);

    /// Tells that a thread started.
    ///
    /// A binary record refers to the trace only if that has been written, else
    /// to [`TraceSerial::SYSTEM`].
    fn thread_start(&mut self, thread: &ThreadStart<'_>) -> io::Result<()>;

    /// Tells that a thread ended.
    fn thread_end(&mut self, thread: ThreadSerial) -> io::Result<()>;

    /// Writes a trace unless this file already has one with that serial.
    fn trace(&mut self, trace: &Trace<'_>) -> io::Result<()>;

    /// True if the trace with this serial has been written to this file.
    fn has_trace(&self, serial: TraceSerial) -> bool;

    /// Writes a table of CPU use.
    ///
    /// Write the traces of all rows directly before it, in the order of
    /// [`RankedCpuTable::traces`]: some readers of the text format take every line between a
    /// trace and the table for a frame. `ctime` is the present time in the form of
    /// [`Header::created_ctime`].
    fn cpu_table(
        &mut self,
        table: &RankedCpuTable,
        ctime: &str,
        innermost: InnermostMethod<'_>,
    ) -> io::Result<()>;

    /// Writes a table of calls in the format of `cpu=old`, ordered by descending count. A
    /// profile with that option alone has no header, so do not begin it. The binary format has no
    /// such table.
    fn old_cpu_table(&mut self, rows: &[OldCpuRow<'_>]) -> io::Result<()>;

    /// Writes a table of timed calls for people. Only text has it; [`mark`](Self::mark) is for what programs read.
    fn slow_table(&mut self, _rows: &[SlowRow<'_>], _ctime: &str) -> io::Result<()> {
        Ok(())
    }

    /// Writes a remark for people, such as a counter of lost samples. The text format puts `# `
    /// before each of its lines, the binary format leaves it out.
    ///
    /// Readers of the text format look for the beginnings of lines they know and skip
    /// others, but only outside the sections: never remark between traces and their table.
    fn comment(&mut self, text: &str) -> io::Result<()>;

    /// Writes a text for programs, such as who has written the profile: in the text format a
    /// remark like [`comment`](Self::comment), in the binary format a UTF8 record that no other
    /// record refers to, which readers pass over.
    fn mark(&mut self, text: &str) -> io::Result<()>;

    /// Tells what is recorded from now on: a CONTROL SETTINGS record, a remark in text.
    fn settings(&mut self, settings: &Settings) -> io::Result<()>;

    /// Flushes the underlying writer.
    fn flush(&mut self) -> io::Result<()>;
}
