//! Where the path to a suspect starts: with what a person wrote.

use hprof_java_names::Primitive;

use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// How a path starts that leaves out what the VM put before a class of the program.
pub(super) const OWN_CLASS: &str = "class of the program, alive as long as its loader";

/// Packages of the JDK.
const JDK: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "oracle."];

/// True of classes of the JDK, and of arrays of these or of primitives.
pub(crate) fn is_of_the_jdk(class: &str) -> bool {
    let element = class.trim_end_matches("[]");
    Primitive::of_name(element).is_some() || JDK.iter().any(|package| element.starts_with(package))
}

/// Packages of libraries whose objects are collections: a field of theirs says less than the field of the program that has
/// the collection.
const COLLECTIONS: [&str; 12] = [
    "com.github.benmanes.caffeine.",
    "com.google.common.base.",
    "com.google.common.cache.",
    "com.google.common.collect.",
    "gnu.trove.",
    "io.vavr.collection.",
    "it.unimi.dsi.fastutil.",
    "kotlin.collections.",
    "org.apache.commons.collections.",
    "org.apache.commons.collections4.",
    "org.eclipse.collections.",
    "scala.collection.",
];

/// True of names of the JDK and of collection libraries, classes or fields as `Class.field`: a reader looks for the program's own
/// names first.
pub(crate) fn is_of_the_jdk_or_collections(name: &str) -> bool {
    is_of_the_jdk(name) || COLLECTIONS.iter().any(|package| name.starts_with(package))
}

/// True of objects of such classes, and of these classes themselves.
pub(crate) fn is_jdk_object(snapshot: &Snapshot, object: ObjectNumber) -> bool {
    let graph = snapshot.graph();
    is_of_the_jdk(match graph.class_of_object(object) {
        Some(class) => graph.classes().get(class).name.as_str(),
        None => snapshot.class_name(object),
    })
}

/// True of the object of a class of the program.
pub(crate) fn is_own_class(snapshot: &Snapshot, object: ObjectNumber) -> bool {
    let graph = snapshot.graph();
    graph.class_of_object(object).is_some_and(|class| {
        let class = graph.classes().get(class);
        class.loader != 0 && !is_of_the_jdk(&class.name)
    })
}

/// True of the loaders that every JVM has.
pub(super) fn is_built_in_loader(class: &str) -> bool {
    let packages = ["jdk.internal.loader.ClassLoaders$", "sun.misc.Launcher$"];
    packages.iter().any(|package| class.starts_with(package))
}

/// Drops the start of a path up to the first class of the program, if only objects of the JDK stand
/// there: `LauncherHelper.appClass` refers to the main class, which its loader keeps as well. Returns
/// how the rest starts, if anything was dropped.
pub(super) fn skip_holders(
    snapshot: &Snapshot,
    objects: &mut Vec<ObjectNumber>,
) -> Option<&'static str> {
    let at = objects
        .iter()
        .position(|&object| is_own_class(snapshot, object))?;
    let are_of_the_jdk = objects[..at].iter().all(|&it| is_jdk_object(snapshot, it));
    // The class itself is what the path leads to, or all before it says something.
    if at == 0 || at + 1 == objects.len() || !are_of_the_jdk {
        return None;
    }
    objects.drain(..at);
    Some(OWN_CLASS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_the_jdk_are_known() {
        for name in [
            "java.lang.String",
            "byte[]",
            "sun.launcher.LauncherHelper",
            "java.util.Map[][]",
        ] {
            assert!(is_of_the_jdk(name), "{name}");
        }
        for name in ["App", "App[]", "javafy.A", "com.example.Cache"] {
            assert!(!is_of_the_jdk(name), "{name}");
        }
    }
}
