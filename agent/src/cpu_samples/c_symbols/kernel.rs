//! The names of the kernel's functions, from `/proc/kallsyms` (proc(5)).

use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// Bytes of names that are kept at most; a kernel has some 3 MB.
const MAX_NAMES: usize = 64 << 20;
/// A line is longer only if it is damaged.
const MAX_LINE: u64 = 4096;

/// Functions of the kernel and of its modules.
#[derive(Default)]
pub(super) struct KernelFunctions {
    /// Addresses and where their names begin, by address.
    starts: Vec<(u64, u32)>,
    /// All names, each with an end of line.
    names: String,
}

impl KernelFunctions {
    /// Reads those of the running kernel. They are empty where the kernel hides its addresses (`kernel.kptr_restrict`).
    pub(super) fn of_this_kernel() -> Self {
        let file = File::open("/proc/kallsyms");
        let read = file.and_then(|file| Self::read(BufReader::new(file)));
        read.unwrap_or_default()
    }

    /// Returns true if no function has a name.
    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The function at an address.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        let after = self.starts.partition_point(|&(start, _)| start <= address);
        let &(_, at) = self.starts.get(after.checked_sub(1)?)?;
        self.names.get(at as usize..)?.lines().next()
    }

    /// Lines of an address, a letter for the kind, the name, and the module in brackets.
    fn read(mut lines: impl BufRead) -> io::Result<Self> {
        let mut new = Self::default();
        let mut line = String::new();
        loop {
            line.clear();
            if io::Read::take(&mut lines, MAX_LINE).read_line(&mut line)? == 0 {
                break;
            }
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some("t" | "T" | "w" | "W"), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let address = u64::from_str_radix(address, 16).unwrap_or(0);
            if address == 0 || new.names.len() + name.len() >= MAX_NAMES {
                continue;
            }
            new.starts.push((address, new.names.len() as u32));
            new.names.push_str(name);
            new.names.push('\n');
        }
        // The first of several names of a place, as the kernel itself lists them.
        new.starts
            .sort_by_key(|&(address, at)| (address, std::cmp::Reverse(at)));
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(text: &str) -> KernelFunctions {
        KernelFunctions::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn functions_are_found_by_addresses_in_them() {
        let functions = functions(
            "ffffffff81000000 T _stext\n\
             ffffffff81000400 t do_nanosleep\n\
             ffffffff81000400 t alias_of_it\n\
             ffffffff81000300 D jiffies\n\
             ffffffffc0000000 t virtnet_poll\t[virtio_net]\n\
             no line\n",
        );
        let name = |address| functions.name(address);
        assert_eq!(name(0xffff_ffff_8100_0000), Some("_stext"));
        assert_eq!(name(0xffff_ffff_8100_0399), Some("_stext"));
        assert_eq!(name(0xffff_ffff_8100_0410), Some("do_nanosleep"));
        assert_eq!(name(0xffff_ffff_c000_0010), Some("virtnet_poll"));
        assert_eq!(name(0x7fff_0000_0000), None);
    }

    /// Unprivileged processes see zeros.
    #[test]
    fn hidden_addresses_have_no_names() {
        let hidden = functions("0000000000000000 T _stext\n0000000000000000 t schedule\n");
        assert!(hidden.is_empty());
        assert_eq!(hidden.name(0xffff_ffff_8100_0000), None);
    }
}
