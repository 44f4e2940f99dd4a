//! The prompt of `hprof-rs listen`, on a terminal that the test plays.

mod support;

use std::io::Write;

use support::Scene;
use support::terminal::Terminal;

#[test]
fn pasted_lines_are_carried_out_at_once() {
    let scene = Scene::new();
    // Too low for the table, which the prompt does without.
    let listen = ["listen", "127.0.0.1:0", "--save", "saved"];
    let mut terminal = Terminal::start(&scene, &listen, (80, 12));
    terminal.wait_for("hprof-rs> ", 1);
    terminal.keys.write_all(b"list\rsleep 0.1\rlist\r").unwrap();
    terminal.wait_for("no agents yet", 2);
    // As terminals mark what was pasted.
    let pasted = b"\x1b[200~list\rlist\rlist\x1b[201~\r";
    terminal.keys.write_all(pasted).unwrap();
    terminal.wait_for("no agents yet", 5);
    terminal.keys.write_all(b"quit\r").unwrap();
    assert!(terminal.end().success());
}
