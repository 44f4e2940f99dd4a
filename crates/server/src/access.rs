//! Who may do what: tokens, roles, the role that each request needs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use http::Method;
use sha2::{Digest, Sha256};

use crate::catalogue::{CatalogueError, Role};
use crate::ids::ContentHash;
use crate::state::AppState;

/// The file of the printed link's token in the server's folder.
const LINK: &str = "link-token";
/// The digits of a token.
const DIGITS: usize = 64;

/// A secret of 256 random bits, as hexadecimal digits. The catalogue keeps its hash only, so a
/// reader of the catalogue does not have it.
pub struct Token(String);

impl Token {
    /// A token that no client can guess.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(ContentHash::of_bytes(bytes).as_str().to_owned()))
    }

    /// The token in a file; `None` if there is none, or what it holds is no token. Others than its user must not read it.
    fn kept(path: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let is_own = fs::metadata(path)?.permissions().mode() & 0o077 == 0;
        let is_token = text.len() == DIGITS && text.bytes().all(|it| it.is_ascii_hexdigit());
        Ok((is_own && is_token).then_some(Self(text)))
    }

    /// Writes it to a file for its user alone.
    fn keep(&self, path: &Path) -> io::Result<()> {
        let fresh = path.with_extension("new");
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(self.0.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    }

    /// The digits.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// The form in which the catalogue keeps a token. A slow hash is for what people can guess.
pub fn hash(token: &str) -> String {
    let hash = Sha256::digest(token.as_bytes());
    ContentHash::of_bytes(hash.into()).as_str().to_owned()
}

/// Who sends a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The role of the token.
    pub role: Role,
    /// The first digits of the token's hash, for logs.
    pub who: String,
}

impl Caller {
    fn new(role: Role, hash: &str) -> Self {
        let who = hash.get(..8).unwrap_or_default().to_owned();
        Self { role, who }
    }
}

impl AppState {
    /// Who has a token. Blocks.
    ///
    /// # Errors
    /// If the catalogue fails.
    pub fn caller(&self, token: &str) -> Result<Option<Caller>, CatalogueError> {
        if let Some(caller) = self.link_caller(token) {
            return Ok(Some(caller));
        }
        let hash = hash(token);
        let role = self.catalogue().role_of(&hash)?;
        Ok(role.map(|role| Caller::new(role, &hash)))
    }

    /// Who has the token of the printed link, which nothing needs to be asked for.
    pub fn link_caller(&self, token: &str) -> Option<Caller> {
        let hash = hash(token);
        let is_link = self.link_token() == Some(hash.as_str());
        is_link.then(|| Caller::new(Role::Admin, &hash))
    }

    /// The admin's token of the printed link, which the server's folder keeps, so that sessions outlive a restart: it is in no
    /// catalogue, and a new one is made where its file is removed.
    ///
    /// # Errors
    /// If the system has no random numbers, or the file cannot be used.
    pub fn own_token(&self) -> io::Result<Token> {
        let path = self.config().folder.join(LINK);
        let token = match Token::kept(&path)? {
            Some(token) => token,
            None => {
                let token = Token::new()?;
                token.keep(&path)?;
                token
            }
        };
        self.set_link_token(hash(token.reveal()));
        Ok(token)
    }

    /// Adds a token.
    ///
    /// # Errors
    /// If the catalogue fails, or the system has no random numbers.
    pub fn add_token(&self, role: Role, name: &str) -> Result<Token, CatalogueError> {
        let token = Token::new().map_err(CatalogueError::failed)?;
        self.catalogue()
            .add_token(&hash(token.reveal()), role, name)?;
        Ok(token)
    }
}

/// The paths to which other programs push profiles: those of OTLP/HTTP and of Pyroscope.
pub const PUSH_PATHS: [&str; 3] = [
    "/v1development/profiles",
    "/ingest",
    "/push.v1.PusherService/Push",
];

/// The role that a request needs; none if any client may send it: the page has no secrets in it.
pub fn needed(method: &Method, path: &str) -> Option<Role> {
    if path == "/metrics" {
        return Some(Role::Reader);
    }
    if PUSH_PATHS.contains(&path) {
        return Some(Role::Uploader);
    }
    let below = path.strip_prefix("/api/v1")?;
    if matches!(*method, Method::GET | Method::HEAD) && !below.starts_with("/uploads") {
        return Some(Role::Reader);
    }
    // A query changes nothing.
    if *method == Method::POST && below.starts_with("/dumps/") && below.ends_with("/query") {
        return Some(Role::Reader);
    }
    let is_path = *method == Method::POST && below == "/dumps";
    let deletes_dump = *method == Method::DELETE && below.starts_with("/dumps/");
    // Programs of this machine are touched.
    let is_jvm = below.starts_with("/jvms");
    match is_path || deletes_dump || is_jvm {
        true => Some(Role::Admin),
        false => Some(Role::Uploader),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_needs_a_role() {
        use Role::{Admin, Reader, Uploader};
        for (method, path, role) in [
            (Method::GET, "/", None),
            (Method::GET, "/assets/a.js", None),
            (Method::GET, "/healthz", None),
            (Method::GET, "/metrics", Some(Reader)),
            (Method::POST, "/v1development/profiles", Some(Uploader)),
            (Method::POST, "/ingest", Some(Uploader)),
            (Method::POST, "/push.v1.PusherService/Push", Some(Uploader)),
            (Method::GET, "/api/v1/dumps", Some(Reader)),
            (Method::GET, "/api/v1/anything/new", Some(Reader)),
            (Method::POST, "/api/v1/dumps/0a/query", Some(Reader)),
            (Method::HEAD, "/api/v1/uploads/0a", Some(Uploader)),
            (Method::PUT, "/api/v1/dumps", Some(Uploader)),
            (Method::PATCH, "/api/v1/dumps/0a", Some(Uploader)),
            (Method::POST, "/api/v1/jobs/1/cancel", Some(Uploader)),
            (Method::POST, "/api/v1/anything/new", Some(Uploader)),
            (Method::POST, "/api/v1/dumps", Some(Admin)),
            (Method::DELETE, "/api/v1/dumps/0a", Some(Admin)),
            (Method::GET, "/api/v1/jvms/7/profile", Some(Reader)),
            (Method::POST, "/api/v1/jvms/7/attach", Some(Admin)),
            (Method::POST, "/api/v1/jvms/7/dumps/query", Some(Admin)),
        ] {
            assert_eq!(needed(&method, path), role, "{method} {path}");
        }
    }

    #[test]
    fn tokens_differ_and_are_kept_as_hashes() {
        let (one, two) = (Token::new().unwrap(), Token::new().unwrap());
        assert_ne!(one.reveal(), two.reveal());
        assert_eq!(one.reveal().len(), 64);
        assert!(!hash(one.reveal()).contains(one.reveal()));
    }
}
