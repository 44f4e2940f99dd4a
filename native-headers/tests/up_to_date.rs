//! The checked-in bindings are what the recipe makes of the pinned JDK's header.

#[path = "../generate.rs"]
mod generate;

use std::path::PathBuf;

/// Where `scripts/setup` puts the JDK whose header the bindings are made from.
fn include_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("HPROF_RS_JVMTI_INCLUDE") {
        return dir.into();
    }
    let cache = std::env::var_os("HPROF_RS_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            let base = std::env::var_os("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .unwrap_or_else(|| {
                    PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache")
                });
            base.join("hprof-rs")
        });
    cache.join("jdks/25.0.2.1/include")
}

#[test]
fn checked_in_bindings_match_the_header() {
    let include = include_dir();
    assert!(
        include.join("jvmti.h").is_file(),
        "no jvmti.h in {}: run scripts/setup first",
        include.display()
    );
    let made = generate::bindings(&include);
    let checked_in = include_str!("../src/jvmti.rs");
    assert!(
        made == checked_in,
        "native-headers/src/jvmti.rs differs from what bindgen makes: run scripts/generate-bindings"
    );
}
