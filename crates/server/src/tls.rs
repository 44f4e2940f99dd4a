//! TLS with rustls.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Greets connections.
pub type Acceptor = tokio_rustls::TlsAcceptor;

/// An acceptor with a certificate chain and its key, both PEM files.
///
/// # Errors
/// A sentence, if they cannot be read or do not belong together.
pub fn acceptor(chain: &Path, key: &Path) -> Result<Acceptor, String> {
    let say = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(|found| found.collect::<Result<Vec<_>, _>>())
        .map_err(|error| say(chain, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| say(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(certificates, secret)
        .map_err(|error| say(chain, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Acceptor::from(Arc::new(config)))
}
