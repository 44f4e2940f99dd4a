//! Class names that are the same in every run.

use std::borrow::Cow;

/// The name without what differs from run to run: the address of a hidden class and the number
/// of a lambda's class. `App$$Lambda$14/0x0000000800c03000` becomes `App$$Lambda`.
pub fn family(name: &str) -> Cow<'_, str> {
    let element = name.trim_end_matches("[]");
    let suffix = &name[element.len()..];
    // HotSpot writes the slash or plus, JVMTI's signatures give a dot.
    let base = match element.rsplit_once(['/', '+', '.']) {
        Some((base, number)) if is_number(number) => base,
        _ => element,
    };
    let base = match base.find("$$Lambda$") {
        Some(at) => &base[..at + "$$Lambda".len()],
        None => base,
    };
    if base.len() == element.len() {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{base}{suffix}"))
    }
}

/// An address, or the hash that JDK 8 and 11 number their anonymous classes with.
fn is_number(text: &str) -> bool {
    text.starts_with("0x") || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_the_same_in_every_run() {
        for (name, expected) in [
            ("a.App$$Lambda$14/0x0800", "a.App$$Lambda"),
            ("a.App$$Lambda+0x0800", "a.App$$Lambda"),
            ("a.App$$Lambda/0x0800[]", "a.App$$Lambda[]"),
            (
                "java.lang.invoke.LambdaForm$MH/0x1",
                "java.lang.invoke.LambdaForm$MH",
            ),
            ("a.LambdaForm$MH.284720968", "a.LambdaForm$MH"),
            ("a.LambdaForm$MH/284720968[]", "a.LambdaForm$MH[]"),
            ("a.App$$Lambda$14/0x0800c03000@123", "a.App$$Lambda"),
            ("a.App$$Lambda$14/1234", "a.App$$Lambda"),
            ("a.B$1", "a.B$1"),
            ("a.", "a."),
            ("a.B$$Lambda$1.0x00007f29d8000a08", "a.B$$Lambda"),
        ] {
            assert_eq!(family(name), expected);
        }
    }
}
