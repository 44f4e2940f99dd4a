//! Flame graphs, drawn by inferno.

use anyhow::Context;
use hprof_analysis::stacks::{CallTree, Measure};
use inferno::flamegraph::color::{BasicPalette, MultiPalette, Palette};
use inferno::flamegraph::{self, Options};

use super::collapsed;

/// An SVG document that zooms and searches by itself when a browser shows it.
///
/// # Errors
/// If nothing was counted.
pub fn svg(tree: &CallTree, measure: Measure, title: &str) -> anyhow::Result<String> {
    let lines = collapsed::lines(tree);
    let mut options = Options::default();
    options.title = title.to_owned();
    options.subtitle = Some(format!(
        "{}: {} {}",
        measure.title(),
        super::screen::count(tree.total),
        measure.unit()
    ));
    options.count_name = measure.unit().to_owned();
    options.colors = match measure {
        Measure::AllocatedBytes
        | Measure::AllocatedObjects
        | Measure::LiveBytes
        | Measure::LiveObjects => Palette::Basic(BasicPalette::Mem),
        Measure::Contention => Palette::Basic(BasicPalette::Io),
        Measure::Samples | Measure::Time | Measure::Calls => Palette::Multi(MultiPalette::Java),
    };
    // Equal names get equal colours, so that two pictures can be laid side by side.
    options.deterministic = true;
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)
        .context("there is nothing to draw")?;
    Ok(String::from_utf8(picture)?)
}

/// One HTML page with the picture and a table of methods in it, which needs nothing else.
pub fn html(svg: &str, title: &str, table: &str) -> String {
    // A document type and processing instruction may stand in front of the picture.
    let picture = svg.find("<svg").map_or(svg, |start| &svg[start..]);
    let title = escape(title);
    let table = escape(table);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{picture}\n\
         <h2>Methods by their own cost</h2>\n<pre>{table}</pre>\n</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = "\
body { margin: 0; font: 15px/1.4 system-ui, sans-serif; color: #222; background: #fff; }
main { max-width: 1200px; margin: 0 auto; padding: 1rem; }
svg { max-width: 100%; height: auto; border: 1px solid #ddd; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
pre { overflow-x: auto; font-size: 13px; line-height: 1.5; }
";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_analysis::stacks::Node;

    #[test]
    fn pictures_hold_the_methods_and_pages_nothing_from_elsewhere() {
        let node = Node {
            name: "A.<init>".into(),
            own: 5,
            total: 5,
            children: Vec::new(),
        };
        let tree = CallTree {
            total: 5,
            roots: vec![node],
        };
        let svg = svg(&tree, Measure::Samples, "a & b").unwrap();
        assert!(svg.contains("A.&lt;init&gt; (5 samples, 100"), "{svg}");
        assert!(svg.contains("a &amp; b"));
        let page = html(&svg, "a & b", "x < y");
        assert!(page.contains("<title>a &amp; b</title>"));
        assert!(page.contains("x &lt; y"));
        assert!(!page.contains("src=") && !page.contains("<?xml"), "{page}");
    }

    #[test]
    fn nothing_cannot_be_drawn() {
        let tree = CallTree {
            total: 0,
            roots: Vec::new(),
        };
        assert!(svg(&tree, Measure::Samples, "nothing").is_err());
    }
}
