//! The part of the interface about monitors.

use std::io;

use crate::ids::ThreadSerial;
use crate::model::MonitorDump;
use crate::rank::RankedMonitorTable;

/// Writes what is known about monitors. The binary format has no place for any of it.
pub trait MonitorWriter {
    /// Tells that a thread began to wait for a notification. `signature` is that of the
    /// monitor's class (JVM specification 4.3.2); a time-out of 0 means none.
    fn wait(
        &mut self,
        signature: &str,
        timeout_millis: u64,
        thread: ThreadSerial,
    ) -> io::Result<()>;

    /// Tells that a thread ended waiting for a notification.
    fn waited(&mut self, signature: &str, millis: u64, thread: ThreadSerial) -> io::Result<()>;

    /// Writes the state of threads and monitors.
    fn monitor_dump(&mut self, dump: &MonitorDump<'_>) -> io::Result<()>;

    /// Writes a table of time lost to monitors. `ctime` is the present time in the form of
    /// [`Header::created_ctime`](crate::model::Header::created_ctime).
    fn monitor_table(&mut self, table: &RankedMonitorTable<'_>, ctime: &str) -> io::Result<()>;
}
