//! The message about a file that a command has written.

use std::fs;
use std::path::Path;

use crate::render::out::tell;
use crate::render::screen::bytes;

/// Says what was written, how large it is, and what to do with it. Of standard output and devices
/// there is nothing to say.
pub fn say(path: &Path, next: &str) {
    let Ok(found) = fs::metadata(path) else {
        return;
    };
    if path == Path::new("-") || !found.is_file() {
        return;
    }
    let name = path.display();
    let next = next.replace("FILE", &name.to_string());
    tell!("hprof-rs: wrote {name} ({}): {next}", bytes(found.len()));
}

/// The rights of a file of this name: for its owner alone, as what comes from a program's memory
/// is private, unless it exists and is open to others.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).map_or(0o600, |found| found.permissions().mode() & 0o777)
}
