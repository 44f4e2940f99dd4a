//! Activities, fragments, views, view models, services and contexts.

use hprof_analysis::android::Status::{Leaking, NotLeaking, Unknown};

use crate::common::made::Put::{Bool, Int, Ref};
use crate::phone::{Phone, labels, life};

const FRAGMENTS: [&str; 3] = [
    "android.app.Fragment",
    "android.support.v4.app.Fragment",
    "androidx.fragment.app.Fragment",
];

#[test]
fn an_activity_leaks_once_it_is_destroyed() {
    for (is_destroyed, status) in [(true, Leaking), (false, NotLeaking)] {
        let found = life(|phone| {
            phone.own(
                "android.app.Activity",
                &[("mDestroyed", Bool(is_destroyed))],
            )
        });
        let reason = format!("Activity.mDestroyed is {is_destroyed}");
        assert_eq!(found, (status, reason));
    }
    // Before SDK 17 it did not tell.
    let found = life(|phone| phone.own("android.app.Activity", &[]));
    assert_eq!(found, (Unknown, String::new()));
}

/// A field that the program's class has beside that of Android.
#[test]
fn fields_of_the_program_are_not_those_of_android() {
    let found = life(|phone| {
        let fields = [("mDestroyed", Bool(false))];
        let activity = phone.class("android.app.Activity", phone.object, &fields);
        let middle = phone.class("com.example.Base", activity, &[("mDestroyed", Int(0))]);
        phone.own_of(middle, &[("mDestroyed", Int(0x0100_0000))])
    });
    // The value stands for both fields; that of Android's class begins with a byte that is true.
    assert_eq!(found, (Leaking, "Activity.mDestroyed is true".to_owned()));
}

#[test]
fn a_fragment_of_each_package_leaks_without_its_manager() {
    for class in FRAGMENTS {
        let of = |manager: bool, called: bool| {
            life(|phone| {
                let there = phone.of("com.example.Manager", &[]);
                let manager = if manager { there } else { 0 };
                let values = [
                    ("mFragmentManager", Ref(manager)),
                    ("mCalled", Bool(called)),
                ];
                phone.own(class, &values)
            })
        };
        let gone = "Fragment.mFragmentManager is null and mCalled is true";
        assert_eq!(of(false, true), (Leaking, gone.to_owned()), "{class}");
        let there = "Fragment.mFragmentManager is not null";
        assert_eq!(of(true, true), (NotLeaking, there.to_owned()), "{class}");
        assert_eq!(of(false, false), (Unknown, String::new()), "{class}");
    }
}

#[test]
fn a_fragment_of_androidx_leaks_by_its_life_cycle() {
    let of = |state: &str, is_reset: bool, called: bool| {
        life(|phone| {
            let state = phone.constant(state);
            let registry = phone.of(
                "androidx.lifecycle.LifecycleRegistry",
                &[("state", Ref(state))],
            );
            let mut values = vec![
                ("mLifecycleRegistry", Ref(registry)),
                ("mFragmentManager", Ref(0)),
                ("mCalled", Bool(called)),
            ];
            if is_reset {
                values.push(("mMaxState", Ref(0)));
            }
            phone.own(FRAGMENTS[2], &values)
        })
    };
    let state = |state: &str| format!("the state of Fragment.mLifecycleRegistry is {state}");
    assert_eq!(of("DESTROYED", true, true), (Leaking, state("DESTROYED")));
    assert_eq!(of("RESUMED", true, true), (NotLeaking, state("RESUMED")));
    assert_eq!(
        of("INITIALIZED", false, true),
        (NotLeaking, state("INITIALIZED"))
    );
    let gone = "Fragment.mFragmentManager is null and mCalled is true".to_owned();
    assert_eq!(of("INITIALIZED", true, true), (Leaking, gone));
    let new = "the fragment was never added (Fragment.mCalled is false)".to_owned();
    assert_eq!(of("INITIALIZED", true, false), (NotLeaking, new));
}

#[test]
fn a_view_model_leaks_once_it_is_cleared() {
    for class in [
        "androidx.lifecycle.ViewModel",
        "android.arch.lifecycle.ViewModel",
    ] {
        for (is_cleared, status) in [(true, Leaking), (false, NotLeaking)] {
            let found = life(|phone| phone.own(class, &[("mCleared", Bool(is_cleared))]));
            assert_eq!(found.0, status, "{class}");
            let found = life(|phone| {
                let name = "androidx.lifecycle.viewmodel.internal.ViewModelImpl";
                let inner = phone.of(name, &[("isCleared", Bool(is_cleared))]);
                phone.own(class, &[("impl", Ref(inner))])
            });
            assert_eq!(found.0, status, "{class}");
        }
    }
}

/// A view below a parent: what it refers to, and how often it was attached.
fn view(phone: &mut Phone, parent: u64, context: u64, is_attached: bool, attached: i32) -> u64 {
    let info = phone.of("android.view.View$AttachInfo", &[]);
    let values = [
        ("mParent", Ref(parent)),
        ("mContext", Ref(context)),
        ("mAttachInfo", Ref(if is_attached { info } else { 0 })),
        ("mWindowAttachCount", Int(attached)),
    ];
    phone.own("android.view.View", &values)
}

#[test]
fn a_view_leaks_with_its_activity_or_when_its_window_is_gone() {
    let of = |is_attached: bool, attached: i32, is_in_window: bool, is_destroyed: bool| {
        let build = |phone: &mut Phone| {
            let activity = phone.activity(is_destroyed);
            let root = phone.of("android.view.ViewRootImpl", &[("mView", Ref(activity))]);
            view(
                phone,
                if is_in_window { root } else { 0 },
                activity,
                is_attached,
                attached,
            )
        };
        (life(build), labels(build))
    };
    let (found, known) = of(true, 1, true, false);
    let reason = "the view is attached (View.mAttachInfo is not null)";
    assert_eq!(found, (NotLeaking, reason.to_owned()));
    assert_eq!(
        known,
        [
            "the view is part of a window",
            "View.mAttachInfo is not null (attached)",
            "View.mWindowAttachCount is 1",
            "mContext: com.example.Screen, an Activity that is not destroyed",
        ]
    );
    let reason = "the view is detached, and yet part of a window (View.mAttachInfo is null)";
    assert_eq!(of(false, 1, true, false).0, (Leaking, reason.to_owned()));
    // Never attached, or kept to be used again.
    for (attached, is_in_window) in [(0, true), (1, false)] {
        let (found, known) = of(false, attached, is_in_window, false);
        assert_eq!(found, (Unknown, String::new()));
        assert_eq!(known[0].contains("not part"), !is_in_window, "{known:?}");
    }
    let (found, _) = of(true, 1, true, true);
    let reason = "View.mContext is of a destroyed Activity";
    assert_eq!(found, (Leaking, reason.to_owned()));
}

#[test]
fn an_attached_view_leaks_below_a_detached_root() {
    let found = life(|phone| {
        let fields = [
            ("mParent", Ref(0)),
            ("mContext", Ref(0)),
            ("mAttachInfo", Ref(0)),
            ("mWindowAttachCount", Int(0)),
        ];
        let class = phone.class("android.view.View", phone.object, &fields);
        let decor = phone.class("com.android.internal.policy.DecorView", class, &[]);
        let decor = phone
            .made
            .instance(decor, &[("mWindowAttachCount", Int(1))]);
        let info = phone.of("android.view.View$AttachInfo", &[]);
        let values = [
            ("mParent", Ref(decor)),
            ("mAttachInfo", Ref(info)),
            ("mWindowAttachCount", Int(1)),
        ];
        phone.own_of(class, &values)
    });
    let reason = "the view is attached, but the root of its window is detached";
    assert_eq!(found, (Leaking, reason.to_owned()));
}

#[test]
fn an_editor_tells_of_its_view() {
    let found = life(|phone| {
        let activity = phone.activity(true);
        let view = view(phone, 0, activity, false, 0);
        phone.own("android.widget.Editor", &[("mTextView", Ref(view))])
    });
    let reason = "Editor.mTextView: View.mContext is of a destroyed Activity";
    assert_eq!(found, (Leaking, reason.to_owned()));
}

#[test]
fn views_in_a_circle_are_looked_at_once() {
    let mut phone = Phone::new();
    let fields = [("mParent", Ref(0)), ("mWindowAttachCount", Int(0))];
    let class = phone.class("android.view.View", phone.object, &fields);
    let (first, second) = (phone.made.fresh(), phone.made.fresh());
    let values = |parent| [("mParent", Ref(parent)), ("mWindowAttachCount", Int(1))];
    phone.made.put_instance(first, class, &values(second));
    phone.made.put_instance(second, class, &values(first));
    phone.hold(first);
    assert_eq!(phone.traces().len(), 0);
}

#[test]
fn a_service_leaks_once_its_thread_has_let_it_go() {
    let of = |running: bool| {
        life(|phone| {
            let service = phone.own("android.app.Service", &[]);
            let token = phone.of("android.os.BinderProxy", &[]);
            let other = phone.of("com.example.Other", &[]);
            let held = if running { service } else { other };
            let array = phone.class("java.lang.Object[]", phone.object, &[]);
            let array = phone.made.array(array, &[token, held]);
            let values = [("mArray", Ref(array)), ("mSize", Int(1))];
            let services = phone.of("android.util.ArrayMap", &values);
            let thread = phone.made.fresh();
            let fields = [("mServices", Ref(0))];
            let statics = [("sCurrentActivityThread", Ref(thread))];
            let object = phone.object;
            let name = "android.app.ActivityThread";
            let class = phone.made.class_with(name, object, &fields, &statics, 16);
            let values = [("mServices", Ref(services))];
            phone.made.put_instance(thread, class, &values);
            service
        })
    };
    let held = "ActivityThread.mServices holds the service".to_owned();
    assert_eq!(of(true), (NotLeaking, held));
    let gone = "ActivityThread.mServices does not hold the service".to_owned();
    assert_eq!(of(false), (Leaking, gone));
    // Without the thread's table the status is unknown.
    let found = life(|phone| phone.own("android.app.Service", &[]));
    assert_eq!(found, (Unknown, String::new()));
}

#[test]
fn contexts_tell_of_the_component_that_they_wrap() {
    let wrapper = |phone: &mut Phone, base: u64| {
        phone.own("android.content.ContextWrapper", &[("mBase", Ref(base))])
    };
    let found = life(|phone| {
        let activity = phone.activity(true);
        wrapper(phone, activity)
    });
    let reason = "the context wraps a destroyed Activity";
    assert_eq!(found, (Leaking, reason.to_owned()));
    let living = labels(|phone| {
        let activity = phone.activity(false);
        wrapper(phone, activity)
    });
    assert_eq!(
        living[0],
        "the context wraps an Activity that is not destroyed"
    );
    let application = labels(|phone| {
        let application = phone.of("android.app.Application", &[]);
        wrapper(phone, application)
    });
    assert_eq!(application, ["the context wraps the Application"]);
    // The context of a decor wraps that of the application, but its window has the activity.
    let decor = life(|phone| {
        let activity = phone.activity(true);
        let application = phone.of("android.app.Application", &[]);
        let window = phone.of("android.view.Window", &[("mContext", Ref(activity))]);
        let fields = [("mBase", Ref(0))];
        let class = phone.class("android.content.ContextWrapper", phone.object, &fields);
        let fields = [("mPhoneWindow", Ref(0))];
        let decor = phone.class("com.android.internal.policy.DecorContext", class, &fields);
        let values = [("mBase", Ref(application)), ("mPhoneWindow", Ref(window))];
        phone.own_of(decor, &values)
    });
    assert_eq!(decor, (Leaking, reason.to_owned()));
}

#[test]
fn the_own_context_of_a_component_lives_as_long_as_that() {
    let of = |is_destroyed: bool| {
        life(|phone| {
            let activity = phone.activity(is_destroyed);
            phone.own(
                "android.app.ContextImpl",
                &[("mOuterContext", Ref(activity))],
            )
        })
    };
    let gone = "ContextImpl.mOuterContext is a destroyed Activity".to_owned();
    assert_eq!(of(true), (Leaking, gone));
    let there = "ContextImpl.mOuterContext is an Activity in use".to_owned();
    assert_eq!(of(false), (NotLeaking, there));
    let manager = life(|phone| {
        let activity = phone.activity(true);
        let context = phone.of(
            "android.app.ContextImpl",
            &[("mOuterContext", Ref(activity))],
        );
        let values = [("mContext", Ref(context))];
        phone.own("android.app.ApplicationPackageManager", &values)
    });
    let reason = "ApplicationPackageManager.mContext.mOuterContext is a destroyed Activity";
    assert_eq!(manager, (Leaking, reason.to_owned()));
}
