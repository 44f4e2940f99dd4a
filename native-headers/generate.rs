//! The one recipe that turns a JDK's `jvmti.h` into `src/jvmti.rs`; used by the
//! example that writes the file and by the test that compares it.

use std::path::Path;

/// JNI types that come from `jni-sys`, so that a `jobject` here is the `jobject`
/// of every other crate.
const FROM_JNI_SYS: &[&str] = &[
    "JNIEnv",
    "JNINativeInterface_",
    "JavaVM",
    "jarray",
    "jboolean",
    "jbyte",
    "jchar",
    "jclass",
    "jdouble",
    "jfieldID",
    "jfloat",
    "jint",
    "jlong",
    "jmethodID",
    "jobject",
    "jobjectArray",
    "jshort",
    "jsize",
    "jstring",
    "jthrowable",
    "jvalue",
    "jweak",
    "_jobject",
    "_jmethodID",
    "_jfieldID",
];

/// Generates the bindings from `<include>/jvmti.h`.
pub fn bindings(include: &Path) -> String {
    let mut builder = bindgen::Builder::default()
        .header(include.join("jvmti.h").to_string_lossy())
        .header(include.join("jvmticmlr.h").to_string_lossy())
        .clang_arg(format!("-I{}", include.display()))
        .clang_arg(format!("-I{}/linux", include.display()))
        .allowlist_type("jvmti.*")
        .allowlist_type("JVMTI.*")
        .allowlist_type("_jvmti.*")
        .allowlist_type("_?PCStackInfo|_?CMLR.*")
        .allowlist_var("JVMTI_.*")
        .raw_line("use jni_sys::*;")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .layout_tests(true)
        .derive_default(true)
        .generate_comments(false)
        .disable_header_comment()
        .rust_target(bindgen::RustTarget::stable(85, 0).unwrap_or_default())
        .rust_edition(bindgen::RustEdition::Edition2024)
        .formatter(bindgen::Formatter::Prettyplease);
    for name in FROM_JNI_SYS {
        builder = builder.blocklist_type(name);
    }
    let body = builder
        .generate()
        .expect("jvmti.h is readable C")
        .to_string();
    format!(
        "// Made by bindgen from the JDK's jvmti.h and jvmticmlr.h. Do not edit: run\n\
         // scripts/generate-bindings.\n\n{body}"
    )
}
