use super::*;

fn thread(serial: u32) -> SampledThread {
    SampledThread {
        tid: 1,
        env: ptr::null_mut(),
        serial,
        stack_start: 0,
        stack_end: 0,
        anchor: (0, 0),
        is_starting: false,
    }
}

#[test]
fn a_timer_is_deleted_once() {
    let threads = ThreadSlots::default();
    let tokens = [1, 2].map(|serial| threads.acquire(thread(serial), true).unwrap());
    threads.set_timer(tokens[0], TimerId(5), 0);
    let mut timers = Vec::new();
    threads.release_all(|timer| timers.push(timer));
    assert_eq!(timers, [TimerId(5)]);
    assert_eq!(threads.release(tokens[0]).count(), 0);
}

#[test]
fn a_thread_that_asks_again_while_its_delay_timer_is_made_gets_one() {
    let threads = ThreadSlots::default();
    let tokens = [1, 2].map(|serial| threads.acquire(thread(serial), true).unwrap());
    for (token, timer) in tokens.into_iter().zip([5, 6]) {
        threads.set_timer(token, TimerId(timer), 0);
    }
    let ask = |token: SlotToken| {
        let slot = threads.current(token.as_signal_value()).unwrap();
        slot.delay_timer()
    };
    let ended = threads.current(tokens[1].as_signal_value()).unwrap();
    assert_eq!(threads.release(tokens[1]).count(), 1);
    // A handler that had begun before.
    assert_eq!((ask(tokens[0]), ended.delay_timer()), (None, None));
    let mut made = 0;
    for _ in 0..3 {
        threads.give_delay_timers(|_, _| {
            made += 1;
            assert_eq!(ask(tokens[0]), None);
            Ok(TimerId(6 + made))
        });
    }
    assert_eq!((made, ask(tokens[0])), (1, Some(TimerId(7))));
    assert!(threads.release(tokens[0]).eq([TimerId(5), TimerId(7)]));
}

#[test]
fn a_thread_settles_once_and_keeps_its_timer() {
    let threads = ThreadSlots::default();
    let [with, without, ended] =
        [1, 2, 3].map(|serial| threads.acquire(thread(serial), true).unwrap());
    threads.set_timer(with, TimerId(5), 3);
    assert_eq!(threads.release(ended).count(), 0);
    let factor = |token: SlotToken| threads.current(token.as_signal_value()).unwrap().factor();
    assert_eq!([with, without].map(factor), [8, 1]);

    let mut created = Vec::new();
    let mut settle = |token| {
        let create = |tid| {
            created.push(tid);
            Ok(TimerId(6))
        };
        threads.settle(token, create, |_| Ok(())).unwrap();
    };
    for token in [with, without, ended, without] {
        settle(token);
    }
    assert_eq!(created, [1]);
    assert_eq!([with, without].map(factor), [1, 1]);
    assert!(threads.release(with).eq([TimerId(5)]));
    assert!(threads.release(without).eq([TimerId(6)]));
}

#[test]
fn time_counts_as_often_as_signals() {
    let state = ThreadState::default();
    state.begin(thread(1), Some(100), false);
    assert_eq!(state.cpu_nanos(150), 50);
    state.shift.store(2, Ordering::Relaxed);
    assert_eq!(state.cpu_nanos(150), 200);
    state.settle(160);
    assert_eq!(state.cpu_nanos(170), 250);

    state.begin(thread(2), None, false);
    state.settle(160);
    assert_eq!(state.cpu_nanos(170), 10);
}

#[test]
fn what_is_muted_for_all_holds_for_threads_to_come() {
    let threads = ThreadSlots::default();
    let is_muted = |token: SlotToken| {
        let thread = threads.current(token.as_signal_value());
        thread.map(ThreadState::is_muted)
    };
    let early = threads.acquire(thread(1), true).unwrap();
    threads.mute_all(true);
    let late = threads.acquire(thread(2), true).unwrap();
    assert_eq!([early, late].map(is_muted), [Some(true); 2]);
    threads.mute(early, false);
    assert_eq!([early, late].map(is_muted), [Some(false), Some(true)]);
    assert_eq!(threads.release(early).count(), 0);
    threads.mute(early, true);
    assert_eq!(is_muted(early), None);
}
