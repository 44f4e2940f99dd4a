//! Regenerates `src/jvmti.rs`: `cargo run -p hprof-native-headers --example generate -- INCLUDE_DIR`.

#[path = "../generate.rs"]
mod generate;

fn main() {
    let include = std::env::args_os()
        .nth(1)
        .expect("usage: generate INCLUDE_DIR");
    let out = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jvmti.rs");
    std::fs::write(&out, generate::bindings(include.as_ref())).expect("src/jvmti.rs is writable");
    println!("{}", out.display());
}
