//! The checked-in hook classes are what their sources compile to.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn checked_in_hook_classes_match_their_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = tempfile::tempdir().expect("a folder");
    let output = Command::new(root.join("scripts/generate-hooks"))
        .arg(made.path())
        .output()
        .expect("scripts/generate-hooks runs");
    assert!(output.status.success(), "{output:?}");
    let checked_in = root.join("agent/hooks/classes");
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(made.path()), names(&checked_in));
    for name in names(&checked_in) {
        assert!(
            fs::read(made.path().join(&name)).unwrap() == fs::read(checked_in.join(&name)).unwrap(),
            "{} differs from what its source compiles to: run scripts/generate-hooks",
            name.display()
        );
    }
}
