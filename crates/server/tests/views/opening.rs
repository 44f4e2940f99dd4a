//! Opens a dump as the server does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hprof_server::views::opened::{Files, Opened};

/// An opened analysis with its folder.
pub struct Opening {
    /// The analysis.
    pub opened: Arc<Opened>,
    _folder: tempfile::TempDir,
}

/// Opens a dump with a report of this JSON.
pub fn open(dump: &[u8], report: &str) -> Opening {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("dump"), dump).unwrap();
    std::fs::write(path("report.json"), report).unwrap();
    let files = Files {
        dump: path("dump"),
        name: "test.hprof".to_owned(),
        index: folder.path().to_owned(),
        report: path("report.json"),
        held: Vec::new(),
    };
    Opening {
        opened: Arc::new(Opened::open(files, Default::default()).unwrap()),
        _folder: folder,
    }
}

/// A file of the test data, which lies with the crate of the formats.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../format/tests/data")
        .join(name)
}
