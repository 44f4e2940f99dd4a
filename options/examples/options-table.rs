//! Prints the option table of the README.

fn main() {
    print!("{}", hprof_options::table::markdown_table());
}
