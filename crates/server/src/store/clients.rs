//! The clients of object storage that a URL and the environment describe.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::multipart::MultipartStore;
use object_store::path::Path as ObjectPath;
use object_store::signer::Signer;
use object_store::{BackoffConfig, ClientConfigKey, RetryConfig};

use super::OpenError;
use super::objects::{Remote, fault_of};

/// How long a connection to the storage may take.
const CONNECT: &str = "10 seconds";
/// How long one request may take, with its body.
const REQUEST: &str = "60 seconds";
/// The first pause before a request is repeated.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The object storage at a URL, which has answered, and what signs requests of others to it.
pub(super) fn remote(
    place: &str,
    environment: &[(String, String)],
    patience: Duration,
) -> Result<(Remote, Option<Arc<dyn Signer>>), OpenError> {
    let prefix = prefix_of(place)?;
    let (files, parts, signer) = clients(place, environment, patience)?;
    let remote = Remote::new(files, parts, prefix, patience);
    let remote = remote.map_err(OpenError::Storage)?;
    remote.check().map_err(OpenError::Storage)?;
    Ok((remote, signer))
}

/// The part of a URL behind the bucket.
fn prefix_of(place: &str) -> Result<ObjectPath, OpenError> {
    let wrong = || {
        OpenError::Url(
            "--store takes a folder, or a URL such as s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or \
             az://CONTAINER/PREFIX"
                .to_owned(),
        )
    };
    let (_, rest) = place.split_once("://").ok_or_else(wrong)?;
    if rest.contains(['@', '?', '#']) {
        return Err(OpenError::Url(
            "--store takes no keys and no parameters; set them in the environment, such as \
             AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                .to_owned(),
        ));
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    match bucket.is_empty() {
        true => Err(wrong()),
        false => ObjectPath::parse(prefix.trim_matches('/')).map_err(|_| wrong()),
    }
}

type Clients = (
    Arc<dyn ObjectStore>,
    Arc<dyn MultipartStore>,
    Option<Arc<dyn Signer>>,
);

fn clients(
    place: &str,
    environment: &[(String, String)],
    patience: Duration,
) -> Result<Clients, OpenError> {
    // The HTTP client has no cryptography of its own; who has installed one already keeps it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: FIRST_PAUSE,
            max_backoff: MAX_PAUSE,
            base: 2.0,
        },
        max_retries: usize::MAX,
        retry_timeout: patience,
    };
    // Their words may quote settings: only their kind is reported.
    let wrong = |error: object_store::Error| {
        let fault = fault_of(&error);
        OpenError::Url(format!(
            "--store {place}: the settings in the environment do not fit: {fault}"
        ))
    };
    let (connect, request) = (ClientConfigKey::ConnectTimeout, ClientConfigKey::Timeout);
    match place.split_once("://").map(|(scheme, _)| scheme) {
        Some("s3") => {
            let mut builder = AmazonS3Builder::new();
            for (key, value) in [(connect, CONNECT), (request, REQUEST)] {
                builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
            }
            for (key, value) in known(environment, "AWS_") {
                builder = builder.with_config(key, value);
            }
            builder = builder.with_url(place);
            let client = Arc::new(builder.with_retry(retry).build().map_err(wrong)?);
            Ok((client.clone(), client.clone(), Some(client)))
        }
        Some("gs") => {
            let mut builder = GoogleCloudStorageBuilder::new();
            for (key, value) in [(connect, CONNECT), (request, REQUEST)] {
                builder = builder.with_config(GoogleConfigKey::Client(key), value);
            }
            for (key, value) in known(environment, "GOOGLE_") {
                builder = builder.with_config(key, value);
            }
            builder = builder.with_url(place);
            let client = Arc::new(builder.with_retry(retry).build().map_err(wrong)?);
            Ok((client.clone(), client, None))
        }
        Some("az") => {
            let mut builder = MicrosoftAzureBuilder::new();
            for (key, value) in [(connect, CONNECT), (request, REQUEST)] {
                builder = builder.with_config(AzureConfigKey::Client(key), value);
            }
            for (key, value) in known(environment, "AZURE_") {
                builder = builder.with_config(key, value);
            }
            builder = builder.with_url(place);
            let client = Arc::new(builder.with_retry(retry).build().map_err(wrong)?);
            Ok((client.clone(), client, None))
        }
        _ => Err(OpenError::Url(format!(
            "--store {place}: the schemes are s3, gs, az and file"
        ))),
    }
}

/// The variables with a prefix that a client knows.
fn known<'a, K: FromStr>(
    environment: &'a [(String, String)],
    prefix: &str,
) -> impl Iterator<Item = (K, &'a str)> {
    let ours = environment
        .iter()
        .filter(move |(name, _)| name.starts_with(prefix));
    ours.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_key_inside_is_refused_without_repeating_it() {
        for place in ["s3://AKIA:hidden@bucket/x", "s3://bucket/x?secret=hidden"] {
            let error = prefix_of(place).unwrap_err().to_string();
            assert!(
                !error.contains("hidden") && error.contains("AWS_"),
                "{error}"
            );
        }
    }

    #[test]
    fn prefixes_are_plain_paths() {
        for (place, prefix) in [
            ("s3://bucket", ""),
            ("s3://bucket/", ""),
            ("gs://bucket/a/b/", "a/b"),
        ] {
            assert_eq!(prefix_of(place).unwrap().as_ref(), prefix, "{place}");
        }
        for wrong in ["s3://", "s3:///x", "s3://bucket/a/../b"] {
            assert!(prefix_of(wrong).is_err(), "{wrong}");
        }
    }
}
