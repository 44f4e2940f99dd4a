//! References within Android that are known to leak what they refer to.
//!
//! Classes, fields, releases and makers are those of LeakCanary's list of known references
//! (`AndroidReferenceMatchers` in Shark).

/// A reference that is known to leak.
#[derive(Debug, Clone, Copy)]
pub(super) struct LibraryLeak {
    pub at: At,
    /// The levels of the API that have it, first and last.
    sdk: (i64, i64),
    /// The makers of devices that have it; empty for all.
    makers: &'static [&'static str],
    /// A description of the leak.
    pub about: &'static str,
}

/// Where the reference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// A field, by the class that declares it.
    Field(&'static str, &'static str),
    /// A static field.
    Static(&'static str, &'static str),
    /// A global reference of native code to an object of a class.
    Native(&'static str),
}

impl LibraryLeak {
    /// Returns true if the device has it; an unknown property of the device rules nothing out.
    pub fn applies(&self, sdk: Option<i64>, maker: Option<&str>) -> bool {
        let is_maker = |maker: &str| self.makers.iter().any(|it| it.eq_ignore_ascii_case(maker));
        sdk.is_none_or(|sdk| (self.sdk.0..=self.sdk.1).contains(&sdk))
            && (self.makers.is_empty() || maker.is_none_or(is_maker))
    }
}

const fn of(at: At, first: i64, last: i64, about: &'static str) -> LibraryLeak {
    by(&[], at, first, last, about)
}

const fn by(
    makers: &'static [&'static str],
    at: At,
    first: i64,
    last: i64,
    about: &'static str,
) -> LibraryLeak {
    LibraryLeak {
        at,
        sdk: (first, last),
        makers,
        about,
    }
}

use At::{Field, Native, Static};

/// Later releases have it too, as far as is known.
const NOW: i64 = i64::MAX;
const IMM: &str = "android.view.inputmethod.InputMethodManager";
const SAMSUNG: &[&str] = &["samsung"];
const LG: &[&str] = &["LGE"];
const HUAWEI: &[&str] = &["HUAWEI"];
const ONE_PLUS: &[&str] = &["OnePlus"];
/// Makers whose devices share one fork of Android.
const FORK: &[&str] = &[
    "HMD Global",
    "INFINIX",
    "LENOVO",
    "Xiaomi",
    "TES",
    "realme",
    "motorola",
];

const SPAN: &str =
    "a copy of a text for a saved state keeps the spans of its editor, and so the view";
const SERVED: &str =
    "the input method keeps the view it served last until another one asks for input";
const CHOOSER: &str = "the model for choosing an activity keeps the last policy in a static field";
const SPEECH: &str = "text to speech keeps its context after it is shut down";
const SEM_CLIPBOARD: &str = "another process holds the clipboard's callback";

/// The leaks that are known, a line each.
#[rustfmt::skip]
pub(super) const LIBRARY_LEAKS: &[LibraryLeak] = &[
    of(Field("android.permission.PermissionControllerManager", "mContext"), 29, NOW, "the permission controller keeps the activity that first asked for it"),
    of(Field("android.app.Activity$1", "this$0"), 29, 29, "another process holds the callback for the end of an activity"),
    of(Field("android.app.ActivityThread", "mNewActivities"), 19, NOW, "the activity thread keeps new activities until it is idle"),
    of(Field("android.app.ActivityThread$ActivityClientRecord", "nextIdle"), 19, 27, "the activity thread waits to be idle before it lets an activity go"),
    of(Field("android.widget.Editor$SpanController", "this$0"), 0, 19, SPAN),
    of(Field("android.widget.Editor$EasyEditSpanController", "this$0"), 0, 19, SPAN),
    of(Static("android.media.session.MediaSessionLegacyHelper", "sInstance"), 21, 21, "the helper keeps the context that first asked for it"),
    of(Static("android.text.TextLine", "sCached"), 0, 22, "lines of text are kept to be used again, and not always cleared"),
    of(Field("android.os.Message", "obj"), 0, 30, "a thread that waits for messages keeps the last one, which dialogs use again"),
    of(Field(IMM, "mNextServedView"), 15, 35, SERVED),
    of(Field(IMM, "mServedView"), 15, 28, SERVED),
    of(Field(IMM, "mServedInputConnection"), 15, 27, SERVED),
    by(HUAWEI, Field(IMM, "mLastSrvView"), 23, 28, SERVED),
    of(Field(IMM, "mCurRootView"), 15, 28, "the input method keeps the window it served last"),
    of(Field(IMM, "mImeInsetsConsumer"), 30, NOW, "the input method keeps the consumer of its insets after the activity"),
    of(Field("android.hardware.input.InputManager", "mLateInitContext"), 33, 33, "the input manager keeps the activity that it began with"),
    of(Field("android.animation.LayoutTransition$1", "val$parent"), 14, 22, "a listener of a layout's transition keeps the layout until the window is gone"),
    of(Field("android.view.textservice.SpellCheckerSession$1", "this$0"), 16, 24, "the spelling checker keeps a session that was closed before its service was there"),
    of(Field("android.widget.SpellChecker$1", "this$0"), 22, 22, "the spelling checker's next run keeps a detached view"),
    of(Field("android.support.v7.internal.widget.ActivityChooserModel", "mActivityChoserModelPolicy"), 15, 22, CHOOSER),
    of(Field("android.widget.ActivityChooserModel", "mActivityChoserModelPolicy"), 0, NOW, CHOOSER),
    of(Field("android.media.projection.MediaProjection$MediaProjectionCallback", "this$0"), 22, 28, "another process holds the callback of a projection, which has the activity"),
    of(Field("android.speech.SpeechRecognizer$InternalListener", "this$0"), 0, 20, "the recognizer's listener keeps the recognizer and its context"),
    of(Native("android.accounts.AccountManager$AmsTask$Response"), 5, NOW, "another process holds the response of a task for accounts"),
    of(Field("android.media.MediaScannerConnection", "mContext"), 0, 22, "the connection of the media scanner keeps its context until the service ends it"),
    of(Field("android.os.UserManager", "mContext"), 18, 25, "the user manager keeps the context that first asked for it"),
    of(Field("android.appwidget.AppWidgetHost$Callbacks", "this$0"), 0, 21, "another process holds the callbacks of a host of widgets"),
    of(Field("android.media.AudioManager$1", "this$0"), 0, 22, "audio focus that a VideoView never gives up keeps its context"),
    of(Field("android.widget.Editor$Blink", "this$0"), 0, 23, "the blinking cursor of a closed dialog is still waiting for its turn"),
    of(Static("android.net.ConnectivityManager", "sInstance"), 0, 23, "the first connectivity manager keeps the context that asked for it"),
    of(Field("android.net.ConnectivityManager$CallbackHandler", "this$0"), 33, 33, "a static handler keeps a connectivity manager and its context"),
    of(Field("android.view.accessibility.AccessibilityNodeInfo", "mOriginalText"), 26, 27, "accessibility nodes that are kept to be used again keep their text"),
    of(Static("android.view.accessibility.AccessibilityNodeInfo", "sPool"), 0, 27, "accessibility nodes are kept to be used again"),
    of(Field("android.app.assist.AssistStructure$ViewNodeText", "mText"), 24, NOW, "the assistant keeps texts of the screen with their spans, and so views"),
    of(Field("android.widget.AccessibilityIterators$LineTextSegmentIterator", "mLayout"), 27, 27, "accessibility keeps the layout of a text with its spans, and so views"),
    of(Field("android.hardware.biometrics.BiometricPrompt", "mFingerprintManager"), 28, 28, "the prompt keeps a fingerprint manager with a destroyed activity"),
    of(Field("android.widget.Magnifier$InternalPopupWindow", "mCallback"), 28, 28, "the magnifier's window is held by native code after the activity"),
    of(Field("com.android.internal.policy.BackdropFrameRenderer", "mDecorView"), 24, 26, "the thread that draws a window's frame does not stop"),
    of(Field("android.view.ViewGroup$ViewLocationHolder", "mRoot"), 28, 28, "a holder of locations is used again without losing its root"),
    of(Field("android.view.accessibility.AccessibilityNodeIdManager", "mIdsToViews"), 28, 29, "views that leave while they are attached stay in a table"),
    of(Field("android.speech.tts.TextToSpeech", "mContext"), 24, 24, SPEECH),
    of(Field("android.speech.tts.TtsEngines", "mContext"), 24, 24, SPEECH),
    of(Native("android.view.inputmethod.InputMethodManager$ControlledInputConnectionWrapper"), 0, NOW, "native code holds the connection to the input method"),
    of(Native("android.widget.Toast$TN"), 0, NOW, "native code holds a toast for the call that shows it"),
    of(Field("android.app.ApplicationPackageManager$HasSystemFeatureQuery", "this$0"), 29, 29, "a query for a feature keeps the package manager and its context"),
    of(Field("android.companion.CompanionDeviceService$Stub", "this$0"), 31, 31, "the stub of a service keeps the service after its end"),
    of(Native("android.graphics.animation.RenderNodeAnimator"), 31, 32, "native code does not let go of an animation when its view is detached"),
    of(Native("android.media.PlayerBase$1"), 24, 27, "native code holds a callback of the player"),
    of(Field("android.window.WindowOnBackInvokedDispatcher$OnBackInvokedCallbackWrapper", "mCallback"), 32, 32, "another process holds the callback for going back"),
    of(Field("android.nfc.cardemulation.HostApduService$MsgHandler", "this$0"), 29, 33, "a handler outlives its service"),
    of(Native("android.app.AppOpsManager$3"), 31, 32, "native code holds a callback for operations; androidx.core 1.10 avoids it"),
    of(Field("android.view.ViewGroup", "mPreSortedChildren"), 30, 30, "a list of children for one moment is not cleared"),
    of(Field("android.view.ViewGroup", "mCurrentDragChild"), 29, 30, "a group keeps the view that was dragged last"),
    of(Field("android.view.View$$ExternalSyntheticLambda3", "f$0"), 26, 34, "the callback that hides a tooltip waits for 15 seconds"),
    of(Field("android.app.ActivityTransitionState", "mExitingToView"), 28, 29, "a transition keeps the view that it showed last"),
    of(Field("android.animation.AnimationHandler", "mAnimatorRequestors"), 33, 33, "the animation handler keeps a window after its activity"),
    of(Static("com.facebook.flipper.plugins.inspector.descriptors.ApplicationDescriptor", "editedDelegates"), 0, NOW, "Flipper keeps root views that were detached"),
    of(Static("org.chromium.android_webview.AwContents", "A0"), 0, NOW, "a weak table of the web view holds its keys by its values"),
    of(Native("android.app.job.JobService$1"), 0, 23, "another process holds the stub of a job's service"),
    of(Native("android.service.dreams.DreamService$1"), 33, NOW, "another process holds the stub of a dream's service"),
    of(Native("android.app.UiModeManager$1"), 34, 34, "native code holds a callback with the manager and its context"),
    by(SAMSUNG, Static("com.samsung.android.smartclip.SpenGestureManager", "mContext"), 19, 19, "a static field keeps an activity"),
    by(SAMSUNG, Field("android.sec.clipboard.ClipboardUIManager", "mContext"), 19, 21, "the clipboard keeps the activity that first asked for it"),
    by(SAMSUNG, Native("com.samsung.android.content.clipboard.SemClipboardManager$1"), 19, 28, SEM_CLIPBOARD),
    by(SAMSUNG, Native("com.samsung.android.content.clipboard.SemClipboardManager$3"), 19, 28, SEM_CLIPBOARD),
    by(SAMSUNG, Field("android.sec.clipboard.ClipboardExManager", "mContext"), 23, 23, "native code holds the clipboard, which has an activity"),
    by(SAMSUNG, Field("android.sec.clipboard.ClipboardExManager", "mPersonaManager"), 23, 23, "native code holds the clipboard, which has an activity"),
    by(SAMSUNG, Field("android.widget.TextView$IClipboardDataPasteEventImpl", "this$0"), 22, 22, "native code holds the callback for pasting, which has a view"),
    by(SAMSUNG, Field("com.samsung.android.emergencymode.SemEmergencyManager", "mContext"), 19, 24, "the emergency manager keeps a context of a window"),
    by(SAMSUNG, Field("com.samsung.android.knox.SemPersonaManager", "mContext"), 24, 24, "the persona manager keeps its context"),
    by(SAMSUNG, Field("android.app.SemAppIconSolution", "mContext"), 28, 29, "the maker of icons keeps its context"),
    by(SAMSUNG, Static("com.android.org.chromium.android_webview.AwResource", "sResources"), 19, 19, "the web view keeps the resources of an activity"),
    by(SAMSUNG, Static("android.widget.TextView", "mLastHoveredView"), 19, 31, "a static field keeps the view that was hovered last"),
    by(SAMSUNG, Field("android.os.PersonaManager", "mContext"), 19, 19, "resources keep a manager with an activity"),
    by(SAMSUNG, Field("android.content.res.Resources", "mContext"), 19, 19, "resources of the zygote keep an activity"),
    by(SAMSUNG, Field("android.view.ViewConfiguration", "mContext"), 19, 19, "a configuration in a static table keeps an activity"),
    by(SAMSUNG, Static("android.media.AudioManager", "mContext_static"), 19, 19, "a static field keeps an activity"),
    by(SAMSUNG, Static("android.app.ActivityManager", "mContext"), 22, 23, "a static field keeps an activity"),
    by(SAMSUNG, Static("android.widget.TextView", "mTargetView"), 27, 27, "a static field keeps a detached view"),
    by(SAMSUNG, Field("com.android.internal.policy.MultiWindowDecorSupport", "mWindow"), 26, 29, "the decor's helper keeps a destroyed window"),
    by(SAMSUNG, Field(IMM, "mCurrentInputConnection"), 28, 30, "the input method keeps its connection after the activity"),
    by(HUAWEI, Static("android.gestureboost.GestureBoostManager", "mContext"), 24, 25, "a static field keeps an activity"),
    by(LG, Static("android.widget.BubblePopupHelper", "sHelper"), 19, 22, "a static helper keeps the view that had the focus last"),
    by(LG, Field("com.lge.systemservice.core.LGContext", "mContext"), 21, 21, "a static object keeps an activity"),
    by(LG, Field("com.lge.systemservice.core.SmartCoverManager", "mContext"), 27, 27, "native code holds a callback with an activity"),
    by(LG, Field(IMM, "mLastFocusView"), 29, 29, "the input method keeps the view that had the focus last"),
    by(&["NVIDIA"], Field("com.nvidia.ControllerMapper.MapperClient$ServiceClient", "this$0"), 19, 19, "a handler keeps the mapper of controllers and an activity"),
    by(&["LENOVO"], Static("android.hardware.SystemSensorManager", "mAppContextImpl"), 19, 19, "a static field keeps the context that asked for sensors"),
    by(&["vivo"], Static("android.hardware.SystemSensorManager", "mAppContextImpl"), 22, 22, "a static field keeps the context that asked for sensors"),
    by(&["Meizu"], Static("android.app.Instrumentation", "mRecommendActivity"), 21, 22, "a static field keeps an activity of the system"),
    by(&["motorola"], Field("android.app.admin.DevicePolicyManager$SettingsObserver", "this$0"), 19, 22, "another process holds an observer with a context"),
    by(&["SHARP"], Field("android.app.ExtendedStatusBarManager", "mContext"), 30, NOW, "the status bar's manager keeps a context of a window"),
    by(ONE_PLUS, Static("com.oneplus.util.OemSceneCallBlocker", "sContext"), 28, 28, "a static field keeps an activity"),
    by(ONE_PLUS, Static("android.os.PerfMonitor", "mLastCallback"), 30, 30, "a static field keeps the last click on a view"),
    by(&["Razer"], Field("android.text.method.TextKeyListener", "mContext"), 28, 28, "listeners in a static table keep an activity"),
    by(FORK, Static("android.content.res.ResourcesImpl", "mAppContext"), 30, NOW, "a static field of a fork of Android keeps a context"),
];

/// References that come and go, so that a path over them tells of no leak.
pub(super) const PASSING: &[At] = &[
    Field("leakcanary.internal.InternalLeakCanary", "resumedActivity"),
    Field("leakcanary.internal.InternalLeakCanary", "application"),
    Field(
        "android.view.Choreographer$FrameDisplayEventReceiver",
        "mMessageQueue",
    ),
    Field("java.lang.ref.Finalizer", "prev"),
    Field("java.lang.ref.Finalizer", "next"),
    Field("java.lang.ref.Finalizer", "element"),
    Field("java.lang.ref.FinalizerReference", "prev"),
    Field("java.lang.ref.FinalizerReference", "next"),
    Field("java.lang.ref.FinalizerReference", "element"),
    Field("sun.misc.Cleaner", "prev"),
    Field("sun.misc.Cleaner", "next"),
];

/// Threads whose local variables change all the time, or only hold what is about to be collected.
pub(super) const PASSING_THREADS: &[&str] =
    &["main", "FinalizerWatchdogDaemon", "LeakCanary-Heap-Dump"];
