//! A dump of Android's VM with an object that leads to one that leaks.

use hprof_analysis::android::{Mark, Status, Trace, traces};
use hprof_analysis::snapshot::Snapshot;

use crate::common::made::Put::{self, Int, Long, Ref};
use crate::common::made::{Made, open};

/// A dump in the making.
pub struct Phone {
    pub made: Made,
    pub object: u64,
    pub string: u64,
    /// An object that LeakCanary waits for.
    pub leaf: u64,
    held: Vec<u64>,
}

impl Phone {
    pub fn new() -> Self {
        let mut made = Made::bare("JAVA PROFILE 1.0.3", 4);
        let object = made.class_with("java.lang.Object", 0, &[], &[], 8);
        made.class_with("java.lang.Class", object, &[], &[], 16);
        let string = made.class_with("java.lang.String", object, &[("value", Ref(0))], &[], 16);
        let mut phone = Self {
            made,
            object,
            string,
            leaf: 0,
            held: Vec::new(),
        };
        let leaf = phone.class("com.example.Leaf", object, &[]);
        phone.leaf = phone.made.instance(leaf, &[]);
        phone.watch(phone.leaf);
        phone
    }

    /// Has LeakCanary wait for an object.
    fn watch(&mut self, object: u64) {
        let fields = [("referent", Ref(0)), ("retainedUptimeMillis", Long(0))];
        let statics = [("heapDumpUptimeMillis", Long(5000))];
        let name = "leakcanary.KeyedWeakReference";
        let class = self
            .made
            .class_with(name, self.object, &fields, &statics, 24);
        let values = [("referent", Ref(object)), ("retainedUptimeMillis", Long(4))];
        self.made.instance(class, &values);
    }

    pub fn class(&mut self, name: &str, above: u64, fields: &[(&str, Put)]) -> u64 {
        self.made.class_with(name, above, fields, &[], 64)
    }

    pub fn text(&mut self, text: &str) -> Put {
        Ref(self.made.string(self.string, text))
    }

    /// An instance of a new class with fields.
    pub fn of(&mut self, name: &str, values: &[(&str, Put)]) -> u64 {
        let class = self.class(name, self.object, values);
        self.made.instance(class, values)
    }

    /// An instance of a class of the program that derives from a new one with fields, and leads to the
    /// leaf.
    pub fn own(&mut self, name: &str, values: &[(&str, Put)]) -> u64 {
        let above = self.class(name, self.object, values);
        self.own_of(above, values)
    }

    /// As [`Self::own`], of a class that is there.
    pub fn own_of(&mut self, above: u64, values: &[(&str, Put)]) -> u64 {
        let class = self.class("com.example.Own", above, &[("tail", Ref(0))]);
        let leaf = Ref(self.leaf);
        self.made
            .instance(class, &[values, &[("tail", leaf)]].concat())
    }

    /// A constant of an enumeration.
    pub fn constant(&mut self, name: &str) -> u64 {
        let name = self.text(name);
        self.of("java.lang.Enum", &[("name", name)])
    }

    /// An activity, destroyed or not.
    pub fn activity(&mut self, is_destroyed: bool) -> u64 {
        let context = self.class("android.content.Context", self.object, &[]);
        let fields = [("mBase", Ref(0))];
        let wrapper = self.class("android.content.ContextWrapper", context, &fields);
        let fields = [("mDestroyed", Put::Bool(false))];
        let activity = self.class("android.app.Activity", wrapper, &fields);
        let class = self.class("com.example.Screen", activity, &[]);
        let values = [("mDestroyed", Put::Bool(is_destroyed))];
        self.made.instance(class, &values)
    }

    /// Has a class of the program hold an object, of which nothing is known.
    pub fn hold(&mut self, object: u64) {
        self.held.push(object);
    }

    pub fn device(&mut self, maker: &str, sdk: i32) {
        let maker = self.text(maker);
        let object = self.object;
        self.made.class_with(
            "android.os.Build",
            object,
            &[],
            &[("MANUFACTURER", maker)],
            8,
        );
        let statics = [("SDK_INT", Int(sdk))];
        self.made
            .class_with("android.os.Build$VERSION", object, &[], &statics, 8);
    }

    pub fn open(mut self) -> Snapshot {
        for object in std::mem::take(&mut self.held) {
            let holder = self.of("com.example.Holder", &[("held", Ref(object))]);
            self.made.root(0xff, holder);
        }
        open(&self.made.bytes())
    }

    pub fn traces(self) -> Vec<Trace> {
        traces(&self.open()).expect("room")
    }

    /// The mark of an object on the path to the leaf, or of the object itself if it leaks.
    pub fn mark(mut self, object: u64) -> Mark {
        self.hold(object);
        let traces = self.traces();
        let id = format!("{object:#x}");
        let found = traces.iter().find_map(|trace| {
            let at = trace.path.steps.iter().position(|step| step.id == id)?;
            trace.marks.get(at).cloned()
        });
        found.expect("a path to the object")
    }
}

/// Finds out whether an object's life is over, and why.
pub fn life(build: impl FnOnce(&mut Phone) -> u64) -> (Status, String) {
    let mut phone = Phone::new();
    let object = build(&mut phone);
    let mark = phone.mark(object);
    (mark.status, mark.reason)
}

/// Returns the other facts about an object.
pub fn labels(build: impl FnOnce(&mut Phone) -> u64) -> Vec<String> {
    let mut phone = Phone::new();
    let object = build(&mut phone);
    phone.mark(object).labels
}
