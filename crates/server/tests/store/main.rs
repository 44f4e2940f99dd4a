//! The contract of every store: the folder, and object storage over a real S3 server.

mod bucket;
mod contract;
mod direct;
mod faults;
#[path = "../support/s3.rs"]
mod s3;
