//! The content security policy that build scripts compute for pages.

use proptest::collection::vec;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

#[path = "../policy.rs"]
mod policy;

proptest! {
    #[test]
    fn the_hash_of_build_scripts_is_that_of_the_crate(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(&policy::sha256(&bytes)[..], &Sha256::digest(&bytes)[..]);
    }
}

#[test]
fn a_policy_names_the_hashes_of_style_and_script() {
    let policy = policy::policy("", "abc");
    // FIPS 180-4 has both digests; here they are in Base64.
    assert!(
        policy.contains("style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"),
        "{policy}"
    );
    assert!(
        policy.contains("script-src 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='"),
        "{policy}"
    );
}
