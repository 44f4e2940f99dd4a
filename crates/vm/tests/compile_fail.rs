//! Safe code cannot use anything of the VM after its end, on another thread, or twice.
//!
//! The messages beside the cases are those of the toolchain in use: after another one was installed, set
//! `TRYBUILD=overwrite`, and read the difference.

#[test]
fn what_is_not_sound_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
