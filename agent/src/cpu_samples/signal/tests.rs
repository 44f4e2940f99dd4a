//! The parts of the engine that work without a VM.

use super::*;

#[test]
fn the_kernel_gives_cpu_timers_here() {
    timer::probe().unwrap();
}

#[test]
fn failure_codes_have_names() {
    assert_eq!(WalkFailure::from_code(0), WalkFailure::NoJavaFrame);
    assert_eq!(WalkFailure::from_code(-2), WalkFailure::GcActive);
    assert_eq!(WalkFailure::from_code(-10), WalkFailure::Safepoint);
    assert_eq!(WalkFailure::from_code(-99), WalkFailure::UnknownState);
}

#[test]
fn a_frame_has_the_layout_of_the_vm() {
    assert_eq!(size_of::<AsgctFrame>(), 16);
    assert_eq!(std::mem::offset_of!(AsgctFrame, method), 8);
}
