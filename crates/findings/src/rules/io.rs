//! Files and sockets that let threads wait.

use hprof_stacks::Frame;
use serde::Serialize;

use super::{Figures, most};
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::{Io, Recorded, Wait, Waited};
use crate::units::{percent, threads, time};

/// Waits for files and sockets that took longer than the recording's limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowIo {
    /// The threads that waited, on average.
    pub waiting: f64,
    /// Their share of the threads that waited or ran.
    pub share: f64,
    /// The number of waits.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest_nanos: f64,
    /// The kind of I/O that took most of the time.
    pub kind: Option<Io>,
    /// The file or host that took most of the time of that kind.
    pub of: Option<String>,
    /// The line that waits.
    pub place: Option<Place>,
}

/// Methods in which servers wait for the next request, and programs for what a user types.
fn is_idle(frame: &Frame) -> bool {
    let class = &*frame.class_name;
    [
        "sun.net.httpserver.ServerImpl",
        "org.apache.coyote.",
        "org.apache.tomcat.",
        "org.eclipse.jetty.io.",
        "org.eclipse.jetty.server.",
        "io.undertow.server.",
        "sun.rmi.transport.tcp.TCPTransport",
    ]
    .iter()
    .any(|server| class.starts_with(server))
}

fn kind_of(wait: &Wait) -> Option<Io> {
    match wait.why {
        Waited::Io(kind) => Some(kind),
        _ => None,
    }
}

impl Figures for SlowIo {
    const RULE: &'static str = "slow-io";
    const NEEDS: &'static [&'static str] = &["jdk.FileRead", "jdk.SocketRead"];

    fn of(recorded: &Recorded) -> Self {
        let counts = |wait: &&Wait| {
            kind_of(wait).is_some()
                // Standard input has no path.
                && (wait.why != Waited::Io(Io::FileRead) || !wait.of.is_empty())
                && !recorded.frames(wait.trace).take(12).any(is_idle)
        };
        let all: Vec<&Wait> = recorded.waits.iter().filter(counts).collect();
        let waiting = all.iter().map(|it| it.nanos).sum::<f64>() / recorded.nanos();
        let kind = most(all.iter().filter_map(|it| Some((kind_of(it)?, it.nanos))));
        let kind = kind.map(|(kind, _)| kind);
        let of_it = || all.iter().filter(|it| kind_of(it) == kind);
        let of = most(of_it().map(|it| (it.of.to_string(), it.nanos)));
        Self {
            waiting,
            share: waiting / (waiting + recorded.running()).max(f64::MIN_POSITIVE),
            count: all.len() as u64,
            longest_nanos: all.iter().map(|it| it.nanos).fold(0.0, f64::max),
            kind,
            of: of.map(|(of, _)| of).filter(|of| !of.is_empty()),
            place: recorded.place(of_it().map(|it| (it.trace, it.nanos))),
        }
    }

    fn level(&self) -> Level {
        match self.share >= 0.1 {
            true => Level::of(self.waiting, 0.3, 0.8),
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        let waiting = threads(self.waiting);
        let Some(kind) = self.kind.filter(|_| self.level() > Level::Ok) else {
            return format!("{waiting} on average waited for slow files and sockets.");
        };
        let doing = match kind {
            Io::FileRead => "reads of the file",
            Io::FileWrite => "writes to the file",
            Io::FileForce => "writes to the disk of the file",
            Io::SocketRead => "answers of the host",
            Io::SocketWrite => "writes to the host",
        };
        let of = self.of.as_deref().unwrap_or("<unknown>");
        format!(
            "{waiting} on average waited for slow files and sockets ({} of what threads did), most for {doing} {of}{}; the longest of {} \
             waits took {}.",
            percent(self.share),
            at(self.place.as_ref()),
            self.count,
            time(self.longest_nanos)
        )
    }

    fn cause(&self) -> String {
        match self.kind {
            Some(Io::SocketRead) => {
                "The other side takes that long to answer, and a thread waits for it.".to_owned()
            }
            Some(Io::SocketWrite) => {
                "The other side does not read what was sent, or the network is full.".to_owned()
            }
            _ => "The disk, or what is behind the file (a pipe, a network share), takes that long."
                .to_owned(),
        }
    }

    fn next(&self) -> String {
        match self.kind {
            Some(Io::SocketRead) => "Measure the other side; ask for several things at once, keep what does not change, and set a time-out."
                .to_owned(),
            Some(Io::SocketWrite) => "Look at the receiver, and send less or compressed.".to_owned(),
            Some(Io::FileForce) => "Force once for many records, or use a faster disk.".to_owned(),
            _ => "Read or write larger blocks, buffer, or keep what is read again and again in memory.".to_owned(),
        }
    }
}
