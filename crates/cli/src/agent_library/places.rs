//! Where the library may be unpacked.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::refusal::Refusal;

/// A place to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Below a folder that outlives this process, where the library is found
    /// again the next time.
    Lasting {
        /// The folder.
        base: PathBuf,
        /// True if it may be created if it is missing.
        create: bool,
    },
    /// Below a folder that other users write to as well, such as `/tmp`, in a folder named after
    /// the user.
    Shared {
        /// The folder.
        base: PathBuf,
    },
    /// In a new folder with a random name.
    Fresh {
        /// Where to create it.
        base: PathBuf,
    },
}

impl Place {
    /// The folder that has to be there.
    pub fn base(&self) -> &Path {
        match self {
            Self::Lasting { base, .. } | Self::Shared { base } | Self::Fresh { base } => base,
        }
    }

    /// Creates the base if that is allowed, but not the folders above it: a home
    /// that does not exist is not ours to make.
    pub fn create_base(&self) -> Result<(), Refusal> {
        let Self::Lasting { base, create: true } = self else {
            return Ok(());
        };
        match DirBuilder::new().mode(0o700).create(base) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Refusal::io(base, error))
            }
            _ => Ok(()),
        }
    }
}

/// The variables that decide about places.
#[derive(Debug, Default)]
pub struct Environment {
    cache: Option<PathBuf>,
    home: Option<PathBuf>,
    runtime: Option<PathBuf>,
    temporary: PathBuf,
}

impl Environment {
    /// Returns the environment of this process.
    pub fn of_process() -> Self {
        Self {
            cache: env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
            home: env::home_dir(),
            runtime: env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
            temporary: env::temp_dir(),
        }
    }
}

/// The places in the order to try them: the user's cache, the folder of the
/// login session, a folder for temporary files. Variables with relative paths do
/// not count (XDG Base Directory Specification).
pub fn in_order(environment: &Environment) -> Vec<Place> {
    let absolute = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
    let cache = absolute(&environment.cache)
        .or_else(|| absolute(&environment.home).map(|home| home.join(".cache")));
    let cache = cache.map(|base| Place::Lasting { base, create: true });
    let runtime = absolute(&environment.runtime).map(|base| Place::Lasting {
        base,
        create: false,
    });
    let temporary = std::path::absolute(&environment.temporary)
        .ok()
        .map(|base| Place::Fresh { base });
    cache.into_iter().chain(runtime).chain(temporary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lasting(base: &str, create: bool) -> Place {
        Place::Lasting {
            base: base.into(),
            create,
        }
    }

    #[test]
    fn the_cache_comes_first_and_a_fresh_folder_last() {
        let environment = Environment {
            cache: Some("/c".into()),
            home: Some("/h".into()),
            runtime: Some("/r".into()),
            temporary: "/t".into(),
        };
        let fresh = Place::Fresh { base: "/t".into() };
        assert_eq!(
            in_order(&environment),
            [lasting("/c", true), lasting("/r", false), fresh]
        );
    }

    #[test]
    fn the_home_serves_without_a_cache_and_relative_paths_are_ignored() {
        let environment = Environment {
            cache: Some("relative".into()),
            home: Some("/h".into()),
            runtime: Some("".into()),
            temporary: "/t".into(),
        };
        let fresh = Place::Fresh { base: "/t".into() };
        assert_eq!(
            in_order(&environment),
            [lasting("/h/.cache", true), fresh.clone()]
        );
        let environment = Environment {
            temporary: "/t".into(),
            ..Environment::default()
        };
        assert_eq!(in_order(&environment), [fresh]);
    }

    #[test]
    fn a_missing_home_is_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("nobody");
        let place = Place::Lasting {
            base: home.join(".cache"),
            create: true,
        };
        assert!(matches!(place.create_base(), Err(Refusal::Io { .. })));
        assert!(!home.exists());
    }
}
