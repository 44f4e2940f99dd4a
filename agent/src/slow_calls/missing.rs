//! Why a pattern has found no method.

use std::collections::BTreeSet;

use super::SlowCalls;
use crate::options::SlowPattern;
use crate::vm::{Class, Jni, LocalRef, Ref};

/// Methods that are named instead, at most.
const MOST: usize = 5;

impl SlowCalls {
    /// Says what is there instead of the methods of a pattern, and what to do.
    pub(super) fn why_missing(&self, jni: &Jni, pattern: &SlowPattern) -> String {
        if pattern.is_of_spans() {
            return format!(
                "the program began no span whose name matches {}: it begins one with java.lang.HprofSpan.start(name)",
                pattern.text
            );
        }
        let Some((class, method)) = pattern.text.rsplit_once('.') else {
            return format!("no method that was loaded matches {}", pattern.text);
        };
        let Some(named) = pattern.class() else {
            return format!(
                "no method with code in a class that was loaded matches {}",
                pattern.text
            );
        };
        let jni = &*jni.large_local_frame();
        let loaded = self.jvmti.loaded_classes(jni).unwrap_or_default();
        let found = loaded
            .iter()
            .map(LocalRef::get)
            .find(|&it| self.is_named(it, named));
        let Some(found) = found else {
            if method == "*" {
                return format!(
                    "the program loaded no class {class}, and none below it with a method that has code"
                );
            }
            return format!("the program loaded no class {class}");
        };
        let methods = self.methods_of(found);
        if method == "*" {
            return format!("{class} has no method with code: name a class that implements it");
        }
        if methods.contains(method) {
            return format!(
                "{class}.{method} has no code, as it is abstract or native: name a class that implements it, or *.{method}"
            );
        }
        let others: Vec<_> = methods.iter().take(MOST).map(String::as_str).collect();
        let more = match methods.len() > MOST {
            true => ", ...",
            false => "",
        };
        match others.is_empty() {
            true => format!("class {class} has no method {method}"),
            false => format!(
                "class {class} has no method {method}; it has {}{more}",
                others.join(", ")
            ),
        }
    }

    fn is_named(&self, class: Ref<'_, Class>, name: &str) -> bool {
        let signature = self.jvmti.class_signature(class).unwrap_or_default();
        let found = signature.strip_prefix('L');
        let found = found.and_then(|found| found.strip_suffix(';'));
        found.is_some_and(|found| found.len() == name.len() && found.replace('/', ".") == name)
    }

    /// The names of a class's methods, without constructors.
    fn methods_of(&self, class: Ref<'_, Class>) -> BTreeSet<String> {
        let Ok(methods) = self.jvmti.declared_methods(class) else {
            return BTreeSet::new();
        };
        let names = methods.iter().filter_map(|&method| {
            let name = self.jvmti.method_name(method).ok()?.name;
            (!name.starts_with('<')).then_some(name)
        });
        names.collect()
    }
}
