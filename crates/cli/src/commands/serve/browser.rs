//! Opens a link in the user's browser.

use std::env;
use std::process::{Command, Stdio};
use std::thread;

use crate::render::out::tell;

/// The program that knows the browser of the desktop (freedesktop.org's xdg-utils).
const OPENER: &str = "xdg-open";

/// Opens a link, and says so if that cannot be done: the link is printed all the same.
pub(super) fn open(link: &str) {
    let named = env::var("BROWSER")
        .ok()
        .filter(|name| !name.trim().is_empty());
    let program = named.unwrap_or_else(|| OPENER.to_owned());
    let started = Command::new(&program)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        // The server goes on, whatever the browser does.
        Ok(mut child) => drop(thread::spawn(move || child.wait())),
        Err(error) => tell!(
            "hprof-rs: --open: cannot start {program}: {error}; open the link by hand, or name a browser in $BROWSER"
        ),
    }
}
