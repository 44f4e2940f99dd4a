//! Class names of HotSpot's dumper.

use crate::names::java_class_name;

/// Turns the internal form of a class name (JVM specification, 4.2.1), which HotSpot's dumper
/// writes, into the form of Java source. Hidden classes get the dot that JVMTI has in front of
/// their suffix, where HotSpot has a plus sign.
pub fn class_name(internal: &str) -> String {
    if internal.starts_with('[') {
        return java_class_name(&internal.replacen("+0x", ".0x", 1));
    }
    java_class_name(&format!("L{};", internal.replacen("+0x", ".0x", 1)))
}

#[cfg(test)]
mod tests {
    use super::class_name;

    #[test]
    fn internal_names_become_those_of_java_source() {
        for (internal, name) in [
            ("java/lang/String", "java.lang.String"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("[I", "int[]"),
            ("A$$Lambda+0x00007f", "A$$Lambda.0x00007f"),
            ("[LA$$Lambda+0x00007f;", "A$$Lambda.0x00007f[]"),
            ("A$$Lambda$1/0x00007f", "A$$Lambda$1.0x00007f"),
            ("I", "I"),
        ] {
            assert_eq!(class_name(internal), name);
        }
    }
}
