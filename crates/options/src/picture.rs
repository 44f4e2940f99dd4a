//! Output files that are pictures, or files for other viewers.

use std::path::{Path, PathBuf};

use hprof_format::rank::Cutoff;

use crate::name_end::{split, with_pid};

/// The default of `depth` for pictures, which four frames would leave without a bottom.
pub const PICTURE_DEPTH: u32 = 64;

/// The default of `cutoff` for pictures of counted calls, of which most paths cost nothing. For
/// other pictures it is 0.
pub const PICTURE_CALLS_CUTOFF: Cutoff = Cutoff::below(0.000_001);

/// The kind of picture that the name of an output file selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// A page with flame graphs and tables: `.html`.
    Html,
    /// A flame graph: `.svg`.
    Svg,
    /// Lines of stacks for flame graph tools: `.collapsed`, `.folded`.
    Collapsed,
    /// Gzipped Protocol Buffers for pprof: `.pb.gz`, `.pprof`.
    Pprof,
    /// JSON for speedscope: `.speedscope.json`.
    Speedscope,
}

/// The ends of names.
pub const ENDS: [(&str, Picture); 8] = [
    (".html", Picture::Html),
    (".htm", Picture::Html),
    (".svg", Picture::Svg),
    (".collapsed", Picture::Collapsed),
    (".folded", Picture::Collapsed),
    (".pb.gz", Picture::Pprof),
    (".pprof", Picture::Pprof),
    (".speedscope.json", Picture::Speedscope),
];

impl Picture {
    /// The kind that the name of a file selects.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        split(path, &ENDS).map(|(_, _, picture)| picture)
    }
}

/// Endings of other tools' formats and of compressed files. A file with such a name would be opened
/// with the wrong tool; any other ending is allowed.
const FOREIGN: [&str; 34] = [
    "json", "jfr", "csv", "tsv", "xml", "yaml", "yml", "md", "pdf", "png", "jpg", "jpeg", "gif",
    "webp", "svgz", "gz", "zip", "zst", "xz", "bz2", "lz4", "7z", "tar", "tgz", "jar", "pb", "phd",
    "nps", "nfx", "snapshot", "jps", "sqlite", "parquet", "js",
];

/// The end of a file's name, with its dot, if it names a format that the agent does not write.
pub(super) fn foreign_end(path: &Path) -> Option<String> {
    let end = path.extension()?.to_str()?;
    let is_foreign = FOREIGN.iter().any(|it| it.eq_ignore_ascii_case(end));
    is_foreign.then(|| format!(".{end}"))
}

/// The name that `force=n` takes when a picture of the name `path` exists already: `cpu.html`
/// becomes `cpu.9128.html`.
#[must_use]
pub fn unique_picture_name(path: &Path, pid: u32) -> PathBuf {
    with_pid(path, &ENDS, pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_pictures() {
        for (name, picture) in [
            ("a.html", Some(Picture::Html)),
            ("d/a.b.SVG", Some(Picture::Svg)),
            ("a.collapsed", Some(Picture::Collapsed)),
            ("a.pb.gz", Some(Picture::Pprof)),
            ("a.speedscope.json", Some(Picture::Speedscope)),
            ("a.json", None),
            ("java.hprof.txt", None),
            (".svg", None),
            ("a.svg/b", None),
        ] {
            assert_eq!(Picture::of_name(Path::new(name)), picture, "{name}");
        }
    }

    #[test]
    fn formats_of_other_tools_are_known_by_their_names() {
        for name in ["a.json", "d/a.JFR", "a.hprof.gz", "a.pb", "a.svg.zip"] {
            assert!(foreign_end(Path::new(name)).is_some(), "{name}");
        }
        for name in [
            "app",
            "app.txt",
            "app.hprof",
            "java.hprof",
            "profile.out",
            "a.log",
            "a.2024-01-31",
            "app.9128",
            "a.json/b",
            ".json",
            "json",
            "a.",
            "java.hprof.txt.TMP",
            "x.%d",
        ] {
            assert_eq!(foreign_end(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn another_name_keeps_its_end() {
        let unique = |name: &str| unique_picture_name(Path::new(name), 77);
        assert_eq!(unique("d.x/a.pb.gz"), Path::new("d.x/a.77.pb.gz"));
        assert_eq!(unique("a.SVG"), Path::new("a.77.SVG"));
    }
}
