//! The flags of the VM: the text of `jcmd PID VM.flags -all`.

use std::collections::BTreeMap;

use crate::Bytes;

/// Flags with their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags(BTreeMap<String, Flag>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Flag {
    value: String,
    is_given: bool,
}

impl Flags {
    /// Reads lines such as `   size_t MaxHeapSize   = 4206886912   {product} {ergonomic}`; JDK 8 writes `:=` for flags that
    /// were set.
    pub fn parse(text: &str) -> Self {
        let flags = text.lines().filter_map(|line| {
            let (left, right) = line.split_once('=')?;
            let name = left.trim_end_matches(':').split_whitespace().nth(1)?;
            let (value, origin) = right.split_once('{').unwrap_or((right, ""));
            let given = ["{command line", "{environment", "{config file", "{jimage"];
            let flag = Flag {
                value: value.trim().to_owned(),
                is_given: given.iter().any(|it| origin.contains(it)),
            };
            Some((name.to_owned(), flag))
        });
        Self(flags.collect())
    }

    /// The value of a flag.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|flag| &*flag.value)
    }

    /// A number of bytes; `None` for 0 too, which stands for a default.
    pub fn bytes(&self, name: &str) -> Option<Bytes> {
        let number = self.text(name)?.parse().ok()?;
        (number > 0).then_some(Bytes(number))
    }

    /// True if the user of the JVM set a flag, on the command line or in a variable or file. JDK 8 does not say.
    pub fn is_given(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|flag| flag.is_given)
    }

    /// True if a flag is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_of_all_releases_are_read() {
        let text = "[Global flags]\n   size_t MaxHeapSize                              = 4206886912     {product} {ergonomic}\n    \
uintx MaxDirectMemorySize                       = 0              {product}\n     bool UseG1GC                                  := true           {product}\n    \
ccstr NativeMemoryTracking                      = summary        {product} {command line}\n   double MaxRAMPercentage = 25.000000 {product}\n";
        let flags = Flags::parse(text);
        assert_eq!(flags.bytes("MaxHeapSize"), Some(Bytes(4_206_886_912)));
        assert_eq!(flags.bytes("MaxDirectMemorySize"), None);
        assert!(flags.is_on("UseG1GC") && !flags.is_on("UseZGC"));
        assert_eq!(flags.text("NativeMemoryTracking"), Some("summary"));
        assert_eq!(flags.text("MaxRAMPercentage"), Some("25.000000"));
        assert!(flags.is_given("NativeMemoryTracking") && !flags.is_given("MaxHeapSize"));
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(=|:|\\{|\\}| |a|[0-9]{1,25}|\n)*") {
            let _ = Flags::parse(&text);
        }
    }
}
