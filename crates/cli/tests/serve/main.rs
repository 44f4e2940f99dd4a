//! `hprof-rs serve` as its users meet it: a process, asked over HTTP.

#![allow(clippy::disallowed_macros)]

#[path = "../tiny_files/corpus.rs"]
mod corpus;
#[path = "../support/mod.rs"]
mod support;

mod agents;
mod capture;
mod damaged;
mod description;
mod dumps;
mod failing_storage;
mod faults;
mod fleet;
mod live;
mod logs;
mod machines;
#[allow(dead_code)] // The benchmarks use all of it.
#[path = "../../../../java-test-harness/src/bin/bench/made_dump.rs"]
mod made_dump;
mod paths;
mod phases;
#[path = "../../../server/tests/support/postgres.rs"]
mod postgres;
#[path = "../support/prometheus.rs"]
mod prometheus;
mod proxy;
mod pushed;
mod questions;
mod refusals;
mod rules;
#[path = "../../../server/tests/support/s3.rs"]
mod s3;
mod security;
mod server;
mod slow;
mod storage;
mod tls;
mod uploads;
