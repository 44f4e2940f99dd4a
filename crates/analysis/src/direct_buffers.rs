//! Memory outside of the heap that direct buffers own, and who holds it.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::leaks::is_of_the_jdk;
use crate::numbers::{ClassNumber, ObjectNumber};
use crate::snapshot::{Snapshot, Value};

/// Memory of direct buffers, and files that are mapped into memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirectMemory {
    /// The buffers that own memory, mapped files not included.
    pub buffers: DirectBuffers,
    /// Buffers among them without a `Cleaner`: their memory is freed by who made them, as Netty does, or by
    /// native code.
    pub without_cleaner: DirectBuffers,
    /// Files that are mapped into memory.
    pub mapped: DirectBuffers,
    /// The holders of the buffers that own memory: those of most memory first.
    pub holders: Vec<Holder>,
}

/// The direct buffers that own memory. Slices and duplicates share that of another buffer, and
/// mapped files are no such buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DirectBuffers {
    /// Their number.
    pub buffers: u64,
    /// The bytes that they hold, as `BufferPoolMXBean.getTotalCapacity` counts them.
    pub capacity: u64,
}

impl DirectBuffers {
    fn add(&mut self, capacity: u64) {
        self.buffers += 1;
        self.capacity = self.capacity.saturating_add(capacity);
    }
}

/// A holder of direct memory, with what holds it below: pool, arena, buffers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The object or class in a few words.
    pub name: String,
    /// Its identifier; empty for several objects of a class.
    pub id: String,
    /// The buffers below it.
    #[serde(flatten)]
    pub buffers: DirectBuffers,
    /// The parts of it, those of most memory first.
    pub parts: Vec<Holder>,
}

/// Holders that are listed at each level.
const HOLDERS: usize = 20;
/// Levels of holders.
const LEVELS: usize = 3;

/// The memory of one buffer.
enum Memory {
    /// Freed by the buffer's `Cleaner`.
    Cleaned(u64),
    /// Freed by who made it.
    Uncleaned(u64),
    /// A file.
    Mapped(u64),
}

/// The direct buffers of a dump of HotSpot; `None` if it has no class of them, or blank values.
pub fn direct_buffers(snapshot: &Snapshot) -> Option<DirectBuffers> {
    direct_memory(snapshot).map(|memory| memory.buffers)
}

/// The direct buffers among some objects that live; `None` if the dump has no class of them, or blank values.
pub(crate) fn direct_buffers_among(
    snapshot: &Snapshot,
    objects: impl Iterator<Item = ObjectNumber>,
) -> Option<DirectBuffers> {
    let names = Names::of(snapshot).filter(|_| !snapshot.is_stripped())?;
    let mut found = DirectBuffers::default();
    let mut seen = FxHashSet::default();
    let graph = snapshot.graph();
    for object in objects.filter(|&it| names.buffers.contains(&graph.class_of(it))) {
        match names.memory_of(snapshot, object) {
            Some(Memory::Cleaned(bytes)) => found.add(bytes),
            Some(Memory::Uncleaned(bytes)) => {
                let address = snapshot.field(object, "address");
                if seen.insert(address.and_then(|it| it.integer())) {
                    found.add(bytes);
                }
            }
            Some(Memory::Mapped(_)) | None => {}
        }
    }
    Some(found)
}

/// The direct buffers of a dump of HotSpot with their holders; `None` if it has no class of them, or blank
/// values.
pub fn direct_memory(snapshot: &Snapshot) -> Option<DirectMemory> {
    let graph = snapshot.graph();
    let names = Names::of(snapshot)?;
    if snapshot.is_stripped() {
        return None;
    }
    let mut memory = DirectMemory {
        buffers: DirectBuffers::default(),
        without_cleaner: DirectBuffers::default(),
        mapped: DirectBuffers::default(),
        holders: Vec::new(),
    };
    let mut owners = Vec::new();
    let mut chunks = FxHashMap::default();
    let mut uncleaned = Vec::new();
    let mut images = FxHashSet::default();
    let all = [&names.buffers, &names.chunks, &names.images];
    let mut is_wanted = vec![false; graph.classes().list().len()];
    all.into_iter()
        .flatten()
        .for_each(|class| is_wanted[class.index()] = true);
    for object in graph.objects_of(&is_wanted) {
        let class = graph.class_of(object);
        if names.chunks.contains(&class)
            && let Some(buffer) = snapshot.field_object(object, "memory")
        {
            chunks.insert(buffer, object);
        }
        if names.images.contains(&class)
            && let Some(map) = snapshot.field_object(object, "memoryMap")
        {
            images.insert(map);
            images.extend(snapshot.field_object(map, "att"));
        }
        if !names.buffers.contains(&class) {
            continue;
        }
        match names.memory_of(snapshot, object) {
            Some(Memory::Mapped(bytes)) => memory.mapped.add(bytes),
            Some(Memory::Cleaned(bytes)) => {
                memory.buffers.add(bytes);
                owners.push((object, bytes));
            }
            // Without a Cleaner, memory of a buffer that nothing holds has been freed by hand.
            Some(Memory::Uncleaned(bytes)) if snapshot.dominators().place(object).is_some() => {
                uncleaned.push((object, bytes));
            }
            Some(Memory::Uncleaned(_)) | None => {}
        }
    }
    // Native code may have made several buffers of one place.
    let mut seen = FxHashSet::default();
    for (object, bytes) in uncleaned {
        let address = snapshot.field(object, "address");
        if images.contains(&object) {
            memory.mapped.add(bytes);
        } else if seen.insert(address.and_then(|it| it.integer())) {
            memory.buffers.add(bytes);
            memory.without_cleaner.add(bytes);
            owners.push((object, bytes));
        }
    }
    let ways = owners.into_iter().map(|(buffer, bytes)| {
        let way = match chunks.get(&buffer) {
            Some(&chunk) => pool(snapshot, chunk),
            None => holders(snapshot, buffer),
        };
        (way, bytes)
    });
    memory.holders = tree(snapshot, ways.collect(), 0);
    Some(memory)
}

/// The classes that matter.
struct Names {
    buffers: Vec<ClassNumber>,
    deallocator: Option<ClassNumber>,
    /// Netty's chunks of pooled memory.
    chunks: Vec<ClassNumber>,
    /// Readers of the JDK's own modules, whose file the VM maps (`BasicImageReader.java`).
    images: Vec<ClassNumber>,
}

impl Names {
    fn of(snapshot: &Snapshot) -> Option<Self> {
        let classes = snapshot.graph().classes();
        let all = |wanted: &[&str]| -> Vec<ClassNumber> {
            let is_it = |&class: &ClassNumber| wanted.contains(&classes.get(class).name.as_str());
            classes.numbers().filter(is_it).collect()
        };
        let buffers = all(&["java.nio.DirectByteBuffer", "java.nio.DirectByteBufferR"]);
        let first = |name: &str| all(&[name]).first().copied();
        first("java.nio.DirectByteBuffer")?;
        Some(Self {
            buffers,
            deallocator: first("java.nio.DirectByteBuffer$Deallocator"),
            chunks: all(&["io.netty.buffer.PoolChunk"]),
            images: (classes.numbers())
                .filter(|&class| classes.is_a(class, "jdk.internal.jimage.BasicImageReader"))
                .collect(),
        })
    }

    /// The memory that a buffer owns; `None` if it shares that of another one, or has none any more.
    ///
    /// A buffer of `ByteBuffer.allocateDirect` has a `Cleaner`, whose `thunk` is a `Deallocator` (JDK 8
    /// to 25, `Direct-X-Buffer.java.template`), and one of a mapped file has another one (`FileChannelImpl`).
    /// Once the memory was freed, the `Cleaner` is in no list any more, and leads to itself (`Cleaner.java`). From JDK 26 on
    /// it is a `BufferCleaner.PhantomCleaner` with an `action`, whose `node` of a list is then null (`BufferCleaner.java`).
    /// A slice or duplicate names its origin in `att`, and a view of a memory segment has a `segment`.
    fn memory_of(&self, snapshot: &Snapshot, buffer: ObjectNumber) -> Option<Memory> {
        let size = |object, name| {
            let value = snapshot.field(object, name)?.integer()?;
            u64::try_from(value).ok()
        };
        let Some(cleaner) = snapshot.field_object(buffer, "cleaner") else {
            let shares = ["att", "segment"]
                .iter()
                .any(|name| snapshot.field_object(buffer, name).is_some());
            let capacity = size(buffer, "capacity").filter(|&bytes| bytes > 0 && !shares)?;
            size(buffer, "address").filter(|&address| address != 0)?;
            return Some(match snapshot.field_object(buffer, "fd") {
                Some(_) => Memory::Mapped(capacity),
                None => Memory::Uncleaned(capacity),
            });
        };
        let is_freed = snapshot.field_object(cleaner, "next") == Some(cleaner)
            || snapshot.field(cleaner, "node") == Some(Value::Null);
        if is_freed {
            return None;
        }
        let thunk = snapshot.field_object(cleaner, "thunk");
        let thunk = thunk.or_else(|| snapshot.field_object(cleaner, "action"))?;
        if Some(snapshot.graph().class_of(thunk)) == self.deallocator {
            return Some(Memory::Cleaned(size(thunk, "capacity")?));
        }
        let is_file = snapshot
            .class_name(thunk)
            .starts_with("sun.nio.ch.FileChannelImpl$");
        is_file.then(|| size(buffer, "capacity").map(Memory::Mapped))?
    }
}

/// The way to the memory of one of Netty's chunks: allocator and arena.
fn pool(snapshot: &Snapshot, chunk: ObjectNumber) -> Vec<ObjectNumber> {
    let arena = snapshot.field_object(chunk, "arena");
    let allocator = arena.and_then(|arena| snapshot.field_object(arena, "parent"));
    let mut way: Vec<ObjectNumber> = allocator.into_iter().chain(arena).collect();
    way.push(chunk);
    way
}

/// The way to a buffer: the topmost object that keeps it alive, and the nearest one of the program or a
/// library.
fn holders(snapshot: &Snapshot, buffer: ObjectNumber) -> Vec<ObjectNumber> {
    let dominators = snapshot.dominators();
    let place = dominators.place(buffer);
    let above = std::iter::successors(place, |&place| dominators.above(place)).skip(1);
    let above: Vec<ObjectNumber> = above.map(|place| dominators.object(place)).collect();
    let own = above.iter().find(|&&it| {
        let class = snapshot.graph().class_of_object(it);
        class.is_none() && !is_of_the_jdk(snapshot.class_name(it))
    });
    let mut way: Vec<ObjectNumber> = above.last().copied().into_iter().collect();
    way.extend(own.filter(|&own| Some(own) != above.last()));
    way.push(buffer);
    way
}

/// The holders of a buffer, the topmost first, the buffer or its chunk last; and its bytes.
type Way = (Vec<ObjectNumber>, u64);

/// Buffers by the objects on their ways from a level on; objects that hold one each are one part by class.
fn tree(snapshot: &Snapshot, ways: Vec<Way>, level: usize) -> Vec<Holder> {
    if level >= LEVELS {
        return Vec::new();
    }
    let is_last = |way: &Vec<ObjectNumber>| level + 1 >= way.len().min(LEVELS);
    // The last of a way by class, as there may be thousands.
    let mut parts: FxHashMap<(Option<ObjectNumber>, ClassNumber), Vec<Way>> = FxHashMap::default();
    for (way, bytes) in ways {
        let Some(&object) = way.get(level) else {
            continue;
        };
        let class = snapshot.graph().class_of(object);
        let is_one = !is_last(&way) || snapshot.graph().class_of_object(object).is_some();
        parts
            .entry((is_one.then_some(object), class))
            .or_default()
            .push((way, bytes));
    }
    let mut holders: Vec<Holder> = (parts.into_iter())
        .map(|((object, class), ways)| {
            let mut buffers = DirectBuffers::default();
            ways.iter().for_each(|(_, bytes)| buffers.add(*bytes));
            let name = match object {
                Some(object) => snapshot.describe(object),
                None => snapshot.graph().classes().get(class).name.clone(),
            };
            Holder {
                name,
                id: object.map_or_else(String::new, |it| format!("{:#x}", snapshot.graph().id(it))),
                buffers,
                parts: tree(snapshot, ways, level + 1),
            }
        })
        .collect();
    holders.sort_by(|a, b| {
        (b.buffers.capacity.cmp(&a.buffers.capacity))
            .then_with(|| (&a.name, &a.id).cmp(&(&b.name, &b.id)))
    });
    holders.truncate(HOLDERS);
    holders
}
