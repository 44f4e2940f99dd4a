//! Tables on terminals that are too narrow for them: texts wrap within their columns, numbers stay
//! whole.

use super::foreign::width;
use super::table::Align;

/// Fewer columns than these are no room for a text.
const LEAST: usize = 16;
/// The indentation of texts below their numbers, in columns.
const INDENT: &str = "    ";

/// The widths of the columns in `room`: numbers as wide as they are, texts share the rest. `None`
/// if that is too little.
pub fn widths(aligns: &[Align], natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let is_text = |index: &usize| aligns[*index] == Align::Left;
    let count = aligns.len();
    let gaps = 2 * count.saturating_sub(1);
    let numbers: usize = (0..count)
        .filter(|index| !is_text(index))
        .map(|index| natural[index])
        .sum();
    let mut left = room.checked_sub(gaps + numbers)?;
    let mut open: Vec<usize> = (0..count).filter(is_text).collect();
    let mut widths = natural.to_vec();
    while !open.is_empty() {
        let fair = left / open.len();
        let before = open.len();
        open.retain(|&index| {
            let fits = natural[index] <= fair;
            if fits {
                left -= natural[index];
            }
            !fits
        });
        if open.len() == before {
            if fair < LEAST {
                return None;
            }
            for index in open.drain(..) {
                widths[index] = fair;
            }
        }
    }
    Some(widths)
}

/// The numbers of a row in a line that is already set, and its texts below, each set in.
pub fn below(numbers: &str, texts: impl Iterator<Item = String>, room: usize) -> Vec<String> {
    let numbers = broken(numbers, room.max(1));
    let texts = texts.filter(|text| !text.is_empty()).flat_map(|text| {
        let lines = broken(&text, room.saturating_sub(INDENT.len()).max(1));
        lines.into_iter().map(|line| format!("{INDENT}{line}"))
    });
    let numbers = numbers.into_iter().filter(|line| !line.is_empty());
    numbers.chain(texts).map(|line| line + "\n").collect()
}

/// Splits a text into pieces of at most `width` columns, broken where a name or word ends if there is
/// such a place in the second half.
pub fn broken(text: &str, most: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut columns = 0;
    // Where the piece may end, and its columns up to there.
    let mut end = None;
    for c in text.chars() {
        let mut taken = [0; 4];
        let takes = width(c.encode_utf8(&mut taken));
        if columns + takes > most && columns > 0 {
            let rest = match end {
                Some((at, before)) if 2 * before >= most => piece.split_off(at),
                _ => String::new(),
            };
            pieces.push(piece.trim_end().to_owned());
            columns = width(&rest);
            piece = rest;
            end = None;
        }
        piece.push(c);
        columns += takes;
        if matches!(c, ' ' | '.' | ',' | ';' | '/' | '$' | ')') {
            end = Some((piece.len(), columns));
        }
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_share_what_numbers_leave() {
        let aligns = [Align::Right, Align::Left, Align::Left];
        assert_eq!(widths(&aligns, &[5, 17, 1], 26), Some(vec![5, 16, 1]));
        assert_eq!(widths(&[Align::Right, Align::Left], &[12, 40], 20), None);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_too_wide(text in "[a-z. ]{0,80}", most in 1usize..30) {
            let pieces = broken(&text, most);
            prop_assert!(pieces.iter().all(|piece| width(piece) <= most), "{pieces:?}");
            let dense = |text: &str| text.replace(' ', "");
            prop_assert_eq!(dense(&pieces.concat()), dense(&text));
        }
    }
}
