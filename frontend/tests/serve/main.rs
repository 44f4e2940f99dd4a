//! `hprof-rs serve` as its users meet it: a process, asked over HTTP.

#[path = "../support/mod.rs"]
mod support;

mod dumps;
mod faults;
mod live;
mod security;
mod server;
mod uploads;
