//! Prints the option table of the README.

fn main() {
    print!("{}", hprof_rs::options::table::markdown_table());
}
