//! The declaration of all tables.

use super::ColumnType::{Boolean, Double, Int, Long, Text, Time};
use super::Storage::{Dictionary, Differences, Key};
use super::{Column, ColumnType, Storage, Table};

pub(super) const fn stored(
    name: &'static str,
    column_type: ColumnType,
    storage: Storage,
    about: &'static str,
) -> Column {
    Column {
        name,
        column_type,
        is_optional: false,
        storage,
        about,
    }
}

pub(super) const fn column(
    name: &'static str,
    column_type: ColumnType,
    about: &'static str,
) -> Column {
    stored(name, column_type, Dictionary, about)
}

pub(super) const fn optional(column: Column) -> Column {
    Column {
        is_optional: true,
        ..column
    }
}

/// All tables, the one to begin with first.
pub const TABLES: &[Table] = &[
    Table {
        name: "summary",
        about: "a dump or profile; it is there once all other files of the dump are",
        order: "one row",
        columns: &[
            column("kind", Text, "`heap` or `profile`"),
            column("file", Text, "the name of the file"),
            column("file_bytes", Long, "its size, uncompressed"),
            column("sha256", Text, "the hash of its bytes as they came"),
            optional(column("created", Time, "when it was taken")),
            optional(column(
                "build",
                Text,
                "the build of the program, from `--build`",
            )),
            column("tool_version", Text, "the version of hprof-rs"),
            column("schema_version", Int, "the version of this schema"),
            column(
                "id_bytes",
                Int,
                "the width of identifiers in the file, 0 for text",
            ),
            column("objects", Long, "objects, class objects included"),
            column("shallow", Long, "their bytes"),
            column("live_objects", Long, "objects that roots reach"),
            column("live_bytes", Long, "their bytes"),
            column("classes", Long, "classes"),
            column("loaders", Long, "class loaders, the boot loader included"),
            column(
                "roots",
                Long,
                "garbage-collection roots, those of stacks included",
            ),
            column("threads", Long, "threads"),
            column("suspects", Long, "leak suspects"),
            column(
                "duplicate_waste",
                Long,
                "bytes of all live primitive arrays but one of each content",
            ),
            optional(column(
                "string_waste",
                Long,
                "bytes of all strings but one of each text; null where `--memory` leaves no room for it",
            )),
            column("stacks", Long, "stacks"),
            column("samples", Long, "rows of the table `samples`"),
            column(
                "is_partial",
                Boolean,
                "true if parts of the file are missing or damaged",
            ),
            optional(column(
                "notes",
                Text,
                "the missing and damaged parts in words, a line each",
            )),
        ],
    },
    Table {
        name: "objects",
        about: "an object of a heap dump; class objects are objects of java.lang.Class",
        order: "by class, then by id",
        columns: &[
            stored("id", Long, Key, "identifier"),
            column(
                "class",
                Text,
                "name of its class, such as `java.lang.String` or `int[]`",
            ),
            column(
                "class_id",
                Long,
                "identifier of its class; 0 if the file has none",
            ),
            column("shallow", Long, "bytes of the object itself"),
            column(
                "retained",
                Long,
                "bytes that it keeps alive, itself included; 0 if no root reaches it",
            ),
            optional(stored(
                "dominator",
                Long,
                Differences,
                "identifier of its immediate dominator; null under the roots",
            )),
            optional(column(
                "depth",
                Int,
                "depth in the dominator tree, 1 under the roots; null if no root reaches it",
            )),
            optional(column(
                "trace",
                Long,
                "the stack that allocated it, as in `stacks`",
            )),
        ],
    },
    Table {
        name: "references",
        about: "a reference from one object to another that the dump has; references of objects to their class are left out",
        order: "by place in the file",
        columns: &[
            stored(
                "source",
                Long,
                Differences,
                "identifier of the object that refers",
            ),
            column(
                "kind",
                Text,
                "`field`, `element`, `static`, `constant`, `local`, `class` (of a class object) or `defined_class`",
            ),
            optional(column(
                "name",
                Text,
                "the field, or words; null for elements",
            )),
            optional(stored(
                "position",
                Int,
                Differences,
                "the index of an element",
            )),
            stored(
                "target",
                Long,
                Differences,
                "identifier of the object that is referred to",
            ),
            column(
                "is_strong",
                Boolean,
                "false if it keeps nothing alive, as that of a WeakReference",
            ),
        ],
    },
    Table {
        name: "classes",
        about: "a class of a loader",
        order: "by number in the dump",
        columns: &[
            column(
                "id",
                Long,
                "identifier of the class object; 0 if the file has none",
            ),
            column("name", Text, "name"),
            column("package", Text, "package"),
            optional(column("super", Text, "name of the super class")),
            optional(column("super_id", Long, "its identifier")),
            column(
                "loader",
                Long,
                "identifier of the loader; 0 for the boot loader",
            ),
            column(
                "loader_class",
                Text,
                "class of the loader, or `boot loader`",
            ),
            column("instances", Long, "instances"),
            column("live_instances", Long, "instances that roots reach"),
            column("shallow", Long, "bytes of all instances themselves"),
            column(
                "retained",
                Long,
                "bytes that would be free without all instances",
            ),
            column("is_exact", Boolean, "false if `retained` is a lower bound"),
            optional(column(
                "instance_size",
                Long,
                "bytes of one instance; null for arrays",
            )),
        ],
    },
    Table {
        name: "histogram",
        about: "all classes of one name, without class objects, as in `hprof-rs histogram`",
        order: "by shallow size, descending",
        columns: &[
            column("class", Text, "name"),
            column(
                "family",
                Text,
                "name without the numbers and addresses of lambdas and hidden classes, which differ from run to run",
            ),
            column("instances", Long, "instances"),
            column("shallow", Long, "their bytes"),
            column("live_instances", Long, "instances that roots reach"),
            column("live_bytes", Long, "their bytes"),
            column(
                "retained",
                Long,
                "bytes that would be free without all instances",
            ),
            column("is_exact", Boolean, "false if `retained` is a lower bound"),
        ],
    },
    Table {
        name: "roots",
        about: "a reason why an object is alive without a reference to it",
        order: "by object; those of stacks after the others, by thread",
        columns: &[
            column("object", Long, "identifier of the object"),
            column("class", Text, "name of its class"),
            column("kind", Text, "what holds it, such as `local variable`"),
            optional(column(
                "thread",
                Long,
                "identifier of the thread whose stack holds it",
            )),
            optional(column(
                "frame",
                Int,
                "the frame of the stack, 0 being the innermost",
            )),
            column("retained", Long, "bytes that the object keeps alive"),
        ],
    },
    Table {
        name: "threads",
        about: "a thread",
        order: "by retained size, descending",
        columns: &[
            column("id", Long, "identifier of the thread object"),
            column("serial", Long, "its serial in the file"),
            optional(column("name", Text, "name")),
            column("class", Text, "class of the thread object"),
            optional(column("state", Text, "state, as in java.lang.Thread.State")),
            column("retained", Long, "bytes that object and stack keep alive"),
            column("locals", Int, "objects that the stack holds"),
            column("frames", Int, "frames of the stack"),
            optional(column("top", Text, "the innermost method")),
            optional(column("stack", Long, "the stack, as in `stacks`")),
        ],
    },
    Table {
        name: "stacks",
        about: "a stack of calls: of a thread, of an allocation, of a sample",
        order: "by stack",
        columns: &[
            column("stack", Long, "the trace serial of the file"),
            optional(column("thread", Long, "the serial of its thread")),
            column("frames", Int, "frames"),
            optional(column("top", Text, "the innermost method")),
            column(
                "folded",
                Text,
                "the methods, outermost first, with `;` between: equal for equal stacks of different files",
            ),
        ],
    },
    Table {
        name: "frames",
        about: "a frame of a stack",
        order: "by stack, innermost frame first",
        columns: &[
            column("stack", Long, "the stack"),
            column("position", Int, "0 for the innermost frame"),
            column("class", Text, "class; empty if the file does not have it"),
            column("method", Text, "method"),
            optional(column("file", Text, "source file")),
            optional(column(
                "line",
                Int,
                "line; null for native methods and unknown lines",
            )),
            column("is_native", Boolean, "true for native methods"),
        ],
    },
    Table {
        name: "sites",
        about: "an allocation site of heap=sites: a class and a stack",
        order: "as in the file",
        columns: &[
            column("class", Text, "class of the objects"),
            column("stack", Long, "the stack, as in `stacks`"),
            column("live_bytes", Long, "bytes still alive"),
            column("live_objects", Long, "objects still alive"),
            column("allocated_bytes", Long, "bytes ever allocated"),
            column("allocated_objects", Long, "objects ever allocated"),
        ],
    },
    Table {
        name: "samples",
        about: "the cost of a stack in one measure",
        order: "by measure, then as in the file",
        columns: &[
            column(
                "measure",
                Text,
                "`samples`, `time`, `calls`, `live-bytes`, `live-objects`, `allocated-bytes`, `allocated-objects` or `contention`",
            ),
            column(
                "unit",
                Text,
                "`samples`, `ms`, `calls`, `bytes` or `objects`",
            ),
            column("stack", Long, "the stack, as in `stacks`"),
            optional(column(
                "class",
                Text,
                "class of the object that was allocated or waited for",
            )),
            column("value", Long, "the cost"),
        ],
    },
    Table {
        name: "findings",
        about: "a leak suspect",
        order: "by retained size, descending",
        columns: &[
            column("rank", Int, "1 for the largest"),
            column(
                "signature",
                Text,
                "classes and fields that hold it: equal for equal suspects of different dumps",
            ),
            column(
                "kind",
                Text,
                "`object`, `group`, `alike`, `thread_locals` or `hidden_classes`",
            ),
            column("class", Text, "class of the suspect"),
            optional(column(
                "filled_with",
                Text,
                "class of the objects that fill it",
            )),
            column("objects", Long, "objects that are suspected together"),
            column("retained", Long, "bytes that they keep alive"),
            column("share", Double, "share of the live heap, from 0 to 1"),
            column(
                "object",
                Long,
                "identifier of the object at which memory piles up",
            ),
        ],
    },
    Table {
        name: "duplicates",
        about: "primitive arrays of one content, such as those of equal strings; the 1000 that waste most",
        order: "by waste, descending",
        columns: &[
            column(
                "hash",
                Text,
                "SHA-256 of the element type and the elements: equal in all dumps of one VM release",
            ),
            column("element", Text, "type of the elements"),
            column("is_string", Boolean, "true if strings consist of them"),
            column("copies", Long, "arrays"),
            column("bytes", Long, "bytes of one"),
            column("waste", Long, "bytes of all but one"),
            optional(column(
                "text",
                Text,
                "the first 200 characters; only with `--strings`",
            )),
        ],
    },
    Table {
        name: "strings",
        about: "a java.lang.String; only with `--strings`",
        order: "by id",
        columns: &[
            stored("id", Long, Differences, "identifier"),
            optional(column(
                "text",
                Text,
                "the text, at most 65536 characters of it; null if its array is missing",
            )),
            column("retained", Long, "bytes that it keeps alive"),
        ],
    },
];
