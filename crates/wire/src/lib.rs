//! The protocols between an HPROF agent and its front-end.
//!
//! # Two ways to talk
//!
//! **The profile's own socket** (`net=host:port`, `net=unix:/path`). The agent is the client: it
//! connects when the VM starts and sends its profile there, in either format, as it would write it
//! to a file. On the same connection the front-end sends *commands*: binary frames, which the
//! manual of HPROF lists under "Socket Connection and Communication". [`command`] has them,
//! [`frames`] takes them out of a stream of bytes that may hold anything. The output that a command
//! causes comes in the stream, among the other records; [`marks`] says how a front-end finds out
//! who is at the other end, and which command was done when.
//!
//! **The control socket**, for JVMs without `net=`: a Unix socket in a private folder in the `/tmp` of
//! the JVM ([`socket`]), which only the JVM's user and root may open. One request of one line, one reply in
//! lines of text, and the connection ends ([`control`]).
//!
//! # What the agent does with commands
//!
//! | Command | Effect | Reply in the stream |
//! |---|---|---|
//! | FORCE GC | a full collection | none but the mark |
//! | DUMP HEAP | a heap dump, with or without `heap=dump` | traces, HEAP DUMP SEGMENTs, HEAP DUMP END |
//! | ALLOC SITES | the table of sites | traces, ALLOC SITES; an empty table when sites are not recorded |
//! | HEAP SUMMARY | the totals | HEAP SUMMARY, zeros when sites are not recorded; a remark in text |
//! | EXIT THE VM | dumps (unless `doe=n`) and ends the VM; only with `exitcmd=y` | the dump |
//! | DUMP TRACES | writes the traces that the stream lacks | TRACE records |
//! | CPU SAMPLES | the table of samples; counting continues | traces, CPU SAMPLES; an empty table when nothing is sampled |
//! | CONTROL | see [`Control`](command::Control) | CONTROL SETTINGS with what is in force now; a remark in text |
//! | REQUEST | a line of the [control socket](control), but for `start OPTIONS` and `detach` | its values as [marks](marks::Value) |
//! | EOF | no more commands follow | none |
//!
//! A command that cannot be carried out has no effect: its mode is off, the VM refuses it, or the frame is
//! invalid. Its mark gives the reason, and so does a line on the program's standard error.
//!
//! Commands that arrive faster than they are carried out wait. Equal ones among those that wait become
//! one, which answers all; a command that reports may pass over others that report, but over none
//! that changes what is recorded. Once commands have taken ten seconds they take at most half of the
//! time. When the JVM ends, those that wait are refused: at the end the front-end has to take 1 MB/s
//! on average, with five seconds of tolerance; otherwise a file replaces it.

pub mod command;
pub mod control;
pub mod frames;
pub mod local;
pub mod marks;
pub mod object_query;
pub mod socket;
