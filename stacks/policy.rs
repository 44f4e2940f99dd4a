// The content security policy of a page whose only style and script are those given. Used by the
// build scripts of all crates that have a page.

use sha2::{Digest, Sha256};

/// The policy: nothing from elsewhere, and no style or script but these two.
pub fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        base64(&Sha256::digest(style)),
        base64(&Sha256::digest(script))
    )
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
