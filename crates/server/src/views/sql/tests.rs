//! Queries by commands that do what a script says.

use super::*;
use std::os::unix::fs::PermissionsExt;

/// A command that does what a script says.
struct Script(tempfile::TempDir);

impl Script {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hprof-rs");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        Self(folder)
    }

    fn ask(&self, limit: usize, deadline: Duration) -> Result<SqlAnswer, ViewError> {
        let executable = self.0.path().join("hprof-rs");
        let files = Files {
            dump: "/secret/place/dump".into(),
            name: "app.hprof".to_owned(),
            index: "/secret/place".into(),
            report: "/secret/place/report.json".into(),
            held: Vec::new(),
        };
        let query = SqlQuery {
            sql: "SELECT 1".to_owned(),
            limit: Some(limit),
        };
        let runner = Runner {
            executable: &executable,
            memory: 1 << 30,
            deadline,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(runner.ask(&files, &query))
    }
}

const LONG: Duration = Duration::from_secs(20);
const ANSWER: &str = r#"cat >/dev/null; printf '{\n  "file": "x",\n  "columns": ["id","n","size","t"],\n  "rows": [\n    ["0x1",1,8,"a],"],\n    ["0x2",2,16,null]\n  ]\n}\n'"#;

#[test]
fn rows_come_in_the_order_of_columns_up_to_the_limit() {
    let script = Script::new(ANSWER);
    let answer = script.ask(10, LONG).unwrap();
    let kinds: Vec<&str> = answer.columns.iter().map(|column| column.kind).collect();
    assert_eq!(kinds, ["object", "count", "bytes", "text"]);
    let rows = serde_json::json!([["0x1", 1, 8, "a],"], ["0x2", 2, 16, null]]);
    assert_eq!(serde_json::to_value(&answer.rows).unwrap(), rows);
    assert!(!answer.truncated);
    let first = script.ask(1, LONG).unwrap();
    assert_eq!((first.rows.len(), first.truncated), (1, true));
    assert!(!script.ask(2, LONG).unwrap().truncated);
}

#[test]
fn notes_of_the_command_come_with_the_rows() {
    let head =
        r#"cat >/dev/null; printf '{\n  "columns": ["id"],\n  "rows": [\n    ["0x1"]\n  ],\n'"#;
    let tail =
        |is_cut| format!(r#"printf '  "truncated": {is_cut},\n  "notes": ["no <b>","cut"]\n}}\n'"#);
    for is_cut in [true, false] {
        let answer = Script::new(&format!("{head}; {}", tail(is_cut))).ask(1, LONG);
        let answer = answer.unwrap();
        assert_eq!((answer.rows.len(), answer.truncated), (1, is_cut));
        assert_eq!(answer.notes, ["no <b>", "cut"]);
    }
}

#[test]
fn a_query_that_fails_after_rows_says_why() {
    let script = Script::new(&format!(
        "{}; echo 'hprof-rs: integer overflow' >&2; exit 1",
        r#"printf '{\n  "columns": ["a"],\n  "rows": [\n    [1]'"#
    ));
    let refused = ViewError::Invalid("integer overflow".to_owned());
    assert_eq!(script.ask(10, LONG), Err(refused));
}

#[test]
fn a_query_that_fails_says_why_without_the_place_of_the_dump() {
    let script = Script::new("echo 'hprof-rs: /secret/place/dump: no such table: x' >&2; exit 1");
    let refused = ViewError::Invalid("app.hprof: no such table: x".to_owned());
    assert_eq!(script.ask(1, LONG), Err(refused));
    let script = Script::new("exit 3");
    assert!(matches!(script.ask(1, LONG), Err(ViewError::TooLong(_))));
    let script = Script::new("kill -9 $$");
    assert!(matches!(script.ask(1, LONG), Err(ViewError::Failed(_))));
    assert!(matches!(script.ask(0, LONG), Err(ViewError::Invalid(_))));
}

#[test]
fn a_query_that_takes_too_long_is_ended() {
    let script = Script::new("echo $$ > $(dirname $0)/pid; exec sleep 100");
    let ended = script.ask(1, Duration::from_millis(500));
    assert!(matches!(ended, Err(ViewError::TooLong(_))), "{ended:?}");
    let pid = std::fs::read_to_string(script.0.path().join("pid")).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    // It has ended, or waits only for its parent to reap it.
    let is_gone = || std::fs::read_to_string(&stat).map_or(true, |it| it.contains(") Z "));
    let waits = (0..200).find(|_| {
        std::thread::sleep(Duration::from_millis(10));
        is_gone()
    });
    assert!(waits.is_some());
}

#[test]
fn an_answer_without_end_is_cut() {
    let head = r#"printf '{\n  "columns": ["a"],\n  "rows": [\n'"#;
    let script = Script::new(&format!("{head}; yes '[\"xxxxxxxxxxxxxxxx\"],'"));
    let answer = script.ask(100, LONG).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (100, true));
    let script = Script::new(&format!("{head}; tr '\\0' x < /dev/zero"));
    let answer = script.ask(100, LONG).unwrap();
    assert_eq!((answer.rows.len(), answer.truncated), (0, true));
}
