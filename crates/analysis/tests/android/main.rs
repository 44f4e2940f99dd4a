//! Leaks of Android programs, by dumps made for each reason.

#[path = "../common/mod.rs"]
mod common;
mod components;
mod library;
mod phone;
mod system;
