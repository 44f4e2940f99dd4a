//! Every order in which a few threads can take their steps, up to a number of
//! preemptions, with every value that the C11 memory model lets a load see.
#![cfg(loom)]

use std::alloc::{Layout, alloc_zeroed};
use std::ptr::NonNull;

use hprof_lockfree::counters::Counters;
use hprof_lockfree::nodes::{NO_METHOD, NodeNumber, Nodes};
use hprof_lockfree::published::Published;
use hprof_lockfree::ring::{Header, Ring};
use hprof_lockfree::slots::Slots;
use hprof_lockfree::switch::RingSwitch;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

/// Tries all orders with up to `preemptions` switches from a thread that could go on.
fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

/// A place where threads may take turns. loom remembers one access to an atomic at a time: it does
/// not see that a thread's store after its own load of a word concerns another thread's load before.
/// Being relaxed, a turn orders nothing else.
#[derive(Clone, Default)]
struct Turns(Arc<AtomicU32>);

impl Turns {
    fn turn(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Puts a sample of one frame into the ring. False when it is full.
fn send(ring: &Ring<u64>, number: u32) -> bool {
    let Some(claim) = ring.claim() else {
        return false;
    };
    // SAFETY: there is room for one frame, which is written.
    unsafe {
        claim.frames().write(u64::from(number) + 100);
        claim.publish(Header {
            weight: number,
            frame_count: 1,
            ready: 0,
            ..Header::default()
        });
    }
    true
}

/// Takes samples out of the ring, and checks that header and frame fit.
fn receive(ring: &Ring<u64>, into: &mut Vec<u32>) {
    ring.drain(|sample| {
        assert_eq!(sample.frames, Ok(&[u64::from(sample.weight) + 100][..]));
        into.push(sample.weight);
    });
}

#[test]
fn the_ring_hands_over_each_sample_once() {
    model(3, || {
        let ring = Arc::new(Ring::new(1));
        let producers = [1, 2].map(|number| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || send(&ring, number))
        });
        let mut received = Vec::new();
        receive(&ring, &mut received);
        let sent = producers.map(|producer| producer.join().unwrap());
        assert_eq!(sent, [true, true], "there are two cells");
        receive(&ring, &mut received);
        received.sort_unstable();
        assert_eq!(received, [1, 2]);
    });
}

#[test]
fn a_cell_is_not_filled_again_before_it_is_read() {
    model(3, || {
        let ring = Arc::new(Ring::new(1));
        assert!(send(&ring, 1) && send(&ring, 2));
        let producer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || send(&ring, 3))
        };
        let mut received = Vec::new();
        receive(&ring, &mut received);
        let sent = producer.join().unwrap();
        receive(&ring, &mut received);
        let expected: &[u32] = if sent { &[1, 2, 3] } else { &[1, 2] };
        assert_eq!(received, expected);
    });
}

#[test]
fn two_that_drain_do_not_share_a_cell() {
    model(3, || {
        let ring = Arc::new(Ring::new(1));
        assert!(send(&ring, 1));
        let other = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                let mut received = Vec::new();
                receive(&ring, &mut received);
                received
            })
        };
        let mut received = Vec::new();
        receive(&ring, &mut received);
        received.extend(other.join().unwrap());
        assert_eq!(received, [1]);
    });
}

#[test]
fn a_value_outlives_the_handlers_that_saw_it() {
    model(3, || {
        let published = Arc::new(Published::new(Some(Twice::default())));
        let handler = {
            let published = Arc::clone(&published);
            thread::spawn(move || {
                let inside = published.enter();
                let seen = inside.get().map(|value| {
                    let first = value.0.load(Ordering::Relaxed);
                    (first, value.1.load(Ordering::Relaxed))
                });
                assert!(matches!(seen, Some((0, 0) | (7, 7))), "{seen:?}");
            })
        };
        let next = Twice::default();
        fill(7)(&next);
        drop(published.exchange(Some(next)));
        handler.join().unwrap();
    });
}

#[test]
fn a_ring_outlives_the_handlers_that_saw_it() {
    model(2, || {
        let switch = Arc::new(RingSwitch::new(Ring::new(1)));
        let handler = {
            let switch = Arc::clone(&switch);
            thread::spawn(move || {
                let inside = switch.enter();
                inside.get().is_some_and(|ring| send(ring, 1))
            })
        };
        let mut received = 0;
        switch.exchange(None, |_| received += 1);
        let sent = handler.join().unwrap();
        assert_eq!(received, u32::from(sent));
    });
}

/// The contents of a thread's slot in these tests: one value twice.
#[derive(Default)]
struct Twice(AtomicU32, AtomicU32);

fn fill(number: u32) -> impl Fn(&Twice) {
    move |slot| {
        slot.0.store(number, Ordering::Relaxed);
        slot.1.store(number, Ordering::Relaxed);
    }
}

#[test]
fn a_slot_is_freed_once() {
    model(3, || {
        let slots = Arc::new(Slots::<Twice>::new());
        let token = slots.acquire(fill(1)).unwrap();
        let ending = {
            let slots = Arc::clone(&slots);
            thread::spawn(move || slots.release(token, |_| ()).is_some())
        };
        let mut emptied = 0;
        slots.release_all(|_| emptied += 1);
        let ended = ending.join().unwrap();
        assert_eq!(emptied + u32::from(ended), 1);
        // As a word: index below, generation above.
        let index = |number| slots.acquire(fill(number)).unwrap().as_signal_value() as u32;
        assert_ne!(index(2), index(3), "two threads in one slot");
    });
}

#[test]
fn a_signal_sees_all_of_its_thread() {
    model(3, || {
        let slots = Arc::new(Slots::<Twice>::new());
        let word = Arc::new(loom::sync::atomic::AtomicUsize::new(0));
        let starting = {
            let (slots, word) = (Arc::clone(&slots), Arc::clone(&word));
            thread::spawn(move || {
                let token = slots.acquire(fill(7)).unwrap();
                word.store(token.as_signal_value(), Ordering::Relaxed);
            })
        };
        if let Some(slot) = slots.current(word.load(Ordering::Relaxed)) {
            assert_eq!(slot.0.load(Ordering::Relaxed), 7);
            assert_eq!(slot.1.load(Ordering::Relaxed), 7);
        }
        starting.join().unwrap();
    });
}

#[test]
fn a_thread_that_starts_hears_what_is_said_to_all() {
    model(3, || {
        let slots = Arc::new(Slots::<Twice>::new());
        let wanted = Arc::new(AtomicU32::new(1));
        let starting = {
            let (slots, wanted) = (Arc::clone(&slots), Arc::clone(&wanted));
            thread::spawn(move || {
                let token = slots.acquire(|slot| fill(wanted.load(Ordering::Relaxed))(slot));
                token.unwrap().as_signal_value()
            })
        };
        wanted.store(2, Ordering::Relaxed);
        slots.with_all(|_, slot| fill(2)(slot));
        let word = starting.join().unwrap();
        let slot = slots.current(word).unwrap();
        assert_eq!(slot.0.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn what_a_handler_reads_is_its_own_slots() {
    model(3, || {
        let slots = Arc::new(Slots::<Twice>::new());
        let token = slots.acquire(fill(1)).unwrap();
        let other = {
            let slots = Arc::clone(&slots);
            thread::spawn(move || {
                slots.release(token, |_| ());
                slots.acquire(fill(2)).unwrap();
            })
        };
        let read = slots.read(token.as_signal_value(), |slot| {
            (
                slot.0.load(Ordering::Relaxed),
                slot.1.load(Ordering::Relaxed),
            )
        });
        assert!(read.is_none() || read == Some((1, 1)), "{read:?}");
        other.join().unwrap();
    });
}

/// Hooks read nodes and tables while another thread adds to them.
#[test]
fn a_hook_that_sees_a_node_sees_all_of_it() {
    model(3, || {
        let mut nodes = Nodes::new(10).unwrap();
        let root = nodes.add(NO_METHOD);
        let first = nodes.add(0);
        nodes.link(root, first);
        // These two go to a table, which is full then.
        for method in [1, 3] {
            let next = nodes.add(method);
            nodes.link(root, next);
        }
        let shared = nodes.shared();
        let turns = Turns::default();
        let adder_turns = turns.clone();
        let adding = thread::spawn(move || {
            // One for a larger table, one for the table as it is, one for the node itself.
            for (node, method) in [(root, 2), (root, 5), (first, 7)] {
                adder_turns.turn();
                let next = nodes.add(method);
                nodes.link(node, next);
            }
            adder_turns.turn();
            nodes
        });
        turns.turn();
        assert_eq!(shared.follower(root, 0), Some(first), "found all along");
        for (node, method, number) in [(root, 2, 4), (root, 5, 5), (first, 7, 6)] {
            if let Some(next) = shared.follower(node, method) {
                assert_eq!(shared.method(next), method);
                assert_eq!(next, NodeNumber(number));
            }
            turns.turn();
        }
        drop(adding.join().unwrap());
        assert!(
            [0, 1, 2, 3, 5]
                .map(|method| shared.follower(root, method))
                .iter()
                .all(Option::is_some)
        );
    });
}

/// Memory for the counters of two nodes.
fn counters(root: NodeNumber) -> Counters {
    let layout = Layout::from_size_align(Counters::bytes(2), 64).unwrap();
    // SAFETY: the layout has a size; the memory is zero, large enough and leaked.
    unsafe {
        let memory = NonNull::new(alloc_zeroed(layout)).unwrap();
        Counters::create(memory, 2, root, 0, 0)
    }
}

/// The sampler and the thread's own timer book the same CPU clock.
#[test]
fn time_is_booked_once_by_two() {
    model(3, || {
        let mut nodes = Nodes::new(10).unwrap();
        let root = nodes.add(NO_METHOD);
        let counters = counters(root);
        counters.begin(root, 100, 0);
        let sampler = thread::spawn(move || [130, 160].map(|now| counters.book(now)));
        counters.book(150);
        sampler.join().unwrap();
        assert_eq!(counters.nanos(NodeNumber::ROOT), 60);
    });
}

/// The sampler looks at a thread that has just come to a node which is new to it.
#[test]
fn the_sampler_books_to_nodes_that_are_there() {
    model(3, || {
        let mut nodes = Nodes::new(10).unwrap();
        let root = nodes.add(NO_METHOD);
        let counters = counters(root);
        counters.begin(root, 0, 0);
        let thread = thread::spawn(move || {
            let next = nodes.add(1);
            nodes.link(root, next);
            counters.enter(next);
            nodes
        });
        counters.book(10);
        drop(thread.join().unwrap());
        counters.book(15);
        let nanos = [0, 1].map(|number| counters.nanos(NodeNumber(number)));
        assert!(nanos == [10, 5] || nanos == [0, 15], "{nanos:?}");
        assert_eq!(counters.calls(NodeNumber(1)), 1);
    });
}
