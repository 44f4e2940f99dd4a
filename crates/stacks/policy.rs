// The content security policy of a page whose only style and script are those given. Used by the
// build scripts of all crates that have a page. It needs no crate, of which the agent's build would wait for seven.

/// The policy: nothing from elsewhere, and no style or script but these two.
pub fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        base64(&sha256(style.as_bytes())),
        base64(&sha256(script.as_bytes()))
    )
}

/// FIPS 180-4, section 6.2. A test compares it with the crate `sha2`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let primes = || (2_u64..).filter(|n| (2..*n).all(|divisor| n % divisor != 0));
    // The first 32 bits of the fractional part of a root.
    let fraction = |root: f64| (root.fract() * 4_294_967_296.0) as u32;
    let mut state = [0_u32; 8];
    for (word, prime) in state.iter_mut().zip(primes()) {
        *word = fraction((prime as f64).sqrt());
    }
    let mut constants = [0_u32; 64];
    for (word, prime) in constants.iter_mut().zip(primes()) {
        *word = fraction((prime as f64).cbrt());
    }
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let length = padded.len() - 8;
    padded[length..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        for at in 16..64 {
            let (early, late) = (words[at - 15], words[at - 2]);
            let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
            let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
            let sum = words[at - 16].wrapping_add(early);
            words[at] = sum.wrapping_add(words[at - 7]).wrapping_add(late);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (word, constant) in words.iter().zip(constants) {
            let turned = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = h.wrapping_add(turned).wrapping_add(choice);
            let first = first.wrapping_add(constant).wrapping_add(*word);
            let turned = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = turned.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(second));
        }
        for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *word = word.wrapping_add(add);
        }
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

/// RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digit = |index: usize| match index <= group.len() {
            true => DIGITS[(bits >> (18 - 6 * index)) as usize & 63] as char,
            false => '=',
        };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(group).collect()
}
