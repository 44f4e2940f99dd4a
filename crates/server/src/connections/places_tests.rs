//! Tests of the places for connections.

use super::*;

const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const TWO: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

fn places(all: usize, per_address: Option<usize>) -> Arc<Places> {
    Places::new(ConnectionLimits { all, per_address }, false)
}

fn cut(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.shared.is_cut()).count()
}

#[test]
fn newcomers_always_get_a_place_and_memory_is_bounded() {
    let places = places(100, Some(10));
    let lines: Vec<_> = (0..1000).map(|_| places.admit(ONE)).collect();
    // Fresh connections are twice their limit until they are quiet.
    assert_eq!(lines.len() - cut(&lines), 20);
    assert!(!lines[999].shared.is_cut());
    assert_eq!(places.registry.lock().entries.len(), 20);
    drop(lines);
    let registry = places.registry.lock();
    assert!(registry.entries.is_empty() && registry.addresses.is_empty());
    assert_eq!(registry.all, Numbers::default());
}

#[test]
fn a_connection_that_has_shown_a_token_stays() {
    let places = places(40, Some(10));
    let known: Vec<_> = (0..10).map(|_| places.admit(ONE)).collect();
    for line in &known {
        assert_eq!(line.standing().set(ONE, true), Ok(()));
    }
    let others: Vec<_> = (0..500).map(|_| places.admit(ONE)).collect();
    assert_eq!(cut(&known), 0);
    let late = others.last().unwrap().standing();
    assert_eq!(late.set(ONE, true), Err(Full::OfAddress(10)));
    let other = places.admit(TWO);
    assert_eq!(other.standing().set(TWO, true), Ok(()));
    assert_eq!(places.registry.lock().all.0[1], 11);
}

#[test]
fn the_whole_has_a_limit_too_and_the_busiest_address_gives_way() {
    let places = places(40, None);
    let few: Vec<_> = (0..3).map(|_| places.admit(TWO)).collect();
    let many: Vec<_> = (0..500).map(|_| places.admit(ONE)).collect();
    assert_eq!((cut(&few), many.len() - cut(&many)), (0, 37));
    assert_eq!(places.registry.lock().entries.len(), 40);
    let set = |line: &Line| line.standing().set(TWO, true);
    let mut known = Vec::new();
    for _ in 0..30 {
        known.push(places.admit(TWO));
        assert_eq!(set(&known[known.len() - 1]), Ok(()));
    }
    assert_eq!(set(&places.admit(TWO)), Err(Full::OfAll(30)));
    assert_eq!(cut(&few), 0);
}

#[test]
fn those_that_are_answered_give_way_last() {
    let places = places(100, Some(2));
    let lines: Vec<_> = (0..4).map(|_| places.admit(ONE)).collect();
    lines[0].shared.set_asked(true);
    let more = places.admit(ONE);
    assert!(!lines[0].shared.is_cut() && !more.shared.is_cut());
    assert_eq!(cut(&lines), 1);
}

#[test]
fn behind_a_proxy_a_request_moves_its_connection_to_the_visitors_address() {
    let limits = ConnectionLimits {
        all: 100,
        per_address: Some(2),
    };
    let places = Places::new(limits, true);
    let lines: Vec<_> = (0..9).map(|_| places.admit(ONE)).collect();
    assert_eq!(cut(&lines), 0, "a proxy has many connections");
    for line in &lines {
        assert_eq!(line.standing().set(TWO, false), Ok(()));
    }
    assert_eq!(lines.len() - cut(&lines), 4, "a visitor has few");
    drop(lines);
    let line = places.admit(ONE);
    assert_eq!(line.standing().set(TWO, true), Ok(()));
    assert_eq!(line.standing().set(ONE, false), Ok(()));
    let registry = places.registry.lock();
    assert_eq!(registry.numbers(ONE), Numbers([1, 0]));
    assert_eq!(registry.numbers(TWO), Numbers::default());
}
