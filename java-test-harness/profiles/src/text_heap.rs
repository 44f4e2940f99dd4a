//! Reads heap dumps in the text format, for assertions. Keeps every object.

use std::collections::{BTreeMap, HashMap};

/// The text between HEAP DUMP BEGIN and HEAP DUMP END.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct TextHeap {
    /// The announced number of objects.
    pub objects: u64,
    /// The announced bytes.
    pub bytes: u64,
    /// ROOT lines: object, and what stands in `kind=<>` with all behind it.
    pub roots: Vec<(u64, String)>,
    /// OBJ and ARR lines by id.
    pub entries: HashMap<u64, TextObject>,
    /// CLS lines by id.
    pub classes: BTreeMap<u64, TextClass>,
    last: u64,
}

/// An OBJ or ARR line and what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct TextObject {
    /// Size in bytes.
    pub size: u64,
    /// Allocation trace.
    pub trace: u32,
    /// Elements, if it is an array.
    pub elements: Option<u64>,
    /// The class's name.
    pub class: String,
    /// The class's id, except for arrays of primitive types.
    pub class_id: Option<u64>,
    /// References by field name or index.
    pub references: Vec<(String, u64)>,
}

/// A CLS line and what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct TextClass {
    /// The name.
    pub name: String,
    /// References: `super`, `loader`, `static x`, ...
    pub references: Vec<(String, u64)>,
}

impl TextHeap {
    /// Begins with what stands in the parentheses of HEAP DUMP BEGIN.
    pub(crate) fn begin(totals: &str) -> Option<TextHeap> {
        let (objects, bytes) = totals.split_once(" objects, ")?;
        Some(TextHeap {
            objects: objects.parse().ok()?,
            bytes: bytes.strip_suffix(" bytes")?.parse().ok()?,
            ..TextHeap::default()
        })
    }

    pub(crate) fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix('\t') {
            let (name, id) = rest.rsplit_once('\t').ok_or("no reference")?;
            let reference = (name.trim_end_matches('\t').to_owned(), hex(id)?);
            if let Some(object) = self.entries.get_mut(&self.last) {
                object.references.push(reference);
            } else if let Some(class) = self.classes.get_mut(&self.last) {
                class.references.push(reference);
            } else {
                return Err("a reference of nothing".into());
            }
            return Ok(());
        }
        let (kind, rest) = line.split_once(' ').ok_or("unknown")?;
        let (id, rest) = rest.split_once(" (").ok_or("unknown")?;
        let (id, rest) = (hex(id)?, rest.strip_suffix(')').ok_or("no end")?);
        let is_late = match kind {
            "ROOT" => !self.entries.is_empty() || !self.classes.is_empty(),
            "OBJ" | "ARR" => !self.classes.is_empty(),
            _ => false,
        };
        if is_late {
            return Err("out of order".into());
        }
        self.last = id;
        match kind {
            "ROOT" => {
                let kind = rest.strip_prefix("kind=<").ok_or("no kind")?;
                self.roots.push((id, kind.to_owned()));
            }
            "CLS" => {
                let name = rest.strip_prefix("name=").ok_or("no name")?;
                let (name, _trace) = name.rsplit_once(", trace=").ok_or("no trace")?;
                let class = TextClass {
                    name: name.to_owned(),
                    references: Vec::new(),
                };
                if self.classes.insert(id, class).is_some() {
                    return Err("written twice".into());
                }
            }
            "OBJ" | "ARR" => {
                let object = parse_object(rest).ok_or("malformed")?;
                if object.elements.is_some() != (kind == "ARR") {
                    return Err("malformed".into());
                }
                if id == 0 || self.entries.insert(id, object).is_some() {
                    return Err("null, or written twice".into());
                }
            }
            _ => return Err("unknown".into()),
        }
        Ok(())
    }

    /// Objects and bytes for each class, by name.
    pub fn counts(&self) -> BTreeMap<String, (u64, u64)> {
        let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for object in self.entries.values() {
            let (objects, bytes) = counts.entry(object.class.clone()).or_default();
            *objects += 1;
            *bytes += object.size;
        }
        counts
    }

    /// All references to what is not in the dump, as holder and target; roots hold from 0.
    pub fn dangling(&self) -> Vec<(u64, u64)> {
        let is_known = |id: u64| self.entries.contains_key(&id) || self.classes.contains_key(&id);
        let mut all: Vec<(u64, u64)> = self.roots.iter().map(|(id, _)| (0, *id)).collect();
        for (id, object) in &self.entries {
            all.extend(object.class_id.map(|class| (*id, class)));
            all.extend(object.references.iter().map(|(_, target)| (*id, *target)));
        }
        for (id, class) in &self.classes {
            all.extend(class.references.iter().map(|(_, target)| (*id, *target)));
        }
        all.retain(|(_, target)| !is_known(*target));
        all
    }
}

/// `sz=24, trace=300000, class=A@5` or `sz=24, trace=300000, nelems=2, elem type=A[]@5`
fn parse_object(text: &str) -> Option<TextObject> {
    let (size, rest) = text.strip_prefix("sz=")?.split_once(", trace=")?;
    let (trace, rest) = rest.split_once(", ")?;
    let (elements, class) = match rest.strip_prefix("class=") {
        Some(class) => (None, class),
        None => {
            let (elements, class) = rest.strip_prefix("nelems=")?.split_once(", elem type=")?;
            (Some(elements.parse().ok()?), class)
        }
    };
    let (class, class_id) = match class.rsplit_once('@') {
        Some((class, id)) => (class, Some(u64::from_str_radix(id, 16).ok()?)),
        None => (class, None),
    };
    Some(TextObject {
        size: size.parse().ok()?,
        trace: trace.parse().ok()?,
        elements,
        class: class.to_owned(),
        class_id,
        references: Vec::new(),
    })
}

fn hex(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| "no id".into())
}
