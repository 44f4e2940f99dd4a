//! Where the agent library is.

use std::env;
use std::path::{Path, PathBuf};

/// The agent library under test: `HPROF_RS_AGENT`, or the build of the profile `agent` in cargo's target folder.
///
/// # Panics
///
/// When it does not exist, with the command that builds it.
pub fn agent_library() -> PathBuf {
    let path = match env::var_os("HPROF_RS_AGENT") {
        Some(path) => PathBuf::from(path),
        None => target_folder().join("agent/libhprof_rs.so"),
    };
    assert!(
        path.is_file(),
        "no agent at {}; build it with: cargo build --profile agent -p hprof-agent",
        path.display()
    );
    path.canonicalize().unwrap_or(path)
}

/// The agent's control socket in the process `pid`, which runs as the user of this one.
pub fn control_socket(pid: u32) -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    let user = std::fs::metadata("/proc/self").map_or(0, |found| found.uid());
    PathBuf::from(format!("/tmp/.hprof_rs_{user}/pid{pid}"))
}

/// The folder cargo builds into.
pub(crate) fn target_folder() -> PathBuf {
    if let Some(folder) = env::var_os("CARGO_TARGET_DIR") {
        return workspace().join(folder);
    }
    // A test binary lies in target/debug/deps, an ordinary one in target/release.
    let own = env::current_exe().unwrap_or_default();
    own.ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map_or_else(|| workspace().join("target"), Path::to_owned)
}

/// The root of the source tree.
pub fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
