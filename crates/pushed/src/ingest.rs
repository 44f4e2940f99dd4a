//! Pyroscope's `/ingest`: a file of a profile, with its name and time in the query
//! (<https://grafana.com/docs/pyroscope/latest/reference-server-api/>).

use std::io::Read;

use flate2::read::MultiGzDecoder;
use hprof_foreign::{Kind as Format, Profile};
use serde::{Deserialize, Serialize};

use crate::MAX_UNPACKED;
use crate::batch::{At, Batch, EMPTY, FUTURE, SERVICE, series};
use crate::kind;

/// The parameters of the query that count.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ingest {
    /// The service with its labels: `shop.cpu{host=a}`.
    #[serde(default)]
    pub name: String,
    /// The first second.
    pub from: Option<String>,
    /// The second after the last.
    pub until: Option<String>,
}

/// Endings of names that say what is counted. The file says it too.
const KINDS: [&str; 14] = [
    "cpu",
    "itimer",
    "wall",
    "alloc",
    "alloc_objects",
    "alloc_space",
    "alloc_in_new_tlab_bytes",
    "alloc_in_new_tlab_objects",
    "inuse_objects",
    "inuse_space",
    "live",
    "lock",
    "lock_count",
    "lock_duration",
];

/// Deeper stacks lose their outermost frames.
const MAX_DEPTH: usize = 2048;

/// Labels of OpenTelemetry whose names Pyroscope cannot have.
const KNOWN: [&str; 14] = [
    "service.name",
    "service.namespace",
    "service.version",
    "service.instance.id",
    "host.name",
    "process.pid",
    "container.id",
    "container.name",
    "k8s.pod.name",
    "k8s.namespace.name",
    "k8s.node.name",
    "k8s.deployment.name",
    "deployment.environment",
    "deployment.environment.name",
];

/// A label of Pyroscope as OpenTelemetry has it; `None` if it is one of the server's own.
pub(super) fn label(key: &str, value: &str) -> Option<(String, String)> {
    let like = |known: &&&str| known.replace('.', "_") == key;
    let key = KNOWN.iter().find(like).copied().unwrap_or(key);
    (!key.starts_with("__")).then(|| (key.to_owned(), value.to_owned()))
}

impl Ingest {
    /// The labels, with that of the service.
    fn labels(&self) -> Result<Vec<(String, String)>, String> {
        let name = self.name.trim();
        let (service, rest) = name.split_once('{').unwrap_or((name, "}"));
        let service = match service.rsplit_once('.') {
            Some((service, kind)) if KINDS.contains(&kind) && !service.is_empty() => service,
            _ => service,
        };
        if service.is_empty() {
            return Err("name: the name of a service, such as name=shop{host=a}".to_owned());
        }
        let Some(rest) = rest.strip_suffix('}') else {
            return Err("name: labels end with }, as in name=shop{host=a}".to_owned());
        };
        let mut labels = vec![(SERVICE.to_owned(), service.to_owned())];
        for pair in rest.split(',').filter(|pair| !pair.trim().is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(format!("name: {pair:?} is no label: KEY=VALUE is expected"));
            };
            let value = value.trim().trim_matches('"');
            labels.extend(label(key.trim(), value).filter(|label| label.0 != SERVICE));
        }
        Ok(labels)
    }

    /// The seconds that the profile covers.
    fn span(&self, came: u64) -> Result<(u64, u64), String> {
        let time = |name: &str, text: &Option<String>| match text.as_deref().unwrap_or_default() {
            "" => Ok::<_, String>(None),
            text => {
                let time: u64 = text.trim().parse().map_err(|_| {
                    format!("{name}: seconds since 1970-01-01 UTC are expected, not {text:?}")
                })?;
                // Senders use seconds, milliseconds, microseconds or nanoseconds.
                Ok(Some(match time {
                    0..100_000_000_000 => time,
                    100_000_000_000..100_000_000_000_000 => time / 1_000,
                    100_000_000_000_000..100_000_000_000_000_000 => time / 1_000_000,
                    _ => time / 1_000_000_000,
                }))
            }
        };
        let until = time("until", &self.until)?;
        let from = time("from", &self.from)?;
        let until = until.unwrap_or_else(|| from.unwrap_or(came));
        let from = from.unwrap_or(until).min(until);
        Ok((from, until))
    }
}

/// The profile in the body, unpacked: the body itself, or a part of a form.
fn file(content_type: &str, body: &[u8]) -> Result<Vec<u8>, String> {
    let file = match content_type.starts_with("multipart/form-data") {
        true => {
            let boundary = content_type.split(';').find_map(|it| {
                let value = it.trim().strip_prefix("boundary=")?;
                Some(value.trim_matches('"'))
            });
            let boundary = boundary.filter(|it| !it.is_empty());
            let boundary = boundary.ok_or("the form has no boundary")?;
            part(body, boundary).ok_or("the form has no part with the name profile")?
        }
        false => body,
    };
    unpacked(file)
}

/// A profile without its compression.
pub(super) fn unpacked(file: &[u8]) -> Result<Vec<u8>, String> {
    if !file.starts_with(&[0x1f, 0x8b]) {
        return Ok(file.to_vec());
    }
    let mut unpacked = Vec::new();
    let limit = MAX_UNPACKED as u64;
    let read = MultiGzDecoder::new(file)
        .take(limit + 1)
        .read_to_end(&mut unpacked);
    read.map_err(|_| "the profile is damaged: its gzip cannot be unpacked")?;
    if unpacked.len() > MAX_UNPACKED {
        return Err(format!(
            "the profile takes more than {MAX_UNPACKED} bytes when it is unpacked"
        ));
    }
    Ok(unpacked)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|at| at == wanted)
}

/// The part of a form that has the profile.
fn part<'a>(body: &'a [u8], boundary: &str) -> Option<&'a [u8]> {
    let delimiter = format!("--{boundary}");
    let delimiter = delimiter.as_bytes();
    let mut rest = body.get(find(body, delimiter)? + delimiter.len()..)?;
    loop {
        let head_end = find(rest, b"\r\n\r\n")?;
        let (head, content) = (rest.get(..head_end)?, rest.get(head_end + 4..)?);
        let end = find(content, delimiter)?;
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        if head.contains("name=\"profile\"") || head.contains("name=profile") {
            let content = content.get(..end)?;
            return Some(content.strip_suffix(b"\r\n").unwrap_or(content));
        }
        rest = content.get(end + delimiter.len()..)?;
    }
}

impl Batch {
    /// The profile of a request to `/ingest` that came at a time, in seconds.
    ///
    /// # Errors
    /// A sentence for the sender, if the request is wrong.
    pub(super) fn of_ingest(
        ingest: &Ingest,
        content_type: &str,
        body: &[u8],
        came: u64,
    ) -> Result<Self, String> {
        let labels = ingest.labels()?;
        let (from, until) = ingest.span(came)?;
        let file = file(content_type, body)?;
        // Text is lines of stacks, also where the start of a file would not prove it.
        let is_text = || !file.is_empty() && !file.contains(&0) && str::from_utf8(&file).is_ok();
        let format = Format::of(&file).or_else(|| is_text().then_some(Format::Collapsed));
        let format = format.ok_or(
            "the body is no profile: pprof, JFR and collapsed stacks are read, as they are or gzipped",
        )?;
        let read = hprof_foreign::read(&file, format, &mut |_| {});
        let profile = read.map_err(|error| error.to_string())?;
        let mut batch = Self::default();
        batch.add_profile(&labels, (from, until), &profile, came)?;
        Ok(batch)
    }

    /// Adds a profile that covers some seconds and came at a time.
    ///
    /// # Errors
    /// A sentence for the sender, if the profile is damaged.
    pub(super) fn add_profile(
        &mut self,
        labels: &[(String, String)],
        (from, until): (u64, u64),
        profile: &Profile,
        came: u64,
    ) -> Result<(), String> {
        // A profile that lost its end would be taken for a whole one.
        if let Some(damage) = profile.damage.first() {
            return Err(damage.message.clone());
        }
        if from > came + FUTURE {
            self.reject(from, came);
            return Ok(());
        }
        self.profiles += 1;
        let threads = profile.threads.iter();
        let threads: rustc_hash::FxHashMap<_, u32> = threads
            .map(|thread| (thread.serial, self.tree.name(&thread.name)))
            .collect();
        let names = |frame| profile.stacks.frame(frame).name();
        for weights in &profile.weights {
            let kind = kind::of_measure(weights.measure);
            let second = match kind::is_state(&kind.key) {
                true => until.saturating_sub(1).max(from),
                false => from + (until - from) / 2,
            };
            let second = u32::try_from(second).unwrap_or(u32::MAX);
            let mut rows = Vec::with_capacity(weights.rows.len());
            for row in weights.rows.iter().filter(|row| row.value > 0) {
                // Trees of calls are walked by recursion.
                let frames = profile.stacks.frames_of(row.trace);
                let frames = frames.get(..MAX_DEPTH).unwrap_or(frames);
                let mut stack: Vec<String> = frames.iter().rev().map(|&it| names(it)).collect();
                if stack.is_empty() {
                    stack.push(EMPTY.to_owned());
                }
                stack.extend(
                    row.class
                        .as_deref()
                        .map(|it| hprof_stacks::family(it).into()),
                );
                let thread = profile.stacks.trace(row.trace).and_then(|it| it.thread);
                let at = At {
                    second,
                    thread: thread.and_then(|it| threads.get(&it).copied()).unwrap_or(0),
                    node: self.tree.stack(stack.iter().map(String::as_str)),
                };
                rows.push((at, row.value.saturating_mul(kind.factor)));
            }
            self.add(series(labels.iter().cloned(), &kind), rows);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ingest(name: &str) -> Ingest {
        Ingest {
            name: name.to_owned(),
            from: Some("1700000000".to_owned()),
            until: Some("1700000010000".to_owned()),
        }
    }

    #[test]
    fn the_query_names_service_labels_and_time() {
        let labels = ingest("shop.cpu{host_name=a,zone=\"b\"}").labels().unwrap();
        let expected = [("service.name", "shop"), ("host.name", "a"), ("zone", "b")];
        assert_eq!(labels, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(ingest("a.b").labels().unwrap()[0].1, "a.b");
        for wrong in ["", "{a=b}", "a{b", "a{b}"] {
            assert!(ingest(wrong).labels().is_err(), "{wrong}");
        }
        assert_eq!(ingest("a").span(5), Ok((1_700_000_000, 1_700_000_010)));
        assert_eq!(Ingest::default().span(5), Ok((5, 5)));
    }

    #[test]
    fn profiles_come_alone_or_in_a_form() {
        let form = "--x\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nno\r\n--x\r\n\
             Content-Disposition: form-data; name=\"profile\"; filename=\"p\"\r\n\r\na;b 3\na 4\n\r\n--x--\r\n";
        let kind = "multipart/form-data; boundary=x";
        for (kind, body) in [(kind, form), ("text/plain", "a;b 3\na 4\n")] {
            let batch = Batch::of_ingest(&ingest("shop"), kind, body.as_bytes(), 1_700_000_020);
            let batch = batch.unwrap();
            let costs = &batch.costs[0];
            assert_eq!(costs.rows.iter().map(|row| row.1).sum::<u64>(), 7);
            assert_eq!(costs.rows[0].0.second, 1_700_000_005);
            assert_eq!(costs.series.labels[SERVICE], "shop");
        }
        let wrong = Batch::of_ingest(&ingest("shop"), "text/plain", b"\0\0", 5);
        assert!(wrong.unwrap_err().contains("no profile"));
    }
}
