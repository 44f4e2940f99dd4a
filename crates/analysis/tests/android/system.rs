//! Windows, toasts, messages, threads and what libraries bring along.

use hprof_analysis::android::Status::{Leaking, NotLeaking, Unknown};

use crate::common::made::Put::{Bool, Int, Long, Ref};
use crate::phone::{labels, life};

#[test]
fn what_there_is_once_for_a_process_does_not_leak() {
    for (class, reason) in [
        (
            "android.app.Application",
            "the Application lives as long as the process",
        ),
        (
            "android.app.ActivityThread",
            "there is one for the whole process",
        ),
        (
            "android.view.inputmethod.InputMethodManager",
            "there is one for the whole process",
        ),
        ("java.lang.ClassLoader", "a class loader is never leaking"),
    ] {
        let found = life(|phone| phone.own(class, &[]));
        assert_eq!(found, (NotLeaking, reason.to_owned()), "{class}");
    }
}

#[test]
fn only_the_main_thread_always_runs() {
    let of = |name: &str| {
        life(|phone| {
            let name = phone.text(name);
            phone.own("java.lang.Thread", &[("name", name)])
        })
    };
    assert_eq!(
        of("main"),
        (NotLeaking, "the main thread always runs".to_owned())
    );
    assert_eq!(of("worker"), (Unknown, String::new()));
}

#[test]
fn a_queue_leaks_once_it_quits() {
    for (field, is_over, status) in [
        ("mQuitting", true, Leaking),
        ("mQuitting", false, NotLeaking),
        ("mQuiting", true, Leaking),
    ] {
        let found = life(|phone| phone.own("android.os.MessageQueue", &[(field, Bool(is_over))]));
        assert_eq!(
            found,
            (status, format!("MessageQueue.{field} is {is_over}"))
        );
    }
    let known = labels(|phone| {
        let name = phone.text("worker");
        let thread = phone.of("java.lang.Thread", &[("name", name)]);
        let looper = phone.of("android.os.Looper", &[("mThread", Ref(thread))]);
        let handler = phone.of("android.os.Handler", &[("mLooper", Ref(looper))]);
        let message = phone.of("android.os.Message", &[("target", Ref(handler))]);
        let values = [("mQuitting", Bool(false)), ("mMessages", Ref(message))];
        phone.own("android.os.MessageQueue", &values)
    });
    assert_eq!(known, ["the queue of the thread \"worker\""]);
}

#[test]
fn a_message_tells_when_it_is_due_and_for_whom() {
    let known = labels(|phone| {
        let callback = phone.of("com.example.Task", &[]);
        let values = [
            ("what", Int(42)),
            ("when", Long(7000)),
            ("obj", Ref(0)),
            ("callback", Ref(callback)),
            ("target", Ref(0)),
        ];
        phone.own("android.os.Message", &values)
    });
    assert_eq!(
        known,
        [
            "Message.what is 42",
            "Message.when is 7000, 2000 ms after the dump",
            "Message.obj is null",
            "Message.callback is com.example.Task",
            "Message.target is null",
        ]
    );
}

#[test]
fn a_toast_leaks_once_it_was_shown_and_hidden() {
    let of = |was_shown: bool, is_shown: bool| {
        life(|phone| {
            let there = phone.of("com.example.Thing", &[]);
            let put = |is_there| Ref(if is_there { there } else { 0 });
            let values = [("mWM", put(was_shown)), ("mView", put(is_shown))];
            let shown = phone.of("android.widget.Toast$TN", &values);
            phone.own("android.widget.Toast", &[("mTN", Ref(shown))])
        })
    };
    let gone = "the toast was shown and hidden (Toast.mTN.mView is null)";
    assert_eq!(of(true, false), (Leaking, gone.to_owned()));
    let shown = "the toast is shown (Toast.mTN.mView is not null)";
    assert_eq!(of(true, true), (NotLeaking, shown.to_owned()));
    assert_eq!(of(false, false), (Unknown, String::new()));
}

#[test]
fn windows_leak_when_they_are_destroyed_or_lose_their_view() {
    let window = |is_destroyed| {
        let build = |phone: &mut crate::phone::Phone| {
            phone.own("android.view.Window", &[("mDestroyed", Bool(is_destroyed))])
        };
        (life(build), labels(build))
    };
    let leaks = (Leaking, "Window.mDestroyed is true".to_owned());
    assert_eq!(window(true).0, leaks);
    let (found, known) = window(false);
    assert_eq!(found, (Unknown, String::new()));
    assert_eq!(known, ["Window.mDestroyed is false"]);
    let root = |has_view: bool, is_destroyed: bool| {
        let build = |phone: &mut crate::phone::Phone| {
            let title = phone.text("a title");
            let values = [("mTitle", title), ("type", Int(2005))];
            let window = phone.of("android.view.WindowManager$LayoutParams", &values);
            let activity = phone.activity(is_destroyed);
            let values = [
                ("mView", Ref(if has_view { window } else { 0 })),
                ("mContext", Ref(activity)),
                ("mWindowAttributes", Ref(window)),
            ];
            phone.own("android.view.ViewRootImpl", &values)
        };
        (life(build), labels(build))
    };
    let (found, known) = root(false, false);
    assert_eq!(found, (Leaking, "ViewRootImpl.mView is null".to_owned()));
    let words = [
        "the window's title is \"a title\"",
        "the window's type is 2005 (a toast)",
        "mContext: com.example.Screen, an Activity that is not destroyed",
    ];
    assert_eq!(known, words);
    let (status, reason) = root(true, true).0;
    assert_eq!(status, Leaking);
    assert!(reason.contains("a toast was not cancelled"), "{reason}");
    assert_eq!(root(true, false).0, (Unknown, String::new()));
}

#[test]
fn a_dialog_tells_no_more_than_whether_it_has_a_decor() {
    for (decor, words) in [(false, "null"), (true, "not null")] {
        let build = |phone: &mut crate::phone::Phone| {
            let there = phone.of("com.example.Decor", &[]);
            let decor = Ref(if decor { there } else { 0 });
            phone.own("android.app.Dialog", &[("mDecor", decor)])
        };
        assert_eq!(life(build), (Unknown, String::new()));
        assert_eq!(labels(build), [format!("Dialog.mDecor is {words}")]);
    }
}

#[test]
fn a_life_cycle_is_in_use_until_it_is_destroyed() {
    let of = |field: &'static str, state: &str| {
        life(|phone| {
            let state = phone.constant(state);
            phone.own(
                "androidx.lifecycle.LifecycleRegistry",
                &[(field, Ref(state))],
            )
        })
    };
    let found = (NotLeaking, "its state is RESUMED".to_owned());
    assert_eq!(of("state", "RESUMED"), found);
    assert_eq!(of("mState", "RESUMED"), found);
    assert_eq!(of("state", "DESTROYED"), (Unknown, String::new()));
}

#[test]
fn compositions_leak_once_they_are_disposed() {
    let state = |name: &str| {
        life(|phone| {
            let name = phone.constant(name);
            let flow = phone.of(
                "kotlinx.coroutines.flow.StateFlowImpl",
                &[("_state", Ref(name))],
            );
            phone.own(
                "androidx.compose.runtime.Recomposer",
                &[("_state", Ref(flow))],
            )
        })
        .0
    };
    let found = [
        "ShutDown",
        "ShuttingDown",
        "Idle",
        "PendingWork",
        "Inactive",
    ]
    .map(state);
    assert_eq!(found, [Leaking, Leaking, NotLeaking, NotLeaking, Unknown]);
    let class = "androidx.compose.runtime.CompositionImpl";
    for (field, put, status) in [
        ("disposed", Bool(true), Leaking),
        ("disposed", Bool(false), NotLeaking),
        ("state", Int(3), Leaking),
        ("state", Int(0), NotLeaking),
        ("state", Int(1), Unknown),
    ] {
        assert_eq!(
            life(|phone| phone.own(class, &[(field, put)])).0,
            status,
            "{field}"
        );
    }
}

#[test]
fn scopes_coordinators_and_presenters_tell_what_they_know() {
    for (is_dead, status) in [(true, Leaking), (false, NotLeaking)] {
        let found = life(|phone| phone.own("mortar.MortarScope", &[("dead", Bool(is_dead))]));
        assert_eq!(found, (status, format!("MortarScope.dead is {is_dead}")));
    }
    let known = labels(|phone| phone.own("mortar.Presenter", &[("view", Ref(0))]));
    assert_eq!(known, ["Presenter.view is null"]);
    let name = "com.squareup.coordinators.Coordinator";
    let known = labels(|phone| phone.own(name, &[("attached", Bool(true))]));
    assert_eq!(known, ["Coordinator.attached is true"]);
}

#[test]
fn animators_binders_and_anonymous_classes_say_what_they_are() {
    let known = labels(|phone| {
        let fields = [("mRunning", Bool(true)), ("mRepeatCount", Int(-1))];
        let animator = phone.class("android.animation.Animator", phone.object, &[]);
        let class = phone.class("android.animation.ValueAnimator", animator, &fields);
        let fields = [("mPropertyName", Ref(0))];
        let class = phone.class("android.animation.ObjectAnimator", class, &fields);
        let name = phone.text("alpha");
        let values = [
            ("mPropertyName", name),
            ("mRunning", Bool(true)),
            ("mRepeatCount", Int(-1)),
        ];
        phone.own_of(class, &values)
    });
    let words = [
        "the animated property is \"alpha\"",
        "ValueAnimator.mRunning is true",
        "it repeats without end",
    ];
    assert_eq!(known, words);
    let known = labels(|phone| phone.own("android.os.Binder", &[]));
    assert!(known[0].contains("another process"), "{known:?}");
    let known = labels(|phone| {
        let above = phone.class("com.example.Listener", phone.object, &[("leaf", Ref(0))]);
        let class = phone.class("com.example.Screen$12", above, &[]);
        let leaf = Ref(phone.leaf);
        phone.made.instance(class, &[("leaf", leaf)])
    });
    assert_eq!(known, ["anonymous class derived from com.example.Listener"]);
}
