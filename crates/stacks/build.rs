//! Puts the page's script together and computes its content security policy.

use std::path::Path;
use std::{env, fs};

mod policy;

/// The parts of the script, in their order.
const PARTS: [&str; 10] = [
    "tree.js",
    "draw.js",
    "time.js",
    "time-draw.js",
    "thread-lanes.js",
    "slow.js",
    "source.js",
    "controls.js",
    "time-controls.js",
    "table.js",
];

fn main() {
    let folder = Path::new("src/pictures/page");
    let read = |name: &str| {
        let path = folder.join(name);
        println!("cargo:rerun-if-changed={}", path.display());
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    println!("cargo:rerun-if-changed=policy.rs");
    let script: String = PARTS.map(read).concat();
    // Indentation and comments help only who reads the source.
    let lines = script.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("// "));
    let script = format!(
        "\"use strict\";(() => {{\n{}\n}})();\n",
        lines.collect::<Vec<_>>().join("\n")
    );
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: &str| {
        fs::write(Path::new(&out).join(name), text).expect("the build folder can be written");
    };
    write("policy.txt", &policy::policy(&read("page.css"), &script));
    write("page.js", &script);
}
