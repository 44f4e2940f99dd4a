//! Which JDKs are there.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The feature releases that every test runs on unless `HPROF_RS_JDKS` says otherwise.
const ALL_TESTS: [u32; 2] = [17, 25];
/// Further releases, for tests of what differs between releases.
const RELEASE_TESTS: [u32; 5] = [11, 21, 26, 27, 28];
/// The first release that may be missing: no runtime is pinned for it, and not every machine has Debian's packages.
const FIRST_OPTIONAL: u32 = 26;

/// A JDK, or a Java runtime without a compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    home: PathBuf,
    version: String,
    feature: u32,
    modules: Vec<String>,
}

impl Jdk {
    /// Every JDK found, one per feature release, oldest first.
    ///
    /// Looked for in the folder `scripts/setup` fetches to, in `JAVA_HOME`, and in `/usr/lib/jvm`,
    /// in this order; the first of a feature release wins, so that fetched (pinned) ones are
    /// preferred.
    pub fn all() -> &'static [Jdk] {
        static ALL: OnceLock<Vec<Jdk>> = OnceLock::new();
        ALL.get_or_init(|| one_per_feature(homes().iter().filter_map(|home| Jdk::at(home))))
    }

    /// The JDKs that tests run on: 17 and 25, or those named in `HPROF_RS_JDKS`.
    ///
    /// # Panics
    ///
    /// When one of them is missing: a test that silently leaves one out would show nothing.
    pub fn tested() -> Vec<&'static Jdk> {
        Jdk::chosen(&ALL_TESTS)
    }

    /// The JDKs for tests of what differs between releases: all supported ones, or those named in `HPROF_RS_JDKS`. JDK 26
    /// and later ones are left out where they are not installed.
    ///
    /// # Panics
    ///
    /// When another of them is missing.
    pub fn releases() -> Vec<&'static Jdk> {
        let mut features = [&ALL_TESTS[..], &RELEASE_TESTS].concat();
        features.sort_unstable();
        Jdk::chosen(&features)
    }

    fn chosen(features: &[u32]) -> Vec<&'static Jdk> {
        if let Ok(list) = env::var("HPROF_RS_JDKS") {
            let features = parse_features(&list).into_iter();
            return features.map(Jdk::feature_release).collect();
        }
        let is_there = |feature: u32| Jdk::all().iter().any(|jdk| jdk.feature == feature);
        let features = features.iter().copied();
        features
            .filter(|&feature| feature < FIRST_OPTIONAL || is_there(feature))
            .map(Jdk::feature_release)
            .collect()
    }

    /// The JDK of the given feature release (11, 17, …).
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn feature_release(feature: u32) -> &'static Jdk {
        Jdk::find(feature).unwrap_or_else(|| {
            panic!("no JDK {feature} found; `scripts/setup jdks` fetches what the tests need")
        })
    }

    /// The JDK of the given feature release, if there is one.
    pub fn find(feature: u32) -> Option<&'static Jdk> {
        Jdk::all().iter().find(|jdk| jdk.feature == feature)
    }

    /// The JDK whose compiler makes the classes: 17, or the oldest one that has a compiler.
    ///
    /// # Panics
    ///
    /// When no JDK has one.
    pub fn compiler() -> &'static Jdk {
        let all = Jdk::compilers();
        all.iter()
            .find(|jdk| jdk.feature == 17)
            .or(all.first())
            .unwrap_or_else(|| panic!("no JDK with a compiler; `scripts/setup java` installs one"))
    }

    /// The JDKs that have a compiler, one per feature release, oldest first.
    pub fn compilers() -> &'static [Jdk] {
        static COMPILERS: OnceLock<Vec<Jdk>> = OnceLock::new();
        COMPILERS.get_or_init(|| {
            let all = homes().into_iter().filter_map(|home| Jdk::at(&home));
            one_per_feature(all.filter(|jdk| jdk.tool("javac").is_file()))
        })
    }

    /// The JDK installed at `home`, if that is one.
    pub fn at(home: &Path) -> Option<Jdk> {
        if !home.join("bin/java").is_file() {
            return None;
        }
        let release = parse_release(&fs::read_to_string(home.join("release")).ok()?);
        let version = release.get("JAVA_VERSION")?.clone();
        let feature = feature_of(&version)?;
        let modules = release
            .get("MODULES")
            .map(|list| list.split(' ').map(str::to_owned));
        let modules = modules.map(Iterator::collect).unwrap_or_default();
        Some(Jdk {
            home: home.to_owned(),
            version,
            feature,
            modules,
        })
    }

    /// `JAVA_HOME` of this JDK.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The full version, such as `17.0.9`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The feature release: 11, 17, ….
    pub fn feature(&self) -> u32 {
        self.feature
    }

    /// The path of a command of this JDK, which need not exist.
    pub fn tool(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.home.join("bin").join(name.as_ref())
    }

    /// Returns whether this JDK has the module, such as `jdk.jdwp.agent`.
    pub fn has_module(&self, name: &str) -> bool {
        self.modules.iter().any(|module| module == name)
    }
}

impl std::fmt::Display for Jdk {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "JDK {}", self.version)
    }
}

/// Every folder that may be a JDK, best first.
fn homes() -> Vec<PathBuf> {
    let mut homes = subfolders(&cache_folder().join("jdks"));
    homes.extend(env::var_os("JAVA_HOME").map(PathBuf::from));
    homes.extend(subfolders(Path::new("/usr/lib/jvm")));
    homes
}

/// The folder that keeps what is fetched or made once: the JDKs, and files to measure with.
pub fn cache_folder() -> PathBuf {
    let under = |name: &str, rest: &str| env::var_os(name).map(|dir| PathBuf::from(dir).join(rest));
    under("HPROF_RS_CACHE", "")
        .or_else(|| under("XDG_CACHE_HOME", "hprof-rs"))
        .or_else(|| under("HOME", ".cache/hprof-rs"))
        .unwrap_or_default()
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn one_per_feature(found: impl Iterator<Item = Jdk>) -> Vec<Jdk> {
    let mut best = BTreeMap::new();
    for jdk in found {
        best.entry(jdk.feature).or_insert(jdk);
    }
    best.into_values().collect()
}

/// The lines `NAME="value"` of a JDK's `release` file.
fn parse_release(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

/// The feature release in a version: 17 in `17.0.9`, 8 in `1.8.0_392`.
fn feature_of(version: &str) -> Option<u32> {
    let mut numbers = version.split(['.', '-', '+', '_']).map(str::parse);
    match numbers.next()?.ok()? {
        1 => numbers.next()?.ok(),
        feature => Some(feature),
    }
}

fn parse_features(list: &str) -> Vec<u32> {
    let parse = |item: &str| {
        item.trim()
            .parse()
            .unwrap_or_else(|_| panic!("HPROF_RS_JDKS: \"{item}\" is no number"))
    };
    list.split(',').map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jdk(home: &str, version: &str) -> Jdk {
        let feature = feature_of(version).unwrap();
        Jdk {
            home: home.into(),
            version: version.into(),
            feature,
            modules: Vec::new(),
        }
    }

    #[test]
    fn release_file() {
        let release = parse_release("JAVA_VERSION=\"21.0.8\"\nMODULES=\"java.base java.xml\"\n");
        assert_eq!(release["JAVA_VERSION"], "21.0.8");
        assert_eq!(release["MODULES"], "java.base java.xml");
    }

    #[test]
    fn feature_releases() {
        assert_eq!(feature_of("17.0.9"), Some(17));
        assert_eq!(feature_of("25"), Some(25));
        assert_eq!(feature_of("26-ea"), Some(26));
        assert_eq!(feature_of("1.8.0_392"), Some(8));
        assert_eq!(feature_of("unknown"), None);
    }

    #[test]
    fn the_first_of_a_feature_release_wins() {
        let found = [jdk("a", "21.0.8"), jdk("b", "17.0.9"), jdk("c", "21.0.9")];
        let kept = one_per_feature(found.into_iter());
        let homes: Vec<&Path> = kept.iter().map(Jdk::home).collect();
        assert_eq!(homes, [Path::new("b"), Path::new("a")]);
    }

    #[test]
    fn tested_jdks_start() {
        for jdk in Jdk::releases() {
            let run = std::process::Command::new(jdk.tool("java"))
                .arg("-version")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(said.contains(jdk.version()), "{jdk} says {said}");
        }
    }
}
