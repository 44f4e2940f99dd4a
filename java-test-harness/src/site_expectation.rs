//! Counts of allocated objects that a test program prints.

/// A line `site CLASS METHOD ALLOCATED LIVE` of a program such as `Allocations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteExpectation<'a> {
    /// The class's name; a `*` at its end stands for any rest.
    pub class: &'a str,
    /// A method in the stacks, as `Class.method`.
    pub method: &'a str,
    /// The methods that the objects are made in, with `|` between them, of classes of which the VM
    /// makes objects of its own in the same method.
    innermost: Option<&'a str>,
    /// Objects allocated.
    pub allocated: u64,
    /// Objects alive.
    pub live: u64,
}

impl<'a> SiteExpectation<'a> {
    /// The expectations in what a program has printed.
    ///
    /// # Panics
    ///
    /// When such a line has another form, or there is none.
    pub fn printed(stdout: &'a str) -> Vec<Self> {
        let lines = stdout
            .lines()
            .filter_map(|line| line.strip_prefix("site "))
            .map(Self::parse);
        let all: Vec<_> = lines.collect();
        assert!(!all.is_empty(), "nothing was expected");
        all
    }

    fn parse(line: &'a str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let (class, method, innermost, allocated, live) = match words[..] {
            [class, method, allocated, live] => (class, method, None, allocated, live),
            [class, method, "innermost", allocated, live] => {
                (class, method, Some(method), allocated, live)
            }
            [class, method, "in", innermost, allocated, live] => {
                (class, method, Some(innermost), allocated, live)
            }
            _ => panic!("{line}"),
        };
        Self {
            class,
            method,
            innermost,
            allocated: allocated.parse().unwrap(),
            live: live.parse().unwrap(),
        }
    }

    /// Returns whether objects of this class are among those expected, with this stack of methods,
    /// the innermost first.
    pub fn is_of(&self, class: &str, stack: &[&str]) -> bool {
        let is_class = match self.class.strip_suffix('*') {
            Some(start) => class.starts_with(start),
            None => class == self.class,
        };
        let is_innermost = self
            .innermost
            .is_none_or(|methods| methods.split('|').any(|it| stack.first() == Some(&it)));
        is_class && stack.contains(&self.method) && is_innermost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_the_vm_makes_in_the_same_method_are_told_apart() {
        let all = SiteExpectation::printed(
            "site A$L* A.f 3 2\nother\nsite byte[] A.f innermost 2 1\nsite S A.f in B.g|C.h 1 0\n",
        );
        assert_eq!((all[0].allocated, all[0].live), (3, 2));
        assert!(all[0].is_of("A$L17", &["X.x", "A.f"]));
        assert!(!all[0].is_of("B", &["A.f"]));
        assert!(all[1].is_of("byte[]", &["A.f", "A.main"]));
        assert!(!all[1].is_of("byte[]", &["X.x", "A.f"]));
        assert!(all[2].is_of("S", &["C.h", "A.f"]));
        assert!(!all[2].is_of("S", &["C.h", "A.g"]));
        assert!(!all[2].is_of("S", &["D.d", "A.f"]));
    }
}
