//! Class names as Java source has them.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use hprof_java_names::Primitive;
use hprof_stacks::family;

use crate::options::Format;

/// Says whether the names of lambdas and hidden classes keep their numbers and addresses, which differ
/// from run to run. Text is for people, who compare runs; binary files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenNames {
    /// They keep them.
    Whole,
    /// `App$$Lambda$14.0x0800` is `App$$Lambda`.
    Families,
}

/// True once a name was shortened.
static SHORTENED: AtomicBool = AtomicBool::new(false);

impl HiddenNames {
    /// The names in files of a format.
    pub fn of(format: Format) -> Self {
        match format {
            Format::Text => Self::Families,
            Format::Binary => Self::Whole,
        }
    }

    /// The name as files have it.
    pub fn shown(self, name: String) -> String {
        let family = match self {
            Self::Whole => return name,
            Self::Families => match family(&name) {
                Cow::Borrowed(_) => return name,
                Cow::Owned(family) => family,
            },
        };
        SHORTENED.store(true, Ordering::Relaxed);
        family
    }

    /// A remark on names that were shortened, if there are any.
    pub fn remark() -> Option<&'static str> {
        SHORTENED.load(Ordering::Relaxed).then_some(
            "hprof-rs: lambdas and hidden classes have no numbers and addresses in tables and \
             traces (format=b keeps them)",
        )
    }
}

/// Turns a signature (JVM specification, 4.3.2) into the name that HPROF prints:
/// `[[I` is `int[][]`, `Ljava/util/Map$Entry;` is `java.util.Map$Entry`. Hidden
/// classes keep the dot and suffix that the VM puts into their signature.
pub fn java_class_name(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let dimensions = signature.len() - element.len();
    let mut name = match element {
        "V" => "void".to_owned(),
        _ => match Primitive::of_signature(element) {
            Some(primitive) => primitive.name().to_owned(),
            None => element
                .strip_prefix('L')
                .and_then(|rest| rest.strip_suffix(';'))
                .map_or_else(
                    || "Unknown_class".to_owned(),
                    |inner| inner.replace('/', "."),
                ),
        },
    };
    for _ in 0..dimensions {
        name.push_str("[]");
    }
    name
}

/// The signature of a class (JVM specification, 4.3.2) from its name.
pub fn class_signature(class: &str) -> String {
    let element = class.trim_end_matches("[]");
    let dimensions = (class.len() - element.len()) / 2;
    let mut signature = "[".repeat(dimensions);
    match Primitive::of_name(element) {
        Some(primitive) if dimensions > 0 => signature.push(char::from(primitive.descriptor())),
        _ => {
            signature.push('L');
            signature.push_str(&element.replace('.', "/"));
            signature.push(';');
        }
    }
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_become_names() {
        for (signature, name) in [
            ("Ljava/lang/String;", "java.lang.String"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[I", "int[][]"),
            ("Z", "boolean"),
            ("La$b;", "a$b"),
            (
                "LSpin$$Lambda$1.0x00007f29d8000a08;",
                "Spin$$Lambda$1.0x00007f29d8000a08",
            ),
            ("", "Unknown_class"),
            ("Lx", "Unknown_class"),
            ("[", "Unknown_class[]"),
        ] {
            assert_eq!(java_class_name(signature), name);
        }
    }

    #[test]
    fn hidden_classes_lose_their_addresses_in_text_only() {
        let name = || "Spin$$Lambda$1.0x00007f29d8000a08[]".to_owned();
        assert_eq!(HiddenNames::Whole.shown(name()), name());
        assert_eq!(HiddenNames::Families.shown(name()), "Spin$$Lambda[]");
        let plain = "a.B$1".to_owned();
        assert_eq!(HiddenNames::Families.shown(plain.clone()), plain);
    }

    #[test]
    fn names_become_signatures() {
        assert_eq!(class_signature("java.lang.Object"), "Ljava/lang/Object;");
        assert_eq!(class_signature("int[]"), "[I");
        assert_eq!(
            class_signature("java.lang.Object[][]"),
            "[[Ljava/lang/Object;"
        );
    }
}
