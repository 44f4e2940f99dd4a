//! The types of values: code and width as `BasicType` of HotSpot (`globalDefinitions.hpp`) and the HPROF manual have
//! them.

use std::fmt::Write as _;

use hprof_format::binary::{BasicType, IdSize};

/// Code, name and bytes by width of identifiers, as the descriptions have them.
const DESCRIBED: [(u8, &str, [usize; 2]); 9] = [
    (2, "object", [4, 8]),
    (4, "boolean", [1, 1]),
    (5, "char", [2, 2]),
    (6, "float", [4, 4]),
    (7, "double", [8, 8]),
    (8, "byte", [1, 1]),
    (9, "short", [2, 2]),
    (10, "int", [4, 4]),
    (11, "long", [8, 8]),
];

fn is_so(code: u8, name: &str, widths: [usize; 2]) -> bool {
    let found = BasicType::from_code(code);
    let sizes = [IdSize::Four, IdSize::Eight];
    found.is_some_and(|found| {
        found.code() == code
            && found.name().eq_ignore_ascii_case(name)
            && sizes.map(|size| found.width(size)) == widths
    })
}

/// The table; a row whose type is not as described has a mark that the test refuses.
pub fn table() -> String {
    let mut text = "\n## Types of values\n\n| Code | Type | Bytes, id 4 | Bytes, id 8 | Read |\n|---|---|---|---|---|\n".to_owned();
    for (code, name, widths) in DESCRIBED {
        let mark = match is_so(code, name, widths) {
            true => "\u{2713}",
            false => "**wrong**",
        };
        let [four, eight] = widths;
        writeln!(text, "| {code} | {name} | {four} | {eight} | {mark} |")
            .expect("strings take all");
    }
    let others = (0..=u8::MAX).filter(|&code| code != 1 && DESCRIBED.iter().all(|it| it.0 != code));
    let refused = others
        .clone()
        .all(|code| BasicType::from_code(code).is_none());
    let mark = if refused { "refused" } else { "**wrong**" };
    writeln!(
        text,
        "| others | none | | | {mark}; 1, an array in the manual, is read as a reference |"
    )
    .expect("strings take all");
    text
}
