//! Registries of the JDK: what a program registers there stays until the program takes it out, and the path to it has no
//! field of the program. A sentence names the registry, how many have names of one pattern, and the call that registers.

use std::io;

use rustc_hash::FxHashMap;

use super::candidates::SAMPLE;
use super::find::Search;
use super::finding::{OwnField, own_field, static_name};
use super::objects::deepest_common;
use super::parts::Parts;
use crate::numbers::{ObjectNumber, Place};
use crate::paths::Path;
use crate::snapshot::EdgeKind;

/// The names that are looked at.
const NAMES: usize = 100_000;
/// The characters of a name that are looked at.
const NAME: usize = 120;
/// The share of the names that those of one pattern are at least.
const MOST: f64 = 0.5;

/// A registry of the JDK.
#[derive(Debug)]
struct Known {
    /// Its static field, as `Class.field`, or its class.
    at: &'static str,
    title: &'static str,
    /// The class of the objects in it that have names, with the field that has the name; none if they are texts.
    named: (&'static str, Option<&'static str>),
    /// The class of what the program registers, if that is another one, to which the field `referent` leads.
    registered: Option<&'static str>,
    call: &'static str,
    /// True if all that its object keeps alive is of the registry.
    is_whole: bool,
}

const TEXT: &str = "java.lang.String";

/// A registry whose static field or class says all.
const fn known(at: &'static str, title: &'static str, call: &'static str) -> Known {
    Known {
        at,
        title,
        named: (TEXT, None),
        registered: None,
        call,
        is_whole: false,
    }
}

const KNOWN: [Known; 23] = [
    Known {
        named: ("java.util.logging.LogManager$LoggerWeakRef", Some("name")),
        registered: Some("java.util.logging.Logger"),
        is_whole: true,
        ..known(
            "java.util.logging.LogManager",
            "loggers of java.util.logging",
            "Logger.getLogger with such names",
        )
    },
    Known {
        named: ("java.util.prefs.FileSystemPreferences", Some("name")),
        is_whole: true,
        ..known(
            "java.util.prefs.FileSystemPreferences",
            "preferences of java.util.prefs",
            "Preferences.node with such names",
        )
    },
    known(
        "java.io.DeleteOnExitHook.files",
        "files to delete at exit",
        "File.deleteOnExit",
    ),
    known(
        "java.lang.ApplicationShutdownHooks.hooks",
        "shutdown hooks",
        "Runtime.addShutdownHook",
    ),
    known(
        "java.util.ResourceBundle.cacheList",
        "cached resource bundles",
        "ResourceBundle.getBundle",
    ),
    known(
        "java.util.ResourceBundle$Control.CANDIDATES_CACHE",
        "locales looked up for resource bundles",
        "ResourceBundle.getBundle",
    ),
    known(
        "sun.util.locale.BaseLocale.CACHE",
        "cached locales",
        "new Locale or Locale.Builder",
    ),
    known(
        "java.util.zip.ZipFile$Source.files",
        "open zip and jar files",
        "new ZipFile or new JarFile, and does not close it",
    ),
    known(
        "sun.net.www.protocol.jar.JarFileFactory.fileCache",
        "cached jar files of URLs",
        "URLConnection.setUseCaches",
    ),
    known(
        "sun.net.www.http.HttpClient.kac",
        "connections kept alive",
        "HttpURLConnection",
    ),
    known(
        "java.net.URL.handlers",
        "handlers of URLs",
        "URL with such protocols",
    ),
    known(
        "java.net.CookieHandler.cookieHandler",
        "cookies of java.net",
        "CookieHandler.setDefault",
    ),
    known(
        "java.net.InetAddress.cache",
        "cached addresses of hosts",
        "InetAddress.getByName",
    ),
    known(
        "java.sql.DriverManager.registeredDrivers",
        "drivers of java.sql",
        "DriverManager.registerDriver",
    ),
    known(
        "java.lang.management.ManagementFactory.platformMBeanServer",
        "MBeans",
        "MBeanServer.registerMBean",
    ),
    known(
        "java.security.Security.props",
        "security properties",
        "Security.setProperty",
    ),
    known(
        "sun.security.jca.Providers.providerList",
        "security providers",
        "Security.addProvider",
    ),
    known(
        "java.beans.ThreadGroupContext.contexts",
        "classes that java.beans has looked at",
        "Introspector.getBeanInfo",
    ),
    known(
        "java.beans.WeakIdentityMap",
        "classes that java.beans has looked at",
        "Introspector.getBeanInfo",
    ),
    known(
        "java.io.ObjectStreamClass$Caches.localDescs",
        "classes that were serialized",
        "ObjectOutputStream.writeObject",
    ),
    known(
        "java.lang.reflect.Proxy.proxyClassCache",
        "classes of proxies",
        "Proxy.newProxyInstance",
    ),
    known(
        "java.lang.invoke.MethodType.internTable",
        "types of methods",
        "MethodType.methodType",
    ),
    known(
        "sun.rmi.transport.ObjectTable.objTable",
        "objects exported by RMI",
        "UnicastRemoteObject.exportObject",
    ),
];

/// A registry of the JDK that holds a suspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// Its contents in words, such as `files to delete at exit`.
    pub title: &'static str,
    /// Its static field, as `Class.field`, or its class.
    pub place: &'static str,
    /// The call by which the program registers something there, in words.
    pub call: &'static str,
    /// The names of most of what is registered, if they are alike.
    pub names: Option<Names>,
    /// True if most of what was registered is gone, so that only the names are left.
    pub are_gone: bool,
    /// The field of the program that holds what is registered, if the registry itself does not.
    pub keeper: Option<OwnField>,
}

/// Names that differ in numbers only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// How many objects have such names.
    pub objects: u64,
    /// Their class.
    pub class: &'static str,
    /// The names, with `*` for each number.
    pub pattern: String,
}

/// True of an object that is one registry with all that it keeps alive.
pub(super) fn is_whole(parts: &Parts<'_>, place: Place) -> bool {
    let object = parts.snapshot.dominators().object(place);
    let is_instance = parts.snapshot.graph().class_of_object(object).is_none();
    let class = parts.snapshot.class_name(object);
    is_instance && KNOWN.iter().any(|it| it.is_whole && it.at == class)
}

impl Search<'_> {
    /// The registry of the JDK on a path, if no field of the program is farther on.
    pub fn registry(&self, path: &Path, objects: &[ObjectNumber]) -> io::Result<Option<Registry>> {
        let snapshot = self.snapshot;
        let (steps, positions) = (&path.steps, path.positions());
        let known = (0..steps.len()).rev().find_map(|at| {
            let class = snapshot.class_name(steps[at].object);
            let edge = steps[at].edge.as_ref();
            let field = edge.filter(|edge| at > 0 && edge.kind == EdgeKind::Static);
            let field = field.map(|edge| {
                let before = positions[at].checked_sub(1).and_then(|it| objects.get(it));
                before.map_or(String::new(), |&it| static_name(snapshot, it, &edge.name))
            });
            let is_it = |known: &&Known| known.at == class || field.as_deref() == Some(known.at);
            KNOWN.iter().find(is_it)
        });
        let (Some(known), Some(&subject)) = (known, objects.last()) else {
            return Ok(None);
        };
        let named = self.named(known.named.0, subject);
        let referents = match known.registered {
            Some(_) => self.referents(&named),
            None => Vec::new(),
        };
        let keeper = self.keeper(&referents)?;
        let are_gone = known.registered.is_some() && 2 * referents.len() < named.len();
        let registered = known.registered.unwrap_or(known.named.0);
        // References that wait in a queue are not of the map alone, and its keys are.
        let names = self
            .names(registered, known.named.1, &named)
            .or_else(|| self.names(TEXT, None, &self.named(TEXT, subject)));
        Ok(Some(Registry {
            title: known.title,
            place: known.at,
            call: known.call,
            names,
            are_gone,
            keeper,
        }))
    }

    /// The objects of a class that a subject keeps alive.
    fn named(&self, class: &str, subject: ObjectNumber) -> Vec<ObjectNumber> {
        let (dominators, graph) = (self.snapshot.dominators(), self.snapshot.graph());
        let mut classes = graph.classes().numbers();
        let class = classes.find(|&it| graph.classes().get(it).name == class);
        let (Some(class), Some(place)) = (class, dominators.place(subject)) else {
            return Vec::new();
        };
        let objects = place
            .up_to(dominators.end(place))
            .map(|it| dominators.object(it));
        let named = objects.filter(|&it| graph.class_of(it) == class);
        named.take(NAMES).collect()
    }

    /// The pattern of most names of what is registered, by the field that has the name of each; none if these are texts.
    fn names(
        &self,
        registered: &'static str,
        field: Option<&str>,
        named: &[ObjectNumber],
    ) -> Option<Names> {
        let snapshot = self.snapshot;
        let mut patterns: FxHashMap<String, u64> = FxHashMap::default();
        let mut all = 0;
        for &object in named {
            let text = match field {
                Some(field) => snapshot.field_object(object, field),
                None => Some(object),
            };
            if let Some(name) = text.and_then(|it| snapshot.string(it, NAME)) {
                all += 1;
                *patterns.entry(numbers(&name)).or_default() += 1;
            }
        }
        let most =
            |(pattern, objects): &(String, u64)| (*objects, std::cmp::Reverse(pattern.clone()));
        let (pattern, objects) = patterns.into_iter().max_by_key(most)?;
        (objects > 1 && objects as f64 >= f64::from(all) * MOST).then_some(Names {
            objects,
            class: registered,
            pattern,
        })
    }

    /// The objects that weak references lead to.
    fn referents(&self, references: &[ObjectNumber]) -> Vec<ObjectNumber> {
        let snapshot = self.snapshot;
        let referents = (references.iter()).filter_map(|&it| snapshot.field_object(it, "referent"));
        let is_live = |&it: &ObjectNumber| snapshot.dominators().place(it).is_some();
        referents.filter(is_live).collect()
    }

    /// The field of the program that holds objects: the JDK makes the first ones itself.
    fn keeper(&self, referents: &[ObjectNumber]) -> io::Result<Option<OwnField>> {
        let snapshot = self.snapshot;
        let sample = referents.iter().rev().take(SAMPLE).copied();
        let Some(common) = deepest_common(snapshot, &self.paths, sample)? else {
            return Ok(None);
        };
        let way = self.paths.to(snapshot, common)?;
        Ok(way.and_then(|way| own_field(snapshot, &Path::new(snapshot, &way), &way)))
    }
}

/// A name with a star in the place of each number, and a point in that of each control character.
pub(super) fn numbers(name: &str) -> String {
    let mut stars = String::with_capacity(name.len());
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if stars.ends_with('*') => {}
            true => stars.push('*'),
            false if c.is_control() => stars.push('\u{b7}'),
            false => stars.push(c),
        }
    }
    stars
}

/// Marks for a registry what is a suspect of its own below it, so that it is one suspect.
pub(super) fn is_within<T>(
    parts: &Parts<'_>,
    anchors: &[T],
    place: impl Fn(&T) -> Place,
    above: impl Fn(&T) -> usize,
) -> Vec<bool> {
    let mut within = vec![false; anchors.len()];
    // Those below come after those above.
    for (at, anchor) in anchors.iter().enumerate() {
        let over = above(anchor);
        if over < at {
            // What the program has put there says more than the registry.
            let is_in = !parts.is_own(place(anchor))
                && (within.get(over) == Some(&true)
                    || anchors
                        .get(over)
                        .is_some_and(|it| is_whole(parts, place(it))));
            if let Some(mark) = within.get_mut(at) {
                *mark = is_in;
            }
        }
    }
    within
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn each_number_of_a_name_is_a_star() {
        for (name, expected) in [
            ("request12", "request*"),
            ("pool-1-thread-12", "pool-*-thread-*"),
            ("", ""),
            ("été 7", "été *"),
            ("a\u{1b}1", "a\u{b7}*"),
        ] {
            assert_eq!(numbers(name), expected);
        }
    }
}
