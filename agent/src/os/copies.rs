//! Other copies of the agent in this process. A running JVM may have loaded an earlier version months ago.

use super::maps::{Mapping, mappings};

/// Paths of other libraries whose file names are those of the agent.
pub fn other_copies() -> Vec<String> {
    let own = other_copies as fn() -> Vec<String> as usize;
    copies(&mappings(), own)
}

/// Paths of the agent's libraries in `mappings`, without the one that has code at the address `own`.
fn copies(mappings: &[Mapping], own: usize) -> Vec<String> {
    let own = Mapping::of(mappings, own).map(|mapping| &mapping.path);
    let mut found: Vec<String> = Vec::new();
    for mapping in mappings {
        let name = mapping.file_name();
        let is_agent = name.contains("hprof") && name.ends_with(".so");
        if is_agent && Some(&mapping.path) != own && !found.contains(&mapping.path) {
            found.push(mapping.path.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_found_and_this_one_is_not() {
        let lines = [
            "1000-2000 r-xp 00001000 08:01 1   /a/libhprof_rs.so",
            "4000-5000 r-xp 00001000 08:01 2   /a b/libhprof_rs.so",
            "5000-6000 r-xp 00002000 08:01 2   /a b/libhprof_rs.so",
            "6000-7000 r-xp 00001000 08:01 3   /lib/libc.so.6",
        ];
        let mappings: Vec<Mapping> = lines.into_iter().filter_map(Mapping::parse).collect();
        assert_eq!(copies(&mappings, 0x1800), ["/a b/libhprof_rs.so"]);
        assert_eq!(copies(&mappings, 0x4800), ["/a/libhprof_rs.so"]);
        assert_eq!(copies(&[], 1), Vec::<String>::new());
    }
}
