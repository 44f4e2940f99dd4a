//! Places for connections. A newcomer always gets one: where there is none left, the connection that
//! has shown no token and moved nothing for longest gives way.
//!
//! Refusing newcomers instead would let those who are there decide who else is served: a peer that
//! reads slowly costs nothing to keep, and a request shows its token only when its head was read.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How many connections there may be.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// All connections. Half of them, as a rule, are for requests with a token, and a quarter always
    /// stays for newcomers.
    pub all: usize,
    /// Connections of one address without a token, and as many with one; none for no limit.
    pub per_address: Option<usize>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            all: 1024,
            per_address: Some(256),
        }
    }
}

impl ConnectionLimits {
    /// Connections without a token, after which the quiet ones give way to newcomers.
    fn without_token(&self) -> usize {
        self.all / 2
    }

    /// Connections with a token.
    fn with_token(&self) -> usize {
        self.all - self.all / 4
    }
}

/// How long a connection may say nothing before it counts as quiet. A burst of newcomers is longer
/// than its limit for this time.
const QUIET: Duration = Duration::from_secs(1);

/// The state of a connection that its task, its stream and the places share.
pub(super) struct Shared {
    began: Instant,
    /// Milliseconds from the beginning to the last byte, in either direction.
    last: AtomicU64,
    /// True from the head of a request to the head of its answer.
    is_asked: AtomicBool,
    is_cut: AtomicBool,
    end: Notify,
}

impl Shared {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            last: AtomicU64::new(0),
            is_asked: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            end: Notify::new(),
        }
    }

    /// Notes that a byte moved.
    pub(super) fn touch(&self) {
        let now = self.began.elapsed().as_millis();
        self.last.store(now as u64, Ordering::Relaxed);
    }

    /// How long no byte has moved.
    fn quiet(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(last)
    }

    /// Notes whether a request waits for its answer.
    pub(super) fn set_asked(&self, is_asked: bool) {
        self.is_asked.store(is_asked, Ordering::Relaxed);
        self.touch();
    }

    /// Ends the connection, and has the system forget what was not sent.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        self.end.notify_one();
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Waits until the connection has to end.
    pub(super) async fn ended(&self) {
        self.end.notified().await;
    }
}

/// There are too many connections with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The limit of one address is reached.
    OfAddress(usize),
    /// The limit of all together is reached.
    OfAll(usize),
}

struct Entry {
    address: IpAddr,
    has_token: bool,
    shared: Arc<Shared>,
}

/// Numbers of connections, without a token and with one.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
struct Numbers([usize; 2]);

impl Numbers {
    fn of(&mut self, has_token: bool) -> &mut usize {
        &mut self.0[usize::from(has_token)]
    }
}

#[derive(Default)]
struct Registry {
    next: u64,
    entries: BTreeMap<u64, Entry>,
    all: Numbers,
    addresses: HashMap<IpAddr, Numbers>,
}

impl Registry {
    fn count(&mut self, address: IpAddr, has_token: bool) {
        *self.all.of(has_token) += 1;
        *self.addresses.entry(address).or_default().of(has_token) += 1;
    }

    fn discount(&mut self, address: IpAddr, has_token: bool) {
        *self.all.of(has_token) -= 1;
        if let Some(numbers) = self.addresses.get_mut(&address) {
            *numbers.of(has_token) -= 1;
            if *numbers == Numbers::default() {
                self.addresses.remove(&address);
            }
        }
    }

    fn remove(&mut self, serial: u64) -> Option<Entry> {
        let entry = self.entries.remove(&serial)?;
        self.discount(entry.address, entry.has_token);
        Some(entry)
    }

    fn numbers(&self, address: IpAddr) -> Numbers {
        self.addresses.get(&address).copied().unwrap_or_default()
    }

    /// The address with most connections without a token.
    fn busiest(&self) -> Option<IpAddr> {
        let numbers = self.addresses.iter();
        numbers
            .max_by_key(|(_, numbers)| numbers.0[0])
            .map(|it| *it.0)
    }

    /// The connection of an address without a token that gives way first, and how long it has been
    /// quiet. Connections whose request is being answered come last.
    fn quietest(&self, address: IpAddr, but: Option<u64>) -> Option<(u64, Duration)> {
        let candidates = self.entries.iter().filter(|(serial, entry)| {
            !entry.has_token && entry.address == address && Some(**serial) != but
        });
        let rank = |(serial, entry): (&u64, &Entry)| {
            let is_asked = entry.shared.is_asked.load(Ordering::Relaxed);
            (!is_asked, entry.shared.quiet(), *serial)
        };
        let found = candidates.map(rank).max_by_key(|it| (it.0, it.1));
        found.map(|(is_idle, quiet, serial)| match is_idle {
            true => (serial, quiet),
            false => (serial, Duration::ZERO),
        })
    }

    /// Has a connection of an address without a token give way to another.
    fn cut_one(&mut self, address: IpAddr, but: Option<u64>, is_urgent: bool) -> bool {
        match self.quietest(address, but) {
            Some((serial, quiet)) if is_urgent || quiet >= QUIET => {
                if let Some(entry) = self.remove(serial) {
                    tracing::debug!(%address, "a quiet connection gives way to another");
                    entry.shared.cut();
                }
                true
            }
            _ => false,
        }
    }
}

/// The places of a server.
pub(super) struct Places {
    limits: ConnectionLimits,
    /// True if the other end of a connection is a proxy, and each request says who sends it.
    is_proxied: bool,
    registry: Mutex<Registry>,
    /// Connections that had to give way.
    cut: AtomicU64,
    /// Connections that took an answer too slowly.
    slow: AtomicU64,
}

impl Places {
    pub(super) fn new(limits: ConnectionLimits, is_proxied: bool) -> Arc<Self> {
        Arc::new(Self {
            limits,
            is_proxied,
            registry: Mutex::default(),
            cut: AtomicU64::new(0),
            slow: AtomicU64::new(0),
        })
    }

    /// A place for a newcomer.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Line {
        let shared = Arc::new(Shared::new());
        let mut registry = self.registry.lock();
        let serial = registry.next;
        registry.next += 1;
        let entry = Entry {
            address,
            has_token: false,
            shared: Arc::clone(&shared),
        };
        registry.entries.insert(serial, entry);
        registry.count(address, false);
        // All connections of a proxy come from one address.
        let limit = self.limits.per_address.filter(|_| !self.is_proxied);
        self.settle(&mut registry, serial, address, limit);
        Line {
            places: Arc::clone(self),
            serial,
            shared,
        }
    }

    /// Makes room after a connection without a token has been counted for an address.
    fn settle(
        &self,
        registry: &mut Registry,
        serial: u64,
        address: IpAddr,
        per_address: Option<usize>,
    ) {
        let but = Some(serial);
        let mut cut = 0;
        if let Some(limit) = per_address {
            let number = registry.numbers(address).0[0];
            if number > limit {
                cut += u64::from(registry.cut_one(address, but, number > 2 * limit));
            }
        }
        let number = registry.all.0[0];
        let is_full = registry.entries.len() > self.limits.all;
        if (number > self.limits.without_token() || is_full)
            && let Some(busiest) = registry.busiest()
        {
            cut += u64::from(registry.cut_one(busiest, but, is_full));
        }
        self.cut.fetch_add(cut, Ordering::Relaxed);
    }

    /// Makes room where the system has none.
    pub(super) fn make_room(&self) {
        let mut registry = self.registry.lock();
        if let Some(busiest) = registry.busiest()
            && registry.cut_one(busiest, None, true)
        {
            self.cut.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The place of a connection; given back when dropped.
pub(super) struct Line {
    places: Arc<Places>,
    serial: u64,
    pub(super) shared: Arc<Shared>,
}

impl Line {
    /// Counts the connection among those that took an answer too slowly.
    pub(super) fn count_slow(&self) {
        self.places.slow.fetch_add(1, Ordering::Relaxed);
    }

    /// The handle by which requests of the connection change its standing.
    pub(super) fn standing(&self) -> Standing {
        Standing {
            places: Arc::clone(&self.places),
            serial: self.serial,
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.places.registry.lock().remove(self.serial);
    }
}

/// The standing of a connection, in the extensions of each of its requests.
#[derive(Clone)]
pub struct Standing {
    places: Arc<Places>,
    serial: u64,
}

impl Standing {
    /// Notes for whom a connection stands: the address that sends its request, and whether that has
    /// a token. A connection that has shown a token keeps it, except that of a proxy, whose next
    /// request is another visitor's.
    ///
    /// # Errors
    /// If there are too many connections with a token; the standing is as before then.
    pub fn set(&self, address: IpAddr, has_token: bool) -> Result<(), Full> {
        let limits = self.places.limits;
        let mut registry = self.places.registry.lock();
        // It may have had to give way meanwhile.
        let Some(entry) = registry.entries.get(&self.serial) else {
            return Ok(());
        };
        let (old_address, old_token) = (entry.address, entry.has_token);
        let has_token = has_token || (old_token && !self.places.is_proxied);
        if (old_address, old_token) == (address, has_token) {
            return Ok(());
        }
        if has_token {
            let more = |number: usize, same: bool| number + usize::from(!same);
            let of_address = registry.numbers(address).0[1];
            let is_same = old_token && old_address == address;
            let limit = limits.per_address.unwrap_or(usize::MAX);
            if more(of_address, is_same) > limit {
                return Err(Full::OfAddress(limit));
            }
            if more(registry.all.0[1], old_token) > limits.with_token() {
                return Err(Full::OfAll(limits.with_token()));
            }
        }
        registry.discount(old_address, old_token);
        registry.count(address, has_token);
        if let Some(entry) = registry.entries.get_mut(&self.serial) {
            entry.address = address;
            entry.has_token = has_token;
        }
        if !has_token {
            let limit = limits.per_address;
            self.places
                .settle(&mut registry, self.serial, address, limit);
        }
        Ok(())
    }
}

/// Figures of the places, for `/metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaceFigures {
    /// Connections that have shown no token.
    pub without_token: u64,
    /// Connections that have.
    pub with_token: u64,
    /// Connections that had to give way since the start.
    pub gave_way: u64,
    /// Connections that took an answer too slowly since the start.
    pub too_slow: u64,
}

impl Standing {
    /// The figures of the server that the connection belongs to.
    pub fn figures(&self) -> PlaceFigures {
        let all = self.places.registry.lock().all;
        PlaceFigures {
            without_token: all.0[0] as u64,
            with_token: all.0[1] as u64,
            gave_way: self.places.cut.load(Ordering::Relaxed),
            too_slow: self.places.slow.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
