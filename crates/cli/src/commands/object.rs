//! `hprof-rs object`, `referrers` and `references`: single objects.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::graph::ClassKind;
use hprof_analysis::leaks::ObjectShare;
use hprof_analysis::numbers::ObjectNumber;
use hprof_analysis::snapshot::{Snapshot, Value, decimal};
use serde_json::json;

use crate::render::screen::{
    Align, Style, bytes, columns, count, plural, print, print_json, printable,
};
use crate::snapshot::{self, HeapArguments};

/// Show an object: its fields, elements or text, and what it keeps alive.
///
/// Strings, boxed values and collections are shown by their contents.
#[derive(Debug, Args)]
#[command(after_help = OBJECT_EXAMPLES)]
pub struct Object {
    #[command(flatten)]
    heap: HeapArguments,

    /// The identifier of the object, such as 0x7ffd00770.
    #[arg(value_name = "OBJECT")]
    object: String,

    /// The number of elements to show.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const OBJECT_EXAMPLES: &str = "\
Examples:
  hprof-rs object heap.hprof 0x7ffd00770
  hprof-rs object --top 1000 --json heap.hprof 0x7ffd00770";

/// The object whose neighbours are listed, and the form of the list.
#[derive(Debug, Args)]
struct NeighbourList {
    #[command(flatten)]
    heap: HeapArguments,

    /// The identifier of the object, such as 0x7ffd00770.
    #[arg(value_name = "OBJECT")]
    object: String,

    /// The number of rows.
    #[arg(long, value_name = "N", default_value_t = 50)]
    top: usize,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Show what refers to an object.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs referrers heap.hprof 0x7ffd00770")]
pub struct Referrers {
    #[command(flatten)]
    list: NeighbourList,
}

/// Show what an object refers to.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs references heap.hprof 0x7ffd00770")]
pub struct References {
    #[command(flatten)]
    list: NeighbourList,
}

/// Characters of a text that are shown.
const TEXT: usize = 10_000;

impl Object {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let snapshot = snapshot::open(&self.heap.file, &self.heap.look)?;
        let object = snapshot::object(&snapshot, &self.object)?;
        let share = ObjectShare::new(&snapshot, object);
        let fields = fields(&snapshot, object);
        let elements = elements(&snapshot, object, self.top);
        let text = snapshot.string(object, TEXT);
        let roots: Vec<String> = (snapshot.graph().roots_of(object).iter())
            .map(|root| snapshot.root_in_words(root))
            .collect();
        let class_id = snapshot.class_object(object);
        let class_id = class_id.map(|class| format!("{:#x}", snapshot.graph().id(class)));
        if self.json {
            return print_json(&json!({
                "file": snapshot.name,
                "object": share,
                "class": snapshot.class_name(object),
                "class_id": class_id,
                "text": text,
                "roots": roots,
                "fields": fields.iter().map(|(name, class, value)| json!({
                    "name": name,
                    "class": class,
                    "value": in_json(&snapshot, value),
                })).collect::<Vec<_>>(),
                "elements": elements.iter().map(|(name, value)| json!({
                    "name": name,
                    "value": in_json(&snapshot, value),
                })).collect::<Vec<_>>(),
            }));
        }
        let style = Style::of_stdout();
        let mut out = style.bold(&printable(&share.description));
        out.push_str(&format!(
            "\n{}, {} itself, keeps {} alive\n",
            share.id,
            bytes(share.shallow_bytes),
            bytes(share.retained_bytes)
        ));
        if let Some(id) = &class_id {
            let class = printable(snapshot.class_name(object));
            out.push_str(&format!("Class: {class} {id}\n"));
        }
        for root in &roots {
            out.push_str(&format!("Root: {}\n", printable(root)));
        }
        if snapshot.dominators().place(object).is_none() {
            out.push_str("Not reached from roots.\n");
        }
        if let Some(text) = &text {
            out.push_str(&format!("\n{}\n", printable(text)));
        }
        if !fields.is_empty() {
            out.push('\n');
            let rows: Vec<_> = fields
                .iter()
                .map(|(name, class, value)| {
                    [
                        printable(name),
                        in_words(&snapshot, value),
                        printable(class),
                    ]
                })
                .collect();
            let head = [
                ("field", Align::Left),
                ("value", Align::Left),
                ("declared by", Align::Left),
            ];
            out.push_str(&columns(style, head, &rows));
        }
        if !elements.is_empty() {
            out.push('\n');
            for (name, value) in &elements {
                out.push_str(&format!(
                    "{}{}\n",
                    printable(name),
                    in_words(&snapshot, value)
                ));
            }
        }
        print(&out)
    }
}

/// Name, declaring class and value of the fields of an instance, or of the statics of a class.
fn fields(snapshot: &Snapshot, object: ObjectNumber) -> Vec<(String, String, Value)> {
    let classes = snapshot.graph().classes();
    if let Some(class) = snapshot.graph().class_of_object(object) {
        let class = classes.get(class);
        return (class.statics.iter())
            .map(|field| {
                let name = format!("static {}", field.name);
                (name, class.name.clone(), snapshot.static_value(field))
            })
            .collect();
    }
    (snapshot.fields(object).into_iter())
        .map(|field| {
            (
                field.name,
                classes.get(field.class).name.clone(),
                field.value,
            )
        })
        .collect()
}

/// The elements of an array or collection, with a prefix for each line.
fn elements(snapshot: &Snapshot, object: ObjectNumber, most: usize) -> Vec<(String, Value)> {
    if snapshot.collection(object).is_some() {
        let entries = snapshot.collection_elements(object, most);
        return entries
            .into_iter()
            .enumerate()
            .map(|(index, (key, value))| match value {
                Some(value) => (format!("{} = ", in_words(snapshot, &key)), value),
                None => (format!("[{index}] "), key),
            })
            .collect();
    }
    let class = snapshot.graph().class_of(object);
    let values = match snapshot.graph().classes().get(class).kind {
        ClassKind::Primitives(_) => snapshot.primitives(object, most),
        ClassKind::Objects => {
            let mut elements = snapshot.elements(object);
            elements.truncate(most);
            elements
        }
    };
    let named = |(index, value)| (format!("[{index}] "), value);
    values.into_iter().enumerate().map(named).collect()
}

/// A value in a few words.
pub(crate) fn in_words(snapshot: &Snapshot, value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(object) => {
            let id = snapshot.graph().id(*object);
            printable(&format!("{} {id:#x}", snapshot.describe(*object)))
        }
        Value::Missing(id) => format!("{id:#x}, which the file lacks"),
        Value::Boolean(value) => value.to_string(),
        Value::Char(value) => format!("'{}'", value.escape_debug()),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => decimal(*value),
    }
}

fn in_json(snapshot: &Snapshot, value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Object(object) => json!({
            "id": format!("{:#x}", snapshot.graph().id(*object)),
            "description": snapshot.describe(*object),
        }),
        Value::Missing(id) => json!({"id": format!("{id:#x}"), "missing": true}),
        Value::Boolean(value) => json!(value),
        Value::Char(value) => json!(value.to_string()),
        Value::Integer(value) => json!(value),
        // JSON has no such numbers.
        Value::Float(value) if !value.is_finite() => json!(decimal(*value)),
        Value::Float(value) => json!(value),
    }
}

impl Referrers {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let Self { list } = self;
        let snapshot = snapshot::open(&list.heap.file, &list.heap.look)?;
        let object = snapshot::object(&snapshot, &list.object)?;
        let mut found = snapshot.referrers(object);
        found.sort_by_key(|(from, _)| std::cmp::Reverse(snapshot.retained(*from)));
        let weak = snapshot.weak_referrers(object).len();
        let roots: Vec<String> = (snapshot.graph().roots_of(object).iter())
            .map(|root| snapshot.root_in_words(root))
            .collect();
        let all = found.len();
        found.truncate(list.top);
        let rows: Vec<_> = (found.iter())
            .map(|(from, edge)| (edge.to_string(), ObjectShare::new(&snapshot, *from)))
            .collect();
        if list.json {
            let rows: Vec<_> = (rows.iter().zip(&found))
                .map(|((_, share), (_, edge))| json!({"object": share, "edge": edge}))
                .collect();
            return print_json(&json!({
                "file": snapshot.name,
                "object": ObjectShare::new(&snapshot, object),
                "roots": roots,
                "referrers": rows,
                "rows_left_out": all - found.len(),
                "weak_referrers": weak,
            }));
        }
        let mut text = table(&rows);
        for root in &roots {
            text.push_str(&format!("Root: {}\n", printable(root)));
        }
        text.push_str(&format!(
            "{} to {}{}\n",
            plural(all as u64, "object refers", "objects refer"),
            printable(&snapshot.describe(object)),
            match weak {
                0 => String::new(),
                weak => format!(
                    ", and {} in ways that do not keep it alive",
                    count(weak as u64)
                ),
            }
        ));
        print(&text)
    }
}

impl References {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let Self { list } = self;
        let snapshot = snapshot::open(&list.heap.file, &list.heap.look)?;
        let object = snapshot::object(&snapshot, &list.object)?;
        let mut found = snapshot.references(object);
        let all = found.len();
        found.truncate(list.top);
        let rows: Vec<_> = (found.iter())
            .map(|(to, edge)| (edge.to_string(), ObjectShare::new(&snapshot, *to)))
            .collect();
        if list.json {
            let rows: Vec<_> = (rows.iter().zip(&found))
                .map(|((_, share), (_, edge))| json!({"object": share, "edge": edge}))
                .collect();
            return print_json(&json!({
                "file": snapshot.name,
                "object": ObjectShare::new(&snapshot, object),
                "references": rows,
                "rows_left_out": all - found.len(),
            }));
        }
        let mut text = table(&rows);
        text.push_str(&format!(
            "{} refers to {}\n",
            printable(&snapshot.describe(object)),
            plural(all as u64, "object", "objects")
        ));
        print(&text)
    }
}

fn table(rows: &[(String, ObjectShare)]) -> String {
    let head = [
        ("retained", Align::Right),
        ("object", Align::Left),
        ("through", Align::Left),
        ("", Align::Left),
    ];
    let rows: Vec<_> = rows
        .iter()
        .map(|(edge, share)| {
            [
                count(share.retained_bytes),
                share.id.clone(),
                printable(edge.trim_start()),
                printable(&share.description),
            ]
        })
        .collect();
    columns(Style::of_stdout(), head, &rows)
}
