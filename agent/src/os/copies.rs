//! Other copies of the agent in this process: a JVM that runs for months may have had one of an earlier version.

use std::fs;

/// The files of other libraries whose names tell that they are the agent.
pub fn other_copies() -> Vec<String> {
    let text = fs::read("/proc/self/maps").unwrap_or_default();
    copies(
        &String::from_utf8_lossy(&text),
        other_copies as fn() -> Vec<String> as usize,
    )
}

/// Those in a text as of `/proc/PID/maps`, without the one that has code at the address `own`.
fn copies(maps: &str, own: usize) -> Vec<String> {
    let mapped = maps.lines().filter_map(mapping);
    let mut found: Vec<&str> = Vec::new();
    let mut this = None;
    for (start, end, path) in mapped {
        if (start..end).contains(&own) {
            this = Some(path);
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.contains("hprof") && name.contains(".so") && !found.contains(&path) {
            found.push(path);
        }
    }
    let others = found.into_iter().filter(|&path| Some(path) != this);
    others.map(str::to_owned).collect()
}

/// Addresses and file of a line such as `7f00-7f80 r-xp 00001000 08:01 42   /lib/libc.so.6`.
fn mapping(line: &str) -> Option<(usize, usize, &str)> {
    let (range, _) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let path = line.get(line.find('/')?..)?;
    Some((
        usize::from_str_radix(start, 16).ok()?,
        usize::from_str_radix(end, 16).ok()?,
        path,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_found_and_this_one_is_not() {
        let maps = "\
7f0000000000-7f0000001000 r--p 00000000 08:01 1   /a/libhprof_rs.so
7f0000001000-7f0000002000 r-xp 00001000 08:01 1   /a/libhprof_rs.so
7f0000003000-7f0000004000 r--p 00000000 08:01 2   /a b/libhprof_rs.so
7f0000004000-7f0000005000 r-xp 00001000 08:01 2   /a b/libhprof_rs.so
7f0000006000-7f0000007000 r-xp 00001000 08:01 3   /lib/libc.so.6
7f0000008000-7f0000009000 rw-p 00000000 00:00 0
7f000000a000-7f000000b000 r--p 00000000 08:01 4   /tmp/dump.hprof
";
        assert_eq!(copies(maps, 0x7f00_0000_1800), ["/a b/libhprof_rs.so"]);
        assert_eq!(copies(maps, 0x7f00_0000_4800), ["/a/libhprof_rs.so"]);
        assert_eq!(copies("", 1), Vec::<String>::new());
    }
}
