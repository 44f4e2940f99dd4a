//! Objects as text: fields, elements, referrers.

use hprof_wire::control::Reply;

use super::{Objects, Referrers};
use crate::vm::{Class, Jni, LocalRef, Ref, ReferenceKind, Result, Value};

/// UTF-16 units of a string that are shown.
const MAX_TEXT: usize = 200;
/// Elements of an array that are shown.
const MAX_ELEMENTS: usize = 32;
/// Bytes of an answer.
const MAX_REPLY: usize = 4 << 20;
/// Classes whose objects are shown as the value of their only field.
const BOXES: [&str; 8] = [
    "Ljava/lang/Boolean;",
    "Ljava/lang/Byte;",
    "Ljava/lang/Character;",
    "Ljava/lang/Short;",
    "Ljava/lang/Integer;",
    "Ljava/lang/Long;",
    "Ljava/lang/Float;",
    "Ljava/lang/Double;",
];

/// Writes an object into an answer.
pub(super) struct Shown<'a, 'j> {
    objects: &'a mut Objects,
    jni: &'j Jni,
    reply: &'a mut Reply,
    number: usize,
}

impl<'a, 'j> Shown<'a, 'j> {
    /// The object with a number in the answer, from 1 on.
    pub(super) fn new(
        objects: &'a mut Objects,
        jni: &'j Jni,
        reply: &'a mut Reply,
        number: usize,
    ) -> Self {
        Self {
            objects,
            jni,
            reply,
            number,
        }
    }

    /// Returns true if the answer is as long as it may be.
    pub(super) fn is_full(&self) -> bool {
        let bytes = |(name, value): &(String, String)| name.len() + value.len();
        self.reply.values.iter().map(bytes).sum::<usize>() > MAX_REPLY
    }

    fn push(&mut self, name: &str, value: impl std::fmt::Display) {
        // Names of fields may hold anything, and the first `=` of a line ends the name.
        let clean = |c: char| match c.is_whitespace() || c.is_control() || c == '=' {
            true => '_',
            false => c,
        };
        let name: String = name.chars().map(clean).collect();
        self.reply
            .push(&format!("object.{}.{name}", self.number), value);
    }

    /// Writes id, class, size and contents.
    pub(super) fn object(&mut self, id: i64, object: Ref<'_>) -> Result<()> {
        let jvmti = &self.objects.jvmti;
        let class = self.jni.object_class(object);
        let signature = jvmti.class_signature(class.get())?;
        let size = jvmti.object_size(object)?;
        self.push("id", id);
        self.push("class", name_of(&signature));
        self.push("size", size);
        let string = self.jni.find_class(c"java/lang/String")?;
        if let Some((text, length)) = self.jni.text(string.get(), object, MAX_TEXT) {
            self.push("length", length);
            self.push("text", quoted(&text, length));
            return Ok(());
        }
        let elements = self
            .objects
            .jvmti
            .elements(self.jni, object, MAX_ELEMENTS)?;
        if let Some((length, elements)) = elements {
            self.push("length", length);
            for (at, element) in elements.iter().enumerate() {
                let text = self.text(element, &string)?;
                self.push(&format!("element.{at}"), text);
            }
            return Ok(());
        }
        if signature == "Ljava/lang/Class;"
            && let Some(class) = self.jni.as_class(object)
        {
            let named = self.objects.jvmti.class_signature(class.get())?;
            self.push("names", name_of(&named));
        }
        let fields = self.objects.jvmti.instance_fields(self.jni, class)?;
        let names: Vec<String> = fields.names().map(str::to_owned).collect();
        for (at, name) in names.iter().enumerate() {
            if let Some(value) = fields.value(self.jni, object, at) {
                let text = self.text(&value, &string)?;
                self.push(&format!("field.{name}"), text);
            }
        }
        Ok(())
    }

    /// A value; objects get ids, so that they can be asked for.
    fn text(&mut self, value: &Value<'_>, string: &LocalRef<'_, Class>) -> Result<String> {
        let Value::Reference(Some(target)) = value else {
            return Ok(plain(self.jni, string.get(), value));
        };
        let id = self.objects.id(target.get())?;
        if let Some((text, length)) = self.jni.text(string.get(), target.get(), MAX_TEXT) {
            return Ok(format!("{} #{id}", quoted(&text, length)));
        }
        let class = self.jni.object_class(target.get());
        let signature = self.objects.jvmti.class_signature(class.get())?;
        let name = name_of(&signature);
        if BOXES.contains(&signature.as_str()) {
            let fields = self.objects.jvmti.instance_fields(self.jni, class)?;
            let at = fields.names().position(|field| field == "value");
            let boxed = at.and_then(|at| fields.value(self.jni, target.get(), at));
            if let Some(boxed) = boxed {
                let boxed = plain(self.jni, string.get(), &boxed);
                return Ok(format!("{name} {boxed} #{id}"));
            }
        }
        if signature.starts_with('[') {
            let elements = self.objects.jvmti.elements(self.jni, target.get(), 0)?;
            let length = elements.map_or(0, |(length, _)| length);
            let element = name.strip_suffix("[]").unwrap_or(&name);
            return Ok(format!("{element}[{length}] #{id}"));
        }
        Ok(format!("{name} #{id}"))
    }

    /// Writes how many referrers there are of each class and kind, the most first.
    pub(super) fn referrers(&mut self, referrers: &Referrers) -> Result<()> {
        let classes: Vec<i64> = referrers.keys().map(|(_, class)| *class).collect();
        let found = self.objects.jvmti.objects_with_tags(self.jni, &classes)?;
        let mut rows = Vec::new();
        for (&(kind, class), &count) in referrers {
            let class = found.iter().find(|(_, tag)| *tag == class);
            let class = class.and_then(|(object, _)| self.jni.as_class(object.get()));
            let name = match class {
                Some(class) => name_of(&self.objects.jvmti.class_signature(class.get())?),
                None => "an unnamed class".to_owned(),
            };
            let referrer = match kind {
                ReferenceKind::Field => name,
                ReferenceKind::Element => format!("element of {name}"),
                ReferenceKind::Static => format!("static field of {name}"),
                ReferenceKind::Class => format!("class {name}"),
                ReferenceKind::JniGlobal => "root: JNI global reference".to_owned(),
                ReferenceKind::SystemClass => "root: class of the boot loader".to_owned(),
                ReferenceKind::Monitor => "root: monitor in use".to_owned(),
                ReferenceKind::Local => "root: local variable".to_owned(),
                ReferenceKind::JniLocal => "root: JNI local reference".to_owned(),
                ReferenceKind::Thread => "root: running thread".to_owned(),
                ReferenceKind::Other => "root: other".to_owned(),
            };
            rows.push((count, referrer));
        }
        rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        for (at, (count, referrer)) in rows.iter().enumerate() {
            self.push(
                &format!("referrer.{}", at + 1),
                format!("{count} {referrer}"),
            );
        }
        Ok(())
    }
}

/// A value as the conditions of queries spell it: numbers in decimal, strings as they are, `null`.
/// Other objects have no text.
pub(super) fn plain(jni: &Jni, string: Ref<'_, Class>, value: &Value<'_>) -> String {
    match value {
        Value::Boolean(value) => value.to_string(),
        Value::Byte(value) => value.to_string(),
        Value::Char(unit) => String::from_utf16_lossy(&[*unit]),
        Value::Short(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Reference(None) => "null".to_owned(),
        Value::Reference(Some(object)) => {
            let text = jni.text(string, object.get(), usize::from(u16::MAX));
            text.map(|(text, _)| text).unwrap_or_default()
        }
    }
}

fn quoted(text: &str, length: usize) -> String {
    let shown = text.encode_utf16().count();
    match shown < length {
        true => format!("{text:?}... ({length} characters)"),
        false => format!("{text:?}"),
    }
}

/// The name of a class as Java source has it, by its signature.
fn name_of(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let dimensions = "[]".repeat(signature.len() - element.len());
    let name = match element
        .strip_prefix('L')
        .and_then(|it| it.strip_suffix(';'))
    {
        Some(class) => class.replace('/', "."),
        None => {
            let letter = element.bytes().next().unwrap_or(0);
            let primitive = hprof_java_names::Primitive::of_descriptor(letter);
            primitive.map_or(element, |it| it.name()).to_owned()
        }
    };
    format!("{name}{dimensions}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_become_names() {
        for (signature, expected) in [
            ("Lcom/acme/Cart$Item;", "com.acme.Cart$Item"),
            ("[B", "byte[]"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("LA$$Lambda.0x01;", "A$$Lambda.0x01"),
        ] {
            assert_eq!(name_of(signature), expected);
        }
    }

    #[test]
    fn long_texts_say_how_long_they_are() {
        assert_eq!(quoted("a\"b\n", 4), "\"a\\\"b\\n\"");
        assert_eq!(quoted("ab", 300), "\"ab\"... (300 characters)");
    }
}
