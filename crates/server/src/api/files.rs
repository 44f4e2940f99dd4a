//! Files as answers, a piece at a time.

use std::io::SeekFrom;
use std::path::Path;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use crate::problem::Problem;

/// The bytes in memory for each answer.
const PIECE: u64 = 64 << 10;

/// A file for looking at.
///
/// # Errors
/// If it is not there.
pub(super) async fn show(path: &Path, kind: &'static str) -> Result<Response, Problem> {
    let (file, length) = open(path).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_LENGTH, length.into()),
    ];
    Ok((headers, body(file, length)).into_response())
}

/// A file for keeping under a name, or the range of it that is asked for.
///
/// # Errors
/// If it is not there, or has no such range.
pub(super) async fn download(
    path: &Path,
    name: &str,
    asked: &HeaderMap,
) -> Result<Response, Problem> {
    let (mut file, length) = open(path).await?;
    let range = asked.get(header::RANGE).and_then(|it| it.to_str().ok());
    let range = range.and_then(|text| parse_range(text, length));
    let (start, end) = match range {
        None => (0, length),
        Some(Some(range)) => range,
        Some(None) => {
            return Err(Problem::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                "no-such-range",
                "There is no such range",
                format!("the file has {length} bytes"),
            ));
        }
    };
    let moved = file.seek(SeekFrom::Start(start)).await;
    moved.map_err(Problem::internal)?;
    let mut response = kept(body(file, end - start), name);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, (end - start).into());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if range.is_some() {
        let shown = format!("bytes {start}-{}/{length}", end.saturating_sub(1));
        if let Ok(value) = HeaderValue::from_str(&shown) {
            headers.insert(header::CONTENT_RANGE, value);
        }
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Bytes for keeping under a name.
pub(super) fn keep(bytes: Vec<u8>, name: &str) -> Response {
    kept(Body::from(bytes), name)
}

fn kept(body: Body, name: &str) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    if let Ok(value) = HeaderValue::from_str(&disposition(name)) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

async fn open(path: &Path) -> Result<(File, u64), Problem> {
    let file = File::open(path).await;
    let file = file.map_err(|_| Problem::not_found("there is no such file of this dump"))?;
    let about = file.metadata().await.map_err(Problem::internal)?;
    Ok((file, about.len()))
}

fn body(file: File, length: u64) -> Body {
    Body::from_stream(stream::try_unfold(
        (file, length),
        |(mut file, left)| async move {
            if left == 0 {
                return Ok::<_, std::io::Error>(None);
            }
            let mut piece = vec![0; left.min(PIECE) as usize];
            let read = file.read(&mut piece).await?;
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            piece.truncate(read);
            Ok(Some((Bytes::from(piece), (file, left - read as u64))))
        },
    ))
}

/// The bytes that a range stands for: none if this is no single range, which may be passed over
/// (RFC 9110, 14.2), and nothing within if the file has no such bytes.
fn parse_range(text: &str, length: u64) -> Option<Option<(u64, u64)>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        let last: u64 = last.parse().ok()?;
        let start = length.saturating_sub(last);
        return Some((start < length).then_some((start, length)));
    }
    let start: u64 = first.parse().ok()?;
    let end = match last {
        "" => length,
        last => last.parse::<u64>().ok()?.saturating_add(1).min(length),
    };
    Some((start < end).then_some((start, end)))
}

/// A header that names the file to be kept (RFC 6266), whatever is in the name.
fn disposition(name: &str) -> String {
    let mut text = String::from("attachment; filename*=UTF-8''");
    for byte in name.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'-' | b'_' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_standard() {
        for (text, range) in [
            ("bytes=0-9", Some(Some((0, 10)))),
            ("bytes=5-", Some(Some((5, 100)))),
            ("bytes=-10", Some(Some((90, 100)))),
            ("bytes=90-1000", Some(Some((90, 100)))),
            ("bytes=100-", Some(None)),
            ("bytes=-0", Some(None)),
            ("bytes=1-2,5-6", None),
            ("lines=1-2", None),
        ] {
            assert_eq!(parse_range(text, 100), range, "{text}");
        }
    }

    #[test]
    fn a_name_cannot_end_the_header() {
        assert_eq!(
            disposition("a\"b\r\nX: ä"),
            "attachment; filename*=UTF-8''a%22b%0D%0AX%3A%20%C3%A4"
        );
    }
}
