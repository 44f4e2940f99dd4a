//! Prints the option table of docs/options.md.

fn main() {
    print!("{}", hprof_options::table::markdown_table());
}
