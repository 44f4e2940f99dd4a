//! The JVM's own account of its memory outside of the heap: the text of `jcmd PID VM.native_memory summary scale=KB`
//! (`memReporter.cpp` of HotSpot), JDK 8 and later.

use serde::Serialize;

use crate::Bytes;

/// The memory that the JVM has counted. It keeps this account only where it was started with `-XX:NativeMemoryTracking=summary` or
/// `detail`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// All that is committed.
    pub committed: Bytes,
    /// Its categories, in the JVM's order.
    pub categories: Vec<Category>,
}

/// Memory of one purpose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Category {
    /// The JVM's name for it: `GC`, `Thread`, `Class`.
    pub name: String,
    /// Addresses that are set aside.
    pub reserved: Bytes,
    /// Memory that may be used; not all of it need be resident.
    pub committed: Bytes,
    /// The part that came from `malloc`, with the arenas of the compiler.
    pub malloc: Bytes,
    /// The part that came from `mmap`, that of stacks included.
    pub mapped: Bytes,
}

impl Account {
    /// Reads the text; `None` if it is no such account, as where tracking is off.
    pub fn parse(text: &str) -> Option<Self> {
        let mut account = Self::default();
        let mut is_total = false;
        for line in text.lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("Total:") {
                account.committed = amount(rest, "committed=")?;
                is_total = true;
            } else if let Some(rest) = line.strip_prefix('-') {
                let Some((name, rest)) = rest.split_once('(') else {
                    continue;
                };
                let Some(committed) = amount(rest, "committed=") else {
                    continue;
                };
                account.categories.push(Category {
                    name: name.trim().to_owned(),
                    reserved: amount(rest, "reserved=").unwrap_or_default(),
                    committed,
                    ..Category::default()
                });
            } else if let (Some(last), Some(rest)) =
                (account.categories.last_mut(), line.strip_prefix('('))
            {
                let plain = rest.trim_start();
                // Lines set in further repeat parts of the class space's and metaspace's sums.
                if plain.starts_with("malloc=") || plain.starts_with("arena=") {
                    last.malloc += amount(plain, "=").unwrap_or_default();
                } else if plain.starts_with("mmap:") || plain.starts_with("stack:") {
                    last.mapped += amount(plain, "committed=").unwrap_or_default();
                }
            }
        }
        (is_total && !account.categories.is_empty()).then_some(account)
    }

    /// A category by its name.
    pub fn category(&self, name: &str) -> Option<&Category> {
        self.categories
            .iter()
            .find(|category| category.name == name)
    }

    /// All that came from `malloc`.
    pub fn malloc(&self) -> Bytes {
        self.categories.iter().map(|category| category.malloc).sum()
    }

    /// The memory of direct buffers and of `Unsafe.allocateMemory`: JDK 11 and later call it `Other`, JDK 8 counts it
    /// with the `Internal` one.
    pub fn outside_of_heap(&self) -> Bytes {
        let other = self.category("Other").or(self.category("Internal"));
        other.map(|category| category.malloc).unwrap_or_default()
    }
}

/// The number behind a name: `committed=12KB`.
fn amount(text: &str, name: &str) -> Option<Bytes> {
    let (_, rest) = text.split_once(name)?;
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    crate::bytes::parse_size(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
Native Memory Tracking:\n\n\
Total: reserved=5761482KB, committed=371454KB\n       malloc: 23206KB #57812\n       mmap:   reserved=5738276KB, committed=348248KB\n\n\
-                 Java Heap (reserved=4108288KB, committed=258048KB)\n\
                            (mmap: reserved=4108288KB, committed=258048KB, at peak) \n \n\
-                    Thread (reserved=20636KB, committed=1024KB)\n\
                            (thread #20)\n\
                            (stack: reserved=20580KB, committed=968KB)\n\
                            (malloc=35KB #122) (peak=40KB #123)\n\
                            (arena=21KB #38)\n \n\
-                     Other (reserved=64KB, committed=64KB)\n\
                            (malloc=64KB tag=Other #3)\n";

    #[test]
    fn categories_have_malloc_and_mapped_parts() {
        let account = Account::parse(TEXT).unwrap();
        assert_eq!(account.committed, Bytes::kib(371_454));
        let thread = account.category("Thread").unwrap();
        assert_eq!(
            (thread.malloc, thread.mapped),
            (Bytes::kib(56), Bytes::kib(968))
        );
        assert_eq!(
            account.category("Java Heap").unwrap().mapped,
            Bytes::kib(258_048)
        );
        assert_eq!(account.outside_of_heap(), Bytes::kib(64));
        assert_eq!(account.malloc(), Bytes::kib(120));
    }

    #[test]
    fn no_account_is_none() {
        assert_eq!(
            Account::parse("Native memory tracking is not enabled\n"),
            None
        );
        assert_eq!(Account::parse(""), None);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(Total:|-|\\(|malloc=|mmap:|reserved=|committed=|[0-9]{1,25}|KB|,| |\n)*") {
            let _ = Account::parse(&text);
        }

        #[test]
        fn a_cut_account_has_the_first_categories(at in 0..TEXT.len()) {
            let whole = Account::parse(TEXT).unwrap();
            if let Some(cut) = Account::parse(&TEXT[..at]) {
                prop_assert!(cut.categories.len() <= whole.categories.len());
                for (cut, whole) in cut.categories.iter().zip(&whole.categories) {
                    prop_assert!(whole.name.starts_with(&cut.name));
                }
            }
        }
    }
}
