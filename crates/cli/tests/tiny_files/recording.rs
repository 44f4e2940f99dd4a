//! Recordings of Flight Recorder that were spoilt.

use hprof_foreign::{Kind, jfr, read};
use hprof_stacks::pictures::profile::Profile;

use super::Numbers;

/// A recording of at most `most` bytes, with up to eleven runs of spoilt bytes.
pub fn recording(most: usize, numbers: &mut Numbers) -> Vec<u8> {
    let mut text = String::new();
    // A method takes some bytes in each of the tables.
    for line in 0..most / 60 {
        let depth = 1 + numbers.below(8);
        let methods = (0..depth).map(|_| format!("p{}/C{}.m", line % 7, numbers.below(200)));
        text += &format!("{} {line}\n", methods.collect::<Vec<_>>().join(";"));
    }
    let profile = read(text.as_bytes(), Kind::Collapsed, &mut |_| {}).expect("stacks");
    let written = jfr::write::write(
        &Profile {
            title: "hostile",
            stacks: &profile.stacks,
            weights: profile.weights,
            thread_name: &|_| None,
            remarks: &[],
            own: None,
            depth: None,
        },
        None,
        None,
        None,
    );
    let mut chunk = written;
    chunk.truncate(most);
    // Counts, sizes and keys that are far too large, and chunks without an end or metadata.
    for _ in 0..numbers.below(12) {
        let at = numbers.below(chunk.len());
        let end = chunk.len().min(at + 1 + numbers.below(9));
        let byte = [0, 0x7f, 0x80, 0xff][numbers.below(4)];
        chunk[at..end].fill(byte);
    }
    if numbers.below(3) > 0 {
        let length = chunk.len() as u64;
        chunk[..8].copy_from_slice(b"FLR\0\0\x02\0\0");
        chunk[8..16].copy_from_slice(&length.to_be_bytes());
    }
    chunk
}
