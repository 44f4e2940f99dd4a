//! The Java heap: the text of `jcmd PID GC.heap_info`, JDK 9 and later, and the same lines in `hs_err` files.

use std::ops::Range;

use serde::Serialize;

use crate::Bytes;
use crate::bytes::parse_size;

/// The heap and the metaspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Heap {
    /// The JVM's name of the collector's heap, such as `garbage-first heap`.
    pub name: String,
    /// Memory that may be used now.
    pub committed: Bytes,
    /// Objects, dead ones among them.
    pub used: Bytes,
    /// Its addresses, those reserved among them. Empty where the JVM does not print them (ZGC).
    #[serde(skip)]
    pub ranges: Vec<Range<u64>>,
    /// Metadata of classes, class space included.
    pub metaspace: Option<Space>,
    /// Compressed class pointers lead into this part.
    pub class_space: Option<Space>,
    /// The addresses of the metaspace but for the class space, where the JVM prints them (JDK 16 and later).
    #[serde(skip)]
    pub metaspace_ranges: Vec<Range<u64>>,
    /// The addresses of the class space.
    #[serde(skip)]
    pub class_ranges: Vec<Range<u64>>,
}

/// A space of metadata.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Space {
    /// Metadata.
    pub used: Bytes,
    /// Memory that may be used now.
    pub committed: Bytes,
    /// Addresses that are set aside.
    pub reserved: Bytes,
}

impl Heap {
    /// Reads the text; `None` if no heap is in it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut heap = Self::default();
        for line in text.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("Metaspace ") {
                heap.metaspace = space(rest);
                continue;
            }
            if let Some(rest) = line.strip_prefix("class space ") {
                heap.class_space = space(rest);
                continue;
            }
            let shenandoah = || Some((before(line, " committed")?, before(line, " used")?));
            let generation = || {
                let used = after(line, "used ")?;
                let committed = after(line, "committed ")
                    .or_else(|| after(line, "capacity "))
                    .or_else(|| after(line, "total "))?;
                Some((committed, used))
            };
            if let Some((committed, used)) = generation().or_else(shenandoah) {
                if heap.name.is_empty() {
                    let end = line.find("  ").unwrap_or(line.len());
                    line[..end].trim().clone_into(&mut heap.name);
                }
                heap.committed += committed;
                heap.used += used;
                heap.ranges.extend(range(line));
            } else if line.starts_with("- [") && heap.ranges.is_empty() {
                heap.ranges.extend(range(line));
            }
        }
        (!heap.name.is_empty()).then_some(heap)
    }

    /// Adds the text of `jcmd PID VM.metaspace vslist`: from JDK 25 on no other command reports the metaspace, and from JDK 16
    /// on it has addresses.
    pub fn add_metaspace(&mut self, text: &str) {
        let mut is_class = false;
        for line in text.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("Metaspace ") {
                self.metaspace = self.metaspace.or(space(rest));
            } else if let Some(rest) = line.strip_prefix("class space ") {
                self.class_space = self.class_space.or(space(rest));
            } else if line.starts_with("vsl ") {
                is_class = line.contains("vsl class-space");
            } else if let Some(range) = node(line) {
                match is_class {
                    true => self.class_ranges.push(range),
                    false => self.metaspace_ranges.push(range),
                }
            }
        }
    }

    /// True if the address is in the heap.
    pub fn holds(&self, address: u64) -> bool {
        self.ranges.iter().any(|range| range.contains(&address))
    }
}

/// `used 1K, capacity 2K, committed 3K, reserved 4K`; newer JVMs print no capacity.
fn space(text: &str) -> Option<Space> {
    Some(Space {
        used: after(text, "used ")?,
        committed: after(text, "committed ")?,
        reserved: after(text, "reserved ")?,
    })
}

/// `- node #0: base 0x00007fbca4000000: reserved=65536.00 KB, committed=192.00 KB`.
fn node(line: &str) -> Option<Range<u64>> {
    let (_, rest) = line.strip_prefix("- node #")?.split_once("base 0x")?;
    let (base, rest) = rest.split_once(':')?;
    let start = u64::from_str_radix(base, 16).ok()?;
    let (size, _) = rest.trim().strip_prefix("reserved=")?.split_once(',')?;
    let end = start.checked_add(parse_size(size)?.0)?;
    (start < end).then_some(start..end)
}

/// The size behind a word.
fn after(line: &str, word: &str) -> Option<Bytes> {
    let (_, rest) = line.split_once(word)?;
    let end = rest.find([',', ' ', '[', ')']).unwrap_or(rest.len());
    parse_size(&rest[..end])
}

/// The size before a word.
fn before(line: &str, word: &str) -> Option<Bytes> {
    let (rest, _) = line.split_once(word)?;
    parse_size(rest.rsplit([' ', ',']).next()?)
}

/// The first and the last address in brackets, as `[0x1000, 0x2000, 0x3000)`: start, committed end, reserved end.
fn range(line: &str) -> Option<Range<u64>> {
    let (_, rest) = line.split_once('[')?;
    let (inside, _) = rest.split_once([')', ']'])?;
    let address = |text: &str| u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
    let start = address(inside.split(',').next()?)?;
    let end = address(inside.rsplit(',').next()?)?;
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const G1: &str = " garbage-first heap   total 258048K, used 1024K [0x0000000707e00000, 0x0000000800000000)\n  \
region size 2048K, 1 young (2048K), 0 survivors (0K)\n Metaspace       used 123K, committed 320K, reserved 1056768K\n  \
class space    used 3K, committed 128K, reserved 1048576K\n";

    #[test]
    fn the_heap_of_g1_has_one_range() {
        let heap = Heap::parse(G1).unwrap();
        assert_eq!(heap.name, "garbage-first heap");
        assert_eq!(
            (heap.committed, heap.used),
            (Bytes::kib(258_048), Bytes::kib(1024))
        );
        assert_eq!(heap.ranges, [0x7_07e0_0000..0x8_0000_0000]);
        assert_eq!(heap.metaspace.unwrap().committed, Bytes::kib(320));
        assert_eq!(heap.class_space.unwrap().reserved, Bytes::kib(1_048_576));
        let newer = G1.replace(
            "total 258048K",
            "total reserved 4108288K, committed 258048K",
        );
        assert_eq!(Heap::parse(&newer).unwrap().committed, Bytes::kib(258_048));
    }

    #[test]
    fn generations_are_added() {
        let text = " PSYoungGen      total 75776K, used 5202K [0x000000076b600000, 0x0000000770a80000, 0x00000007c0000000)\n  \
eden space 65024K, 8% used [0x000000076b600000,0x000000076bb14938,0x000000076f580000)\n \
ParOldGen       total 173568K, used 1K [0x00000006c2200000, 0x00000006ccb80000, 0x000000076b600000)\n  \
object space 173568K, 0% used [0x00000006c2200000,0x00000006c2200000,0x00000006ccb80000)\n";
        let heap = Heap::parse(text).unwrap();
        assert_eq!(
            (heap.committed, heap.used),
            (Bytes::kib(249_344), Bytes::kib(5203))
        );
        assert_eq!(heap.ranges.len(), 2);
        assert!(heap.holds(0x7_bfff_ffff) && !heap.holds(0x7_c000_0000));
    }

    #[test]
    fn zgc_and_shenandoah_have_their_own_words() {
        let z =
            Heap::parse(" ZHeap           used 12M, capacity 256M, max capacity 4014M\n").unwrap();
        assert_eq!((z.committed, z.used), (Bytes::mib(256), Bytes::mib(12)));
        let text = "Shenandoah Heap\n 4014M max, 4014M soft max, 256M committed, 12345K used\n 2009 x 2048K regions\n\
Reserved region:\n - [0x0000000705200000, 0x0000000800000000) \n";
        let shenandoah = Heap::parse(text).unwrap();
        assert_eq!(
            (shenandoah.committed, shenandoah.used),
            (Bytes::mib(256), Bytes::kib(12_345))
        );
        assert_eq!(shenandoah.ranges, [0x7_0520_0000..0x8_0000_0000]);
    }

    #[test]
    fn nodes_of_the_metaspace_have_addresses() {
        let mut heap =
            Heap::parse(" ZHeap           used 12M, capacity 256M, max capacity 4014M\n").unwrap();
        heap.add_metaspace(
            "Metaspace        used 93K, committed 320K, reserved 1114112K\n class space     used 6K, committed 128K, reserved 1048576K\n\
vsl non-class-space:\n- node #0: base 0x00007fbca4000000: reserved=65536.00 KB, committed=192.00 KB ( <1%), used=16384.00 KB ( 25%)\n\
vsl class-space:\n- node #0: base 0x0000000051000000: reserved=1048576.00 KB, committed=128.00 KB ( <1%)\n",
        );
        assert_eq!(heap.metaspace.unwrap().used, Bytes::kib(93));
        assert_eq!(heap.metaspace_ranges, [0x7fbc_a400_0000..0x7fbc_a800_0000]);
        assert_eq!(heap.class_ranges, [0x5100_0000..0x9100_0000]);
    }

    proptest! {
        #[test]
        fn no_metaspace_does_harm(text in "(vsl class-space|- node #|0: base 0x|: reserved=|KB, |[0-9a-f]{1,20}|Metaspace | |\n)*") {
            let mut heap = Heap::default();
            heap.add_metaspace(&text);
            prop_assert!(heap.metaspace_ranges.iter().all(|range| range.start < range.end));
        }

        #[test]
        fn no_text_does_harm(text in "(total |used |committed |\\[|0x|,|\\)|[0-9]{1,25}|K|M| |\n|Metaspace )*") {
            if let Some(heap) = Heap::parse(&text) {
                prop_assert!(heap.ranges.iter().all(|range| range.start < range.end));
            }
        }
    }
}
