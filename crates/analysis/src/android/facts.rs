//! Device and program of an Android dump.

use serde::Serialize;

use super::fields::static_of;
use crate::numbers::ObjectNumber;
use crate::snapshot::{Snapshot, Value};

/// Device and program of an Android dump; `None` where unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AndroidFacts {
    /// The level of the API, such as 34.
    pub sdk: Option<i64>,
    /// The release of Android, such as "14".
    pub release: Option<String>,
    /// Who made the device.
    pub manufacturer: Option<String>,
    /// The model of the device.
    pub model: Option<String>,
    /// The name of the process.
    pub process: Option<String>,
    /// The package of the program.
    pub package: Option<String>,
    /// The version of the program as its users know it.
    pub version: Option<String>,
    /// The version of the program as a number.
    pub version_code: Option<i64>,
}

/// Characters of a text.
const MAX_TEXT: usize = 200;

/// Looks for what an Android dump tells of the device and the program.
///
/// The device is in static fields of `android.os.Build`. The program is what the thread of the
/// program's activities has bound (`ActivityThread.mBoundApplication`); else the package that was
/// loaded, if there is only one. The version is in the package's own `PackageInfo`, or in the class
/// `BuildConfig` that builds make.
pub fn android_facts(snapshot: &Snapshot) -> AndroidFacts {
    let of_class = |class: &str, field: &str| static_of(snapshot, class, field);
    let text = |value: Option<Value>| text(snapshot, value);
    let bound = of_class("android.app.ActivityThread", "sCurrentActivityThread")
        .and_then(|thread| snapshot.field_object(thread.object()?, "mBoundApplication"));
    let in_bound = |field: &str| snapshot.field_object(bound?, field);
    let info = in_bound("appInfo");
    let in_info = |field: &str| text(snapshot.field(info?, field));
    let process = text(bound.and_then(|bound| snapshot.field(bound, "processName")));
    let loaded = in_bound("info");
    let loaded = text(loaded.and_then(|loaded| snapshot.field(loaded, "mPackageName")));
    let package = loaded.or_else(|| in_info("packageName"));
    let package = package.or_else(|| only_package(snapshot));
    let (mut version, mut version_code) = (None, None);
    if let Some(package) = &package {
        let own = instances(snapshot, "android.content.pm.PackageInfo")
            .find(|&it| text(snapshot.field(it, "packageName")).as_ref() == Some(package));
        version = own.and_then(|own| text(snapshot.field(own, "versionName")));
        version_code = own.and_then(|own| {
            let part = |name| snapshot.field(own, name)?.integer();
            // Since SDK 28 the upper half is a field of its own.
            let high = part("versionCodeMajor").unwrap_or(0);
            Some(high << 32 | part("versionCode")? & 0xffff_ffff)
        });
        let config = format!("{package}.BuildConfig");
        version = version.or_else(|| text(of_class(&config, "VERSION_NAME")));
        version_code = version_code.or_else(|| of_class(&config, "VERSION_CODE")?.integer());
    }
    let code_in_info = || {
        let code = |name| snapshot.field(info?, name)?.integer();
        code("longVersionCode").or_else(|| code("versionCode"))
    };
    AndroidFacts {
        sdk: of_class("android.os.Build$VERSION", "SDK_INT").and_then(|sdk| sdk.integer()),
        release: text(of_class("android.os.Build$VERSION", "RELEASE")),
        manufacturer: text(of_class("android.os.Build", "MANUFACTURER")),
        model: text(of_class("android.os.Build", "MODEL")),
        process: process.or_else(|| in_info("processName")),
        package,
        version,
        version_code: version_code.or_else(code_in_info).filter(|&code| code != 0),
    }
}

impl AndroidFacts {
    /// Lines of a name and a value each; what the dump does not tell is unknown.
    pub fn lines(&self) -> [(&'static str, String); 3] {
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let device = match (&self.manufacturer, &self.model) {
            (Some(maker), Some(model)) => format!("{maker} {model}"),
            (Some(only), None) => format!("{only}, model {UNKNOWN}"),
            (None, Some(only)) => format!("{only}, maker {UNKNOWN}"),
            (None, None) => UNKNOWN.to_owned(),
        };
        let sdk = self
            .sdk
            .map_or_else(|| UNKNOWN.to_owned(), |sdk| sdk.to_string());
        let release = or_unknown(&self.release);
        let process = or_unknown(&self.process);
        let package = match &self.package {
            Some(package) if Some(package) != self.process.as_ref() => format!(" of {package}"),
            _ => String::new(),
        };
        let code = self
            .version_code
            .map_or_else(String::new, |code| format!(" ({code})"));
        let version = or_unknown(&self.version);
        [
            ("device", device),
            ("Android", format!("{release}, SDK {sdk}")),
            (
                "process",
                format!("{process}{package}, version {version}{code}"),
            ),
        ]
    }
}

const UNKNOWN: &str = "unknown";

fn text(snapshot: &Snapshot, value: Option<Value>) -> Option<String> {
    let text = snapshot.string(value?.object()?, MAX_TEXT)?;
    // A stripped dump has names of zeros.
    let is_blank = text.is_empty() || text.chars().all(char::is_control);
    (!is_blank && !snapshot.is_stripped()).then_some(text)
}

fn instances<'a>(snapshot: &'a Snapshot, class: &str) -> impl Iterator<Item = ObjectNumber> + 'a {
    let classes = snapshot.graph().classes().list().iter();
    let wanted: Vec<bool> = classes.map(|it| it.name == class).collect();
    let graph = snapshot.graph();
    (graph.objects()).filter(move |&object| wanted[graph.class_of(object).index()])
}

/// The package that was loaded, if there is only one.
fn only_package(snapshot: &Snapshot) -> Option<String> {
    let loaded = instances(snapshot, "android.app.LoadedApk");
    let mut names: Vec<String> = loaded
        .filter_map(|loaded| text(snapshot, snapshot.field(loaded, "mPackageName")))
        .filter(|name| name != "android")
        .collect();
    names.sort();
    names.dedup();
    match names.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}
