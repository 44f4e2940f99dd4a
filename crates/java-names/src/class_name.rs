//! Class names as Java source has them.

use crate::Primitive;

/// Turns a class name of any producer into the form of Java source: `java/lang/String` into
/// `java.lang.String`, `[[I` into `int[][]`. Names already in that form stay as they are.
pub fn source_form(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return dotted(element);
    }
    let mut source = match element.as_bytes() {
        [b'L', .., b';'] => dotted(&element[1..element.len() - 1]),
        [code] => match Primitive::of_descriptor(*code) {
            Some(primitive) => primitive.name().to_owned(),
            None => return name.to_owned(),
        },
        _ => return name.to_owned(),
    };
    source.push_str(&"[]".repeat(dimensions));
    source
}

/// Slashes to dots, but for the one in front of a hidden class's address.
fn dotted(name: &str) -> String {
    match name.rfind("/0x") {
        Some(at) => name[..at].replace('/', ".") + &name[at..],
        None => name.replace('/', "."),
    }
}
