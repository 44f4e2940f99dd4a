//! Tells dumps that a transfer as text has changed.

use super::Contents;

/// As much as is looked at, and the changed places that tell a transfer: other dumps have both kinds of bytes.
const LOOKED_AT: usize = 1 << 20;
const PLACES: usize = 16;

/// The character that stands for bytes that are no text, in UTF-8.
const REPLACED: &[u8] = b"\xef\xbf\xbd";

/// Why a dump is damaged, if the damage is that of a transfer as text.
fn reason(file: &[u8]) -> Option<&'static str> {
    let file = &file[..file.len().min(LOOKED_AT)];
    let feeds = file.iter().filter(|&&byte| byte == b'\n').count();
    let pairs = file.windows(2).filter(|at| at == b"\r\n").count();
    if feeds >= PLACES && pairs == feeds {
        return Some(
            "every line feed has a carriage return before it: the file went through a transfer as text, such as \
             FTP without `binary` or a terminal; copy it again in binary mode",
        );
    }
    let replaced = file.windows(3).filter(|at| *at == REPLACED).count();
    let high = file.iter().filter(|&&byte| byte >= 0x80).count();
    (replaced >= PLACES && replaced * 3 * 10 >= high * 9).then_some(
        "bytes that are no text were replaced: the file was read and written as text; copy it again in binary mode",
    )
}

/// Explains the damage of a binary file, if a transfer did it.
pub(super) fn explain(file: &[u8], contents: &mut Contents) {
    if !contents.damage.is_empty()
        && let Some(reason) = reason(file)
    {
        contents.damage.note_first(reason.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_as_text_are_told_by_their_marks() {
        let dump: Vec<u8> = (0..20_000_u32)
            .flat_map(|it| (it * 7919).to_be_bytes())
            .collect();
        assert_eq!(reason(&dump), None);
        let feeds: Vec<u8> = dump
            .iter()
            .flat_map(|&byte| {
                if byte == b'\n' {
                    b"\r\n".to_vec()
                } else {
                    vec![byte]
                }
            })
            .collect();
        assert!(reason(&feeds).is_some_and(|it| it.contains("carriage return")));
        let replaced = String::from_utf8_lossy(&dump).into_owned();
        let kept: String = replaced
            .chars()
            .filter(|it| it.is_ascii() || *it == '\u{fffd}')
            .collect();
        assert!(reason(kept.as_bytes()).is_some_and(|it| it.contains("read and written as text")));
        assert_eq!(reason(b""), None);
    }
}
