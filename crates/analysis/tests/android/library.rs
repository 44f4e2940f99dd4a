//! Leaks of Android itself, and references that come and go.

use hprof_analysis::android::traces;

use crate::common::made::Put::{Bool, Ref};
use crate::phone::Phone;

const INPUT: &str = "android.view.inputmethod.InputMethodManager";

/// A destroyed activity.
fn screen(phone: &mut Phone) -> u64 {
    phone.own("android.app.Activity", &[("mDestroyed", Bool(true))])
}

/// The leak of Android that the only leak of a phone is.
fn library_leak(phone: Phone) -> Option<&'static str> {
    let traces = phone.traces();
    assert_eq!(traces.len(), 1, "{traces:?}");
    traces[0].library_leak
}

#[test]
fn a_field_of_android_is_known_on_the_releases_that_have_the_leak() {
    let of = |device: Option<(&str, i32)>, field: &str| {
        let mut phone = Phone::new();
        if let Some((maker, sdk)) = device {
            phone.device(maker, sdk);
        }
        let screen = screen(&mut phone);
        let manager = phone.of(INPUT, &[(field, Ref(screen))]);
        phone.hold(manager);
        library_leak(phone).is_some()
    };
    assert!(of(Some(("Google", 28)), "mServedView"));
    assert!(!of(Some(("Google", 29)), "mServedView"));
    assert!(of(Some(("Google", 35)), "mNextServedView"));
    assert!(!of(Some(("Google", 28)), "mOther"));
    // Some makers have leaks of their own, and write their names in one way or another.
    assert!(of(Some(("Huawei", 25)), "mLastSrvView"));
    assert!(!of(Some(("Google", 25)), "mLastSrvView"));
    // Nothing is ruled out on an unknown device.
    assert!(of(None, "mLastSrvView"));
}

/// The field belongs to the class that declares it, wherever it is inherited.
#[test]
fn a_field_is_known_by_the_class_that_declares_it() {
    let mut phone = Phone::new();
    let screen = screen(&mut phone);
    let class = phone.class(INPUT, phone.object, &[("mServedView", Ref(0))]);
    let class = phone.class("com.maker.InputManager", class, &[]);
    let manager = phone.made.instance(class, &[("mServedView", Ref(screen))]);
    phone.hold(manager);
    assert!(library_leak(phone).is_some());
}

#[test]
fn static_fields_of_android_are_known() {
    let mut phone = Phone::new();
    phone.device("samsung", 19);
    let screen = screen(&mut phone);
    let (name, object) = ("android.media.AudioManager", phone.object);
    let statics = [("mContext_static", Ref(screen))];
    let class = phone.made.class_with(name, object, &[], &statics, 8);
    phone.made.root(0x05, class);
    assert_eq!(
        library_leak(phone),
        Some("a static field keeps an activity")
    );
}

#[test]
fn objects_that_native_code_holds_are_known() {
    let of = |name: &str, has_other_root: bool| {
        let mut phone = Phone::new();
        let screen = screen(&mut phone);
        let toast = phone.of(name, &[("screen", Ref(screen))]);
        phone.made.native(toast);
        if has_other_root {
            phone.made.root(0xff, toast);
        }
        library_leak(phone).is_some()
    };
    assert!(of("android.widget.Toast$TN", false));
    assert!(!of("android.widget.Toast$TN", true));
    assert!(!of("com.example.Toast", false));
}

/// A longer path that the program is to blame for says more than a shorter one of Android.
#[test]
fn a_path_of_the_program_goes_before_one_of_android() {
    let mut phone = Phone::new();
    let screen = screen(&mut phone);
    let manager = phone.of(INPUT, &[("mServedView", Ref(screen))]);
    phone.made.root(0xff, manager);
    let mut held = screen;
    for _ in 0..3 {
        held = phone.of("com.example.Link", &[("next", Ref(held))]);
    }
    phone.hold(held);
    let traces = phone.traces();
    assert_eq!(traces.len(), 1);
    assert_eq!(traces[0].library_leak, None);
    assert_eq!(traces[0].path.steps.len(), 5);
}

#[test]
fn what_comes_and_goes_is_no_leak() {
    let of = |thread_name: &str| {
        let mut phone = Phone::new();
        let screen = screen(&mut phone);
        let name = phone.text(thread_name);
        let thread = phone.of("java.lang.Thread", &[("name", name)]);
        phone.made.thread(thread, 1);
        phone.made.local(screen, 1);
        phone.traces().len()
    };
    assert_eq!(
        ["main", "FinalizerWatchdogDaemon", "worker"].map(of),
        [0, 0, 1]
    );
    let mut phone = Phone::new();
    let screen = screen(&mut phone);
    let waiting = phone.of("java.lang.ref.FinalizerReference", &[("next", Ref(screen))]);
    phone.hold(waiting);
    let snapshot = phone.open();
    assert_eq!(traces(&snapshot).unwrap().len(), 0);
}
