use proptest::prelude::*;

use super::*;

/// Thread dumps of `java-test-harness/java/Deadlock.java`, as the JVMs print them.
const DUMPS: [(u32, &str); 4] = [
    (11, include_str!("../../tests/data/threads-jdk11.txt")),
    (17, include_str!("../../tests/data/threads-jdk17.txt")),
    (21, include_str!("../../tests/data/threads-jdk21.txt")),
    (25, include_str!("../../tests/data/threads-jdk25.txt")),
];

fn thread<'a>(dump: &'a ThreadDump, name: &str) -> &'a LiveThread {
    let found = dump.threads.iter().find(|thread| thread.name == name);
    found.unwrap_or_else(|| panic!("no thread {name}"))
}

#[test]
fn dumps_of_all_releases_show_threads_locks_and_deadlocks() {
    for (release, text) in DUMPS {
        let dump = thread_dump(text);
        let main = thread(&dump, "main");
        assert_eq!(main.state, "TIMED_WAITING", "JDK {release}");
        assert!(main.os_id.is_some() && main.cpu_ms.is_some_and(|cpu| cpu > 0.0));
        assert!(
            main.frames
                .iter()
                .any(|it| it.starts_with("Deadlock.main(Deadlock.java:"))
        );
        assert_eq!((&main.waits_for, main.holds.len()), (&None, 0));

        let one = thread(&dump, "monitor-1");
        assert_eq!(one.state, "BLOCKED", "JDK {release}");
        let waits = one.waits_for.as_ref().unwrap();
        assert!(
            waits.lock.starts_with("java.lang.StringBuilder 0x"),
            "{}",
            waits.lock
        );
        assert_eq!(waits.owner.as_deref(), Some("monitor-2"));
        assert!(one.holds[0].starts_with("java.lang.Object 0x"));

        let lock = thread(&dump, "lock-1");
        assert_eq!(lock.state, "WAITING");
        let waits = lock.waits_for.as_ref().unwrap();
        assert!(
            waits
                .lock
                .starts_with("java.util.concurrent.locks.ReentrantLock$NonfairSync 0x")
        );
        assert_eq!(waits.owner.as_deref(), Some("lock-2"), "JDK {release}");
        assert_eq!(lock.holds.len(), 1, "JDK {release}: {:?}", lock.holds);

        assert_eq!(
            dump.deadlocks.len(),
            3,
            "JDK {release}: {:?}",
            dump.deadlocks
        );
        for deadlock in &dump.deadlocks {
            let [one, two] = &deadlock.threads[..] else {
                panic!("{deadlock:?}");
            };
            for (name, other) in [(one, two), (two, one)] {
                assert!(
                    deadlock
                        .sentence
                        .contains(&format!("\"{name}\" waits for java."))
                );
                assert!(
                    deadlock
                        .sentence
                        .contains(&format!("which \"{other}\" holds"))
                );
            }
        }
        assert!(dump.notes[0].ends_with("threads of the JVM itself are not listed"));
        assert!(dump.threads.iter().all(|it| it.name != "VM Thread"));
    }
}

#[test]
fn a_waiter_does_not_hold_what_it_has_given_back() {
    let text = "Full thread dump X:\n\n\"waiter \\\"x\\\" \" #9 daemon prio=5 os_prio=0 cpu=0.10ms elapsed=1.00s tid=0x1 nid=0x1f in Object.wait()  [0x2]\n   \
                java.lang.Thread.State: WAITING (on object monitor)\n\
                \tat java.lang.Object.wait(java.base@17/Native Method)\n\
                \t- waiting on <0x000000070ff0a1b8> (a App)\n\
                \tat App.run(App.java:1)\n\
                \t- locked <0x000000070ff0a1b8> (a App)\n\
                \t- locked <0x000000070ff0a1c8> (a Other)\n\n";
    let dump = thread_dump(text);
    let waiter = &dump.threads[0];
    assert_eq!(waiter.name, "waiter \\\"x\\\" ");
    assert_eq!(waiter.os_id, Some(31));
    assert_eq!(
        waiter.waits_for.as_ref().unwrap().lock,
        "App 0x000000070ff0a1b8"
    );
    assert_eq!(waiter.holds, ["Other 0x000000070ff0a1c8"]);
    assert!(dump.deadlocks.is_empty() && dump.notes.is_empty());
}

proptest! {
    #[test]
    fn any_text_is_read(
        text in "(\\PC|\n|\"|\nFound one Java-level deadlock|====|- locked <0x1> \\(a B\\)|, a |:){0,80}",
    ) {
        thread_dump(&text);
    }

    #[test]
    fn threads_come_back(threads in prop::collection::vec(
        ("[^\n\r]{0,20}", 1_u64..100_000, 0_usize..5, any::<bool>()), 0..20,
    )) {
        let mut text = String::from("Full thread dump X\n\n");
        for (name, os_id, frames, is_hex) in &threads {
            let nid = if *is_hex { format!("{os_id:#x}") } else { os_id.to_string() };
            text.push_str(&format!(
                "\"{name}\" #1 prio=5 cpu=1.50ms tid=0x0 nid={nid} runnable\n   \
                 java.lang.Thread.State: RUNNABLE\n"
            ));
            for frame in 0..*frames {
                text.push_str(&format!("\tat A.b(A.java:{frame})\n"));
            }
            text.push('\n');
        }
        let dump = thread_dump(&text);
        prop_assert_eq!(dump.threads.len(), threads.len());
        for (found, (name, os_id, frames, _)) in dump.threads.iter().zip(&threads) {
            prop_assert_eq!(&found.name, name);
            prop_assert_eq!(found.os_id, Some(*os_id));
            prop_assert_eq!(found.frames.len(), *frames);
            prop_assert_eq!(found.cpu_ms, Some(1.5));
        }
    }
}
