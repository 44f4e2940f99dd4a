//! docs/options.md lists the options as the program has them.

use std::fs;
use std::path::Path;

use hprof_options::table::markdown_table;

#[test]
fn the_document_contains_the_option_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    let document = fs::read_to_string(&path).expect("docs/options.md");
    let (_, after) = document
        .split_once("<!-- options -->\n")
        .expect("the mark before the table");
    let (table, _) = after
        .split_once("<!-- /options -->")
        .expect("the mark after the table");
    assert_eq!(
        table.trim_matches('\n'),
        markdown_table().trim_matches('\n'),
        "put the output of `cargo run -p hprof-options --example options-table` between the marks"
    );
}
