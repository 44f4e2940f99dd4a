//! The system properties of the program.

use super::Snapshot;
use super::values::Value;
use crate::numbers::ObjectNumber;
use crate::strip::is_secret_name;

/// The replacement of a secret.
const MASK: &str = "********";

impl Snapshot {
    /// The system properties (`java.lang.System.getProperties`), sorted by name, with secrets
    /// masked; empty if the dump has none.
    pub fn system_properties(&self) -> Vec<(String, String)> {
        let classes = self.graph.classes().list();
        let Some(system) = classes
            .iter()
            .find(|class| class.name == "java.lang.System")
        else {
            return Vec::new();
        };
        let props = system.statics.iter().find(|field| field.name == "props");
        let Some(Value::Object(props)) = props.map(|field| self.static_value(field)) else {
            return Vec::new();
        };
        // Since JDK 9 the entries are in a map of their own.
        let entries = self.field_object(props, "map").unwrap_or(props);
        self.masked_entries(entries, |object| object)
    }

    /// The environment variables of the process as `java.lang.ProcessEnvironment` has them, sorted by
    /// name, with secrets masked; empty if the program has not read its environment yet.
    ///
    /// On Unix keys and values are objects with the text in their field `str`, on Windows strings.
    pub fn environment(&self) -> Vec<(String, String)> {
        let classes = self.graph.classes().list().iter();
        let mut holders = classes.filter(|class| class.name == "java.lang.ProcessEnvironment");
        let field = holders.find_map(|class| {
            let mut statics = class.statics.iter();
            statics.find(|field| field.name == "theEnvironment")
        });
        let Some(Value::Object(map)) = field.map(|field| self.static_value(field)) else {
            return Vec::new();
        };
        self.masked_entries(map, |object| {
            self.field_object(object, "str").unwrap_or(object)
        })
    }

    /// The entries of a map as texts, sorted by key, with secrets masked. `string_of` finds the string of a
    /// key or value.
    fn masked_entries(
        &self,
        map: ObjectNumber,
        string_of: impl Fn(ObjectNumber) -> ObjectNumber,
    ) -> Vec<(String, String)> {
        let text = |value: &Value| self.string(string_of(value.object()?), 4000);
        let mut found: Vec<(String, String)> = self
            .collection_elements(map, 10_000)
            .iter()
            .filter_map(|(key, value)| Some((text(key)?, text(value.as_ref()?)?)))
            .map(|(key, value)| {
                let value = masked(&key, &value);
                (key, value)
            })
            .collect();
        found.sort();
        found
    }
}

/// A value without what its name, or a word in it, tells to be a secret.
fn masked(key: &str, value: &str) -> String {
    if is_secret_name(key) && !value.is_empty() {
        return MASK.to_owned();
    }
    let words = value
        .split(' ')
        .map(|word| match word.split_once(['=', ':']) {
            Some((name, rest)) if is_secret_name(name) && !rest.is_empty() => {
                format!("{}{MASK}", &word[..name.len() + 1])
            }
            _ => word.to_owned(),
        });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn secrets_are_masked_by_name_and_within_commands() {
        assert_eq!(masked("db.Password", "hunter2"), "********");
        assert_eq!(masked("user.name", "kim"), "kim");
        assert_eq!(
            masked("sun.java.command", "App --token=abc -Dx=y"),
            "App --token=******** -Dx=y"
        );
        assert_eq!(masked("aws.secretKey", ""), "");
    }
}
