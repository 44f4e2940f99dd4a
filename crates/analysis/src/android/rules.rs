//! The classes whose objects tell of their life.

use rustc_hash::FxHashMap;

/// The rule for the life cycle of a class's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Activity,
    Fragment(&'static str),
    ViewModel(&'static str),
    View,
    Editor,
    Service,
    Dialog,
    Application,
    ContextImpl,
    ContextWrapper,
    PackageManager,
    /// One for the whole process.
    Singleton,
    MessageQueue,
    Message,
    Toast,
    Window,
    ViewRoot,
    Lifecycle,
    Recomposer,
    Composition,
    MortarPresenter,
    MortarScope,
    Coordinator,
    Animator,
    Binder,
    Thread,
    Loader,
    WatchReference,
}

impl Rule {
    /// The rules by the class that has them; those derived from it have the same one.
    pub fn by_class() -> FxHashMap<&'static str, Self> {
        RULES.iter().copied().collect()
    }

    /// Returns true if an object of the class is reported as a leak when its life is over. Others, which come along
    /// with such objects, only say so on a path.
    pub fn is_reported(self) -> bool {
        matches!(
            self,
            Self::Activity
                | Self::Fragment(_)
                | Self::ViewModel(_)
                | Self::View
                | Self::Service
                | Self::MessageQueue
                | Self::Toast
                | Self::Window
                | Self::ViewRoot
                | Self::MortarScope
        )
    }
}

const FRAGMENTS: [&str; 3] = [
    "android.app.Fragment",
    "android.support.v4.app.Fragment",
    "androidx.fragment.app.Fragment",
];
const VIEW_MODELS: [&str; 2] = [
    "androidx.lifecycle.ViewModel",
    "android.arch.lifecycle.ViewModel",
];

const RULES: &[(&str, Rule)] = &[
    ("android.app.Activity", Rule::Activity),
    (FRAGMENTS[0], Rule::Fragment(FRAGMENTS[0])),
    (FRAGMENTS[1], Rule::Fragment(FRAGMENTS[1])),
    (FRAGMENTS[2], Rule::Fragment(FRAGMENTS[2])),
    (VIEW_MODELS[0], Rule::ViewModel(VIEW_MODELS[0])),
    (VIEW_MODELS[1], Rule::ViewModel(VIEW_MODELS[1])),
    ("android.view.View", Rule::View),
    ("android.widget.Editor", Rule::Editor),
    ("android.app.Service", Rule::Service),
    ("android.app.Dialog", Rule::Dialog),
    ("android.app.Application", Rule::Application),
    ("android.app.ContextImpl", Rule::ContextImpl),
    ("android.content.ContextWrapper", Rule::ContextWrapper),
    (
        "android.app.ApplicationPackageManager",
        Rule::PackageManager,
    ),
    ("android.app.ActivityThread", Rule::Singleton),
    (
        "android.view.inputmethod.InputMethodManager",
        Rule::Singleton,
    ),
    ("android.os.MessageQueue", Rule::MessageQueue),
    ("android.os.Message", Rule::Message),
    ("android.widget.Toast", Rule::Toast),
    ("android.view.Window", Rule::Window),
    ("android.view.ViewRootImpl", Rule::ViewRoot),
    ("androidx.lifecycle.LifecycleRegistry", Rule::Lifecycle),
    ("androidx.compose.runtime.Recomposer", Rule::Recomposer),
    (
        "androidx.compose.runtime.CompositionImpl",
        Rule::Composition,
    ),
    ("mortar.Presenter", Rule::MortarPresenter),
    ("mortar.MortarScope", Rule::MortarScope),
    ("com.squareup.coordinators.Coordinator", Rule::Coordinator),
    ("android.animation.Animator", Rule::Animator),
    ("android.os.Binder", Rule::Binder),
    ("java.lang.Thread", Rule::Thread),
    ("java.lang.ClassLoader", Rule::Loader),
    ("leakcanary.KeyedWeakReference", Rule::WatchReference),
    (
        "com.squareup.leakcanary.KeyedWeakReference",
        Rule::WatchReference,
    ),
];
