//! Has the crate built again after a change of the page.

fn main() {
    println!("cargo::rerun-if-changed=web/dist");
}
