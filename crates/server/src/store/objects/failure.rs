//! Errors of the storage's client, in our words.

use std::error::Error as _;
use std::io;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use crate::store::Fault;

/// The fault that an error of the client stands for. The words are ours, as theirs may quote the
/// storage's answer, which names keys and what was signed.
pub(in crate::store) fn fault_of(error: &Error) -> Fault {
    let status = status_in(&error.to_string());
    let shown = status.map_or_else(String::new, |status| format!(" (status {status})"));
    match error {
        Error::PermissionDenied { .. } => Fault::Refused(format!("no permission{shown}")),
        Error::Unauthenticated { .. } => Fault::Refused(format!("unknown key{shown}")),
        Error::NotFound { .. } => Fault::Refused(format!("no such bucket or object{shown}")),
        Error::AlreadyExists { .. } | Error::Precondition { .. } => Fault::Published,
        Error::Generic { .. } => match (status, http_kind(error)) {
            (Some(status @ 400..=499), _) if status != 408 && status != 429 => {
                Fault::Refused(format!("the request{shown}"))
            }
            (Some(_), _) => Fault::Unavailable(format!("it answers with errors{shown}")),
            (None, Some(HttpErrorKind::Connect)) => Fault::Unavailable("no connection".to_owned()),
            (None, Some(HttpErrorKind::Timeout)) => {
                Fault::Unavailable("no answer in time".to_owned())
            }
            (None, Some(_)) => Fault::Unavailable("its answer broke off".to_owned()),
            (None, None) => Fault::Unavailable(
                "the client cannot ask it; are keys, region and endpoint set?".to_owned(),
            ),
        },
        _ => Fault::Refused("the request".to_owned()),
    }
}

/// The status in the words of the client, which gives it no other way.
fn status_in(words: &str) -> Option<u16> {
    let (_, after) = words.split_once("status code: ")?;
    after.get(..3)?.parse().ok()
}

fn http_kind(error: &Error) -> Option<HttpErrorKind> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return Some(http.kind());
        }
        source = error.source();
    }
    None
}

/// A failure of the client as one of the store.
pub(super) fn io_error(error: &Error) -> io::Error {
    match error {
        Error::NotFound { .. } => {
            io::Error::new(io::ErrorKind::NotFound, "there is no such object")
        }
        other => fault_of(other).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_quote_nothing_of_the_storage() {
        let words = "Server returned non-2xx status code: 503 Service Unavailable: \
                     <AWSAccessKeyId>AKIAHIDDEN</AWSAccessKeyId>";
        let error = Error::Generic {
            store: "S3",
            source: words.into(),
        };
        let fault = fault_of(&error).to_string();
        assert!(
            fault.contains("503") && !fault.contains("HIDDEN"),
            "{fault}"
        );
        let error = Error::PermissionDenied {
            path: "x".to_owned(),
            source: "status code: 403: <StringToSign>HIDDEN".into(),
        };
        let fault = fault_of(&error).to_string();
        assert!(
            fault.contains("403") && !fault.contains("HIDDEN"),
            "{fault}"
        );
    }
}
