//! Random numbers that need no state, for code that must not move in step with the program.

/// A number that differs from call to call: the digits of the monotonic clock, mixed as in
/// splitmix64. Safe in a signal handler.
pub fn random() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let mut x =
        (time.tv_sec as u64 ^ (time.tv_nsec as u64) << 20).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
