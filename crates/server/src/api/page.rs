//! The page: files of `crates/server/web/dist`, which lie inside the command.
//!
//! A path means one thing, in one form: each character as it is, and a slash between two names. Other
//! forms of it are other paths, so that what a proxy forbids is forbidden.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{LazyLock, OnceLock};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, include_dir};

use crate::problem::Problem;

static DIST: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/web/dist");
static ASSETS: LazyLock<HashMap<&'static str, Asset>> = LazyLock::new(assets);

/// The file that the page's own router is in.
const PAGE: &str = "index.html";
/// Names below `/assets` have a hash of their content in them.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// The addresses of the page's views: names, and `*` for whatever a view takes. The page's own router
/// (`View` in web/src/app.tsx) has the same.
const VIEWS: [&[&str]; 10] = [
    &[],
    &["dumps", "*"],
    &["dumps", "*", "*"],
    &["dumps", "*", "*", "*"],
    &["compare", "*"],
    &["fleet"],
    &["fleet", "*"],
    &["continuous"],
    &["jvms", "*"],
    &["jvms", "*", "*"],
];

/// The first names of paths for programs, which get problems in JSON.
const FOR_PROGRAMS: [&str; 7] = [
    "api",
    "assets",
    "metrics",
    "healthz",
    "v1development",
    "ingest",
    "push.v1.PusherService",
];

/// A file of the page.
struct Asset {
    bytes: &'static [u8],
    kind: &'static str,
    cache: &'static str,
    /// Compressed once, for all visitors: each would cost milliseconds and a quarter of a megabyte.
    packed: OnceLock<Option<Bytes>>,
}

/// The files by their paths, without the first slash.
fn assets() -> HashMap<&'static str, Asset> {
    let mut found = HashMap::new();
    let mut folders = vec![&DIST];
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        for file in folder.files() {
            let Some(path) = file.path().to_str() else {
                continue;
            };
            let asset = Asset {
                bytes: file.contents(),
                kind: media_type(path),
                cache: match path.starts_with("assets/") {
                    true => FOREVER,
                    false => "no-cache",
                },
                packed: OnceLock::new(),
            };
            found.insert(path, asset);
        }
    }
    found
}

/// Answers a path that is no other route: a file of the page, or the page itself where it has a view.
pub(super) async fn serve(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().strip_prefix('/').unwrap_or_default();
    let is_view = is_view(path);
    let file = match is_view {
        true => ASSETS.get(PAGE),
        false => ASSETS.get(path),
    };
    let is_get = matches!(method, Method::GET | Method::HEAD);
    let Some(file) = file else {
        let mut missing = Problem::not_found(format!("there is no {}", uri.path())).into_response();
        if is_get
            && !is_for_programs(path)
            && accepts(&headers, header::ACCEPT, "text/html")
            && let Some(page) = ASSETS.get(PAGE)
        {
            missing = page.answer(&headers);
            *missing.status_mut() = StatusCode::NOT_FOUND;
        }
        return missing;
    };
    if is_get {
        return file.answer(&headers);
    }
    let refusal = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "The method is not allowed",
        format!("{method} means nothing here; the API is below /api/v1"),
    );
    ([(header::ALLOW, "GET,HEAD")], refusal).into_response()
}

/// True if the page has a view at a path.
pub(super) fn is_view(path: &str) -> bool {
    let names = || path.split('/').filter(|_| !path.is_empty());
    VIEWS.iter().any(|view| {
        names().count() == view.len()
            && names()
                .zip(*view)
                .all(|(name, known)| name == *known || (*known == "*" && !name.is_empty()))
    })
}

/// True if a path looks like one for programs, in whatever form.
fn is_for_programs(path: &str) -> bool {
    let plain = percent_decoded(path).to_ascii_lowercase();
    let first = plain.split(['/', '\\']).find(|name| !name.is_empty());
    // A name of the page has letters only.
    first.is_none_or(|first| FOR_PROGRAMS.contains(&first.trim()))
}

/// A path with the characters that its escapes stand for, also those that are escaped again.
fn percent_decoded(path: &str) -> String {
    let mut decoded = Vec::with_capacity(path.len());
    let digit = |byte: u8| char::from(byte).to_digit(16);
    for byte in path.bytes() {
        decoded.push(byte);
        while let [.., b'%', high, low] = decoded[..]
            && let (Some(high), Some(low)) = (digit(high), digit(low))
        {
            decoded.truncate(decoded.len() - 3);
            decoded.push((16 * high + low) as u8);
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// True if a header that lists what its sender takes has a word.
fn accepts(headers: &HeaderMap, name: header::HeaderName, word: &str) -> bool {
    let lists = headers.get_all(name);
    let lists = lists.iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let is_it = parts.next().is_some_and(|it| it.eq_ignore_ascii_case(word));
        let quality = parts.find_map(|part| part.strip_prefix("q="));
        is_it && quality.is_none_or(|quality| quality.parse::<f32>().is_ok_and(|it| it > 0.0))
    })
}

impl Asset {
    fn answer(&'static self, headers: &HeaderMap) -> Response {
        let takes_gzip = accepts(headers, header::ACCEPT_ENCODING, "gzip");
        let packed = self.packed().filter(|_| takes_gzip);
        let mut response = match packed {
            Some(packed) => packed.clone().into_response(),
            None => Bytes::from_static(self.bytes).into_response(),
        };
        let is_packed = packed.is_some();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(self.cache));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if is_packed {
            let gzip = HeaderValue::from_static("gzip");
            headers.insert(header::CONTENT_ENCODING, gzip);
        }
        response
    }

    /// The file compressed, if that makes it smaller.
    fn packed(&'static self) -> Option<&'static Bytes> {
        let pack = || {
            let mut packer = GzEncoder::new(Vec::new(), Compression::best());
            // Writing to memory cannot fail.
            packer.write_all(self.bytes).ok()?;
            let packed = packer.finish().ok()?;
            (packed.len() < self.bytes.len()).then(|| Bytes::from(packed))
        };
        self.packed.get_or_init(pack).as_ref()
    }
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "webmanifest") => "application/json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::super::guard::HEALTH;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_view_has_one_address_in_one_form() {
        for path in [
            "",
            "dumps/0a1b2c3d4e5f6071",
            "dumps/0a1b/histogram",
            "dumps/0a1b/classes/java.lang.String",
            "compare/histogram",
            "fleet",
            "fleet/services",
            "continuous",
            "jvms/7",
            "jvms/docker%3A7/flame",
        ] {
            assert!(is_view(path), "{path}");
        }
        for path in [
            "dumps",
            "dumps/",
            "Fleet",
            "fleet/",
            "/fleet",
            "fl%65et",
            "dumps//histogram",
            "dumps/a/b/c/d",
            "jvms/7/flame/",
            "nothing",
            "*",
        ] {
            assert!(!is_view(path), "{path}");
        }
    }

    /// The first names of the views in the page's own router are those of the table.
    #[test]
    fn the_page_and_the_table_have_the_same_views() {
        let source = include_str!("../../web/src/app.tsx");
        let mut pieces = source.split("parts[0] === \"").skip(1);
        let names = pieces.by_ref().filter_map(|piece| piece.split('"').next());
        let of_page: BTreeSet<&str> = names.collect();
        let of_table = VIEWS.iter().filter_map(|view| view.first().copied());
        let of_table: BTreeSet<&str> = of_table.collect();
        assert_eq!(of_page, of_table);
    }

    #[test]
    fn forms_of_paths_for_programs_are_known() {
        for path in [
            "api",
            "API/v1/dumps",
            "%61pi/v1",
            "%2561pi",
            "/api/v1",
            "healthz/",
            "%2Fmetrics",
            "assets/nothing.js",
            "\\api",
            "/",
        ] {
            assert!(is_for_programs(path), "{path}");
        }
        for path in ["apiary", "nothing", "fleet/", "%zz"] {
            assert!(!is_for_programs(path), "{path}");
        }
        assert_eq!(&HEALTH[1..], "healthz");
    }

    #[test]
    fn lists_of_what_is_taken_are_read() {
        let takes = |list: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, list.parse().unwrap());
            accepts(&headers, header::ACCEPT_ENCODING, "gzip")
        };
        assert!(takes("br, GZIP;q=0.5") && takes("gzip"));
        assert!(!takes("gzip;q=0") && !takes("identity") && !takes("gzipped"));
    }
}
