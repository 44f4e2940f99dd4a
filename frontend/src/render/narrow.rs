//! Tables on terminals that are too narrow for them: texts wrap within their columns, numbers stay
//! whole.

use super::foreign::width;
use super::screen::Align;

/// Fewer columns than these are no room for a text.
const LEAST: usize = 16;
/// The indentation of texts below their numbers, in columns.
const INDENT: &str = "    ";

/// The widths of the columns in `room`: numbers as wide as they are, texts share the rest. `None`
/// if that is too little.
pub fn widths<const N: usize>(
    aligns: [Align; N],
    natural: [usize; N],
    room: usize,
) -> Option<[usize; N]> {
    let is_text = |index: &usize| aligns[*index] == Align::Left;
    let gaps = 2 * N.saturating_sub(1);
    let numbers: usize = (0..N)
        .filter(|index| !is_text(index))
        .map(|index| natural[index])
        .sum();
    let mut left = room.checked_sub(gaps + numbers)?;
    let mut open: Vec<usize> = (0..N).filter(is_text).collect();
    let mut widths = natural;
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

/// The lines of a row.
pub fn wrapped<const N: usize>(
    cells: &[String; N],
    aligns: [Align; N],
    widths: [usize; N],
) -> Vec<String> {
    let parts: Vec<Vec<String>> = (cells.iter().zip(widths))
        .map(|(cell, most)| broken(cell, most))
        .collect();
    let height = parts.iter().map(Vec::len).max().unwrap_or_default();
    let line = |number: usize| {
        let mut line = String::new();
        for (index, (part, most)) in parts.iter().zip(widths).enumerate() {
            let cell = part.get(number).map_or("", String::as_str);
            let space = " ".repeat(most.saturating_sub(width(cell)));
            if index > 0 {
                line.push_str("  ");
            }
            match aligns[index] {
                Align::Right => line.extend([&*space, cell]),
                Align::Left => line.extend([cell, &*space]),
            }
        }
        line.trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

/// The lines of a row whose texts stand below its numbers.
pub fn stacked<const N: usize>(
    cells: &[String; N],
    aligns: [Align; N],
    widths: [usize; N],
    room: usize,
) -> Vec<String> {
    let mut numbers = String::new();
    let mut texts = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        match aligns[index] {
            Align::Right => {
                let space = widths[index].saturating_sub(width(cell));
                let gap = if numbers.is_empty() { 0 } else { 2 };
                numbers.push_str(&" ".repeat(space + gap));
                numbers.push_str(cell);
            }
            Align::Left if cell.is_empty() => {}
            Align::Left => {
                let lines = broken(cell, room.saturating_sub(INDENT.len()).max(1));
                texts.extend(lines.into_iter().map(|line| format!("{INDENT}{line}")));
            }
        }
    }
    let numbers = broken(numbers.trim_end(), room.max(1));
    numbers
        .into_iter()
        .filter(|line| !line.is_empty())
        .chain(texts)
        .collect()
}

/// Splits a text into pieces of at most `width` columns, broken where a name or word ends if there is
/// such a place in the second half.
fn broken(text: &str, most: usize) -> Vec<String> {
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
    fn texts_wrap_within_their_columns() {
        let aligns = [Align::Right, Align::Left, Align::Left];
        let cells = ["1,000", "a.b.LongClassName", "x"].map(str::to_owned);
        let widths = widths(aligns, [5, 17, 1], 26).expect("room");
        assert_eq!(widths, [5, 16, 1]);
        let lines = wrapped(&cells, aligns, widths);
        assert_eq!(lines, ["1,000  a.b.LongClassNam  x", "       e"]);
    }

    #[test]
    fn texts_stand_below_numbers_where_they_have_no_room() {
        let aligns = [Align::Right, Align::Left];
        assert_eq!(widths(aligns, [12, 40], 20), None);
        let cells = ["1".to_owned(), "one two three four".to_owned()];
        let lines = stacked(&cells, aligns, [12, 40], 16);
        assert_eq!(lines, ["           1", "    one two", "    three four"]);
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
