//! Flame graphs, drawn by inferno.

use std::io;

use inferno::flamegraph::color::{BackgroundColor, Color, StrokeColor};
use inferno::flamegraph::{self, Options};

use super::profile::View;
use super::{collapsed, colours, numbers};

/// How a flame graph is drawn.
#[derive(Debug, Clone, Default)]
pub struct Drawing {
    /// The title above the picture; none in a page that has its own.
    pub title: String,
    /// The line below the title.
    pub subtitle: String,
    /// True to have the outermost method on top.
    pub is_icicle: bool,
    /// Remarks that become a comment of the document.
    pub notes: String,
}

impl Drawing {
    /// The usual picture of a view.
    pub fn of(view: &View, title: &str, remarks: &[String]) -> Self {
        let total = numbers::count(view.tree.total);
        Self {
            title: title.to_owned(),
            subtitle: format!("{}: {total} {}", view.title, view.unit),
            is_icicle: false,
            // Two hyphens would end the comment.
            notes: remarks.join("\n").replace("--", "- -"),
        }
    }
}

/// An SVG document that zooms and searches by itself when a browser shows it.
///
/// # Errors
/// If nothing was counted.
pub fn svg(view: &View, drawing: &Drawing) -> io::Result<String> {
    let mut palette = colours::of(&view.tree, view.ends_in_class);
    let lines = collapsed::lines(&view.tree);
    let mut options = options(drawing, &view.unit);
    options.palette_map = Some(&mut palette);
    draw(&mut options, &lines)
}

/// A flame graph of the second of two profiles in which frames are red that cost more than in the
/// first, and blue that cost less. `lines` are those of [`collapsed::differential`].
///
/// # Errors
/// If the second profile counted nothing.
pub fn differential(lines: &[String], unit: &str, drawing: &Drawing) -> io::Result<String> {
    let mut options = options(drawing, unit);
    // Frames that have not changed are nearly white.
    options.stroke_color = StrokeColor::Color(Color::new(205, 205, 205));
    draw(&mut options, lines)
}

/// The picture of a profile that counted nothing.
pub fn empty(title: &str) -> String {
    let title = super::page::escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"60\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <text x=\"12\" y=\"36\" font-family=\"monospace\" font-size=\"13\">{title}: nothing was \
         counted</text></svg>\n"
    )
}

fn options(drawing: &Drawing, unit: &str) -> Options<'static> {
    let mut options = Options::default();
    options.title = drawing.title.clone();
    options.subtitle = Some(drawing.subtitle.clone());
    options.count_name = unit.to_owned();
    options.name_type = String::new();
    options.notes = drawing.notes.clone();
    options.bgcolors = Some(BackgroundColor::Flat(Color::new(255, 255, 255)));
    options.font_type = "monospace".to_owned();
    options.deterministic = true;
    if drawing.is_icicle {
        options.direction = flamegraph::Direction::Inverted;
    }
    options
}

fn draw(options: &mut Options<'_>, lines: &[String]) -> io::Result<String> {
    let mut picture = Vec::new();
    flamegraph::from_lines(options, lines.iter().map(String::as_str), &mut picture)?;
    let picture = String::from_utf8(picture).map_err(io::Error::other)?;
    // The drawing follows the reader's choice of a light or dark screen.
    Ok(picture.replacen("</style>", &format!("{DARK}</style>"), 1))
}

const DARK: &str = "\
#search { opacity:0.6; }
#subtitle { fill:rgb(110,110,110); }
@media (prefers-color-scheme: dark) {
svg > rect { fill:#1b1c1f; }
#title, #details, #search, #matched, #unzoom { fill:#e3e3e6; }
#subtitle { fill:#9a9aa2; }
#frames rect { filter:brightness(0.86); }
#frames > *:hover { stroke:white; }
}
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::profile::Words;
    use crate::{CallTree, Measure};

    fn view(paths: &[(&[&str], u64)]) -> View {
        View {
            measure: None,
            title: "CPU samples".to_owned(),
            unit: "samples".to_owned(),
            ends_in_class: false,
            tree: CallTree::from_paths(paths.iter().map(|(path, n)| (path.to_vec(), *n))),
            words: Words::of(Measure::Samples),
            has_threads: false,
            answer: Default::default(),
            idle: None,
        }
    }

    #[test]
    fn pictures_hold_the_methods() {
        let view = view(&[(&["A.<init>"], 5)]);
        let remarks = ["lost -- 5 --> none".to_owned()];
        let svg = svg(&view, &Drawing::of(&view, "a & b", &remarks)).unwrap();
        assert!(svg.contains("A.&lt;init&gt; (5 samples, 100"), "{svg}");
        assert!(svg.contains("a &amp; b"));
        assert!(svg.contains("prefers-color-scheme"));
    }

    #[test]
    fn nothing_cannot_be_drawn() {
        let view = view(&[]);
        assert!(svg(&view, &Drawing::default()).is_err());
    }

    #[test]
    fn what_has_grown_is_red_and_what_has_shrunk_blue() {
        let before = view(&[(&["A.a", "B.b"], 10), (&["A.a", "C.c"], 10)]).tree;
        let after = view(&[(&["A.a", "B.b"], 15), (&["A.a", "C.c"], 5)]).tree;
        let lines = collapsed::differential(&before, &after);
        let svg = differential(&lines, "samples", &Drawing::default()).unwrap();
        let colour_of = |name: &str| {
            let at = svg.find(&format!("<title>{name} ")).expect(name);
            let fill = svg[at..].split("fill=\"rgb(").nth(1).unwrap();
            let colour: Vec<u8> = fill
                .split(')')
                .next()
                .unwrap()
                .split(',')
                .map(|part| part.trim().parse().unwrap())
                .collect();
            (colour[0], colour[2])
        };
        assert!(matches!(colour_of("B.b"), (255, blue) if blue < 200));
        assert!(matches!(colour_of("C.c"), (red, 255) if red < 200));
    }
}
