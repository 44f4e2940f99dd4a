//! Which classes are collections, and how each keeps its elements.

use super::CollectionKind::{self, List, Map, Set};

/// How a class keeps its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// It never has any.
    Empty,
    /// In an array, with the number in a field.
    Array(&'static str, &'static str),
    /// In an array, each key before its value, with the number in a field.
    Pairs(&'static str, &'static str),
    /// Keys and values in arrays side by side, with the number in a field.
    Columns(&'static str, &'static str, &'static str),
    /// As columns, with marks in place of values that were taken out.
    Marked(&'static str, &'static str, &'static str),
    /// In an array that is full.
    Full(&'static str),
    /// In chains that start in a table, with the number in a field.
    Table(&'static str, &'static str),
    /// In chains, with the number spread over a field and an array of cells.
    Counted(&'static str),
    /// In tables of several segments, each with a number of its own.
    Segments(&'static str),
    /// In a tree, with the number in a field.
    Tree(&'static str, &'static str),
    /// In nodes of which the first is in a field, with the number in another.
    Nodes(&'static str, &'static str),
    /// In nodes without a counter.
    Chain(&'static str),
    /// In a skip list, with the number in a `LongAdder`.
    Skip(&'static str),
    /// In a skip list without a counter.
    SkipChain(&'static str),
    /// In another collection.
    Wrapped(&'static str),
    /// In all of another collection, if both of its ends are open.
    Open(&'static str),
    /// In a part of another collection, whose length is in a field.
    Part(&'static str),
    /// One element in a field of its own.
    One(&'static str),
    /// One or two elements in fields of their own.
    Two(&'static str, &'static str),
    /// A key and a value in fields of its own.
    Entry(&'static str, &'static str),
    /// One element, N times.
    Copies(&'static str, &'static str),
    /// As bits, each for a constant of an enumeration.
    Bits(&'static str),
    /// In a ring of which head and tail are known.
    Ring(&'static str),
    /// The place is unknown.
    Unknown,
}

impl Shape {
    /// The fields without which a class has another shape.
    pub fn fields(&self) -> [Option<&'static str>; 3] {
        match *self {
            Self::Empty | Self::Unknown => [None; 3],
            Self::Columns(first, second, third) | Self::Marked(first, second, third) => {
                [Some(first), Some(second), Some(third)]
            }
            Self::Array(first, second)
            | Self::Pairs(first, second)
            | Self::Table(first, second)
            | Self::Tree(first, second)
            | Self::Nodes(first, second)
            | Self::Two(first, second)
            | Self::Entry(first, second)
            | Self::Copies(first, second) => [Some(first), Some(second), None],
            Self::Full(field)
            | Self::Counted(field)
            | Self::Segments(field)
            | Self::Chain(field)
            | Self::Skip(field)
            | Self::SkipChain(field)
            | Self::Wrapped(field)
            | Self::Open(field)
            | Self::Part(field)
            | Self::One(field)
            | Self::Bits(field)
            | Self::Ring(field) => [Some(field), None, None],
        }
    }
}

/// A class of collections.
pub(super) type Known = (&'static str, CollectionKind, Shape);

use Shape::{
    Array, Bits, Chain, Columns, Copies, Counted, Empty, Entry, Full, Marked, Nodes, One, Open,
    Pairs, Part, Ring, Segments, Skip, SkipChain, Table, Tree, Two, Unknown, Wrapped,
};

/// The collections of the JDK, of Android and of known caches, by class; classes derived from them count as well.
///
/// If a class has several rows, the first one counts whose field the class has: releases differ.
/// Field names are those of OpenJDK 5 to 25 and of Android's libcore. A class that derives from an
/// abstract collection and is not here keeps its elements in an unknown place.
#[rustfmt::skip]
pub(super) const KNOWN: &[Known] = &[
    // Lists.
    ("java.util.ArrayList", List, Array("elementData", "size")),
    ("java.util.Vector", List, Array("elementData", "elementCount")),
    ("java.util.LinkedList", List, Nodes("first", "size")),
    ("java.util.LinkedList", List, Nodes("header", "size")),
    ("java.util.LinkedList", List, Nodes("voidLink", "size")),
    ("java.util.Arrays$ArrayList", List, Full("a")),
    ("java.util.concurrent.CopyOnWriteArrayList", List, Full("array")),
    ("java.util.concurrent.CopyOnWriteArrayList", List, Full("elements")),
    ("java.util.ImmutableCollections$ListN", List, Full("elements")),
    ("java.util.ImmutableCollections$List12", List, Two("e0", "e1")),
    ("java.util.ImmutableCollections$List2", List, Two("e0", "e1")),
    ("java.util.ImmutableCollections$List1", List, One("e0")),
    ("java.util.ImmutableCollections$List0", List, Empty),
    ("java.util.ImmutableCollections$SubList", List, Part("size")),
    ("java.util.ArrayList$SubList", List, Part("size")),
    ("java.util.AbstractList$SubList", List, Part("size")),
    ("java.util.SubList", List, Part("size")),
    ("java.util.concurrent.CopyOnWriteArrayList$COWSubList", List, Part("size")),
    ("java.util.ReverseOrderListView", List, Wrapped("base")),
    ("java.util.Collections$EmptyList", List, Empty),
    ("java.util.Collections$SingletonList", List, One("element")),
    ("java.util.Collections$CopiesList", List, Copies("n", "element")),
    ("kotlin.collections.EmptyList", List, Empty),
    ("kotlin.collections.ArrayDeque", List, Array("elementData", "size")),
    // Queues.
    ("java.util.ArrayDeque", List, Ring("elements")),
    ("java.util.PriorityQueue", List, Array("queue", "size")),
    ("java.util.TaskQueue", List, Array("queue", "size")),
    ("java.util.ReverseOrderDequeView", List, Wrapped("base")),
    ("java.util.Collections$AsLIFOQueue", List, Wrapped("q")),
    ("java.util.concurrent.ArrayBlockingQueue", List, Array("items", "count")),
    ("java.util.concurrent.LinkedBlockingQueue", List, Nodes("head", "count")),
    ("java.util.concurrent.LinkedBlockingDeque", List, Nodes("first", "count")),
    ("java.util.concurrent.PriorityBlockingQueue", List, Array("queue", "size")),
    ("java.util.concurrent.PriorityBlockingQueue", List, Wrapped("q")),
    ("java.util.concurrent.DelayQueue", List, Wrapped("q")),
    ("java.util.concurrent.SynchronousQueue", List, Empty),
    ("java.util.concurrent.ConcurrentLinkedQueue", List, Chain("head")),
    ("java.util.concurrent.ConcurrentLinkedDeque", List, Chain("head")),
    ("java.util.concurrent.LinkedTransferQueue", List, Chain("head")),
    (
        "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue",
        List,
        Array("queue", "size"),
    ),
    // Maps. Since JDK 9 properties lie in a map of their own, and the table that they inherit is
    // empty (JDK-8029891).
    ("java.util.Properties", Map, Wrapped("map")),
    ("java.util.HashMap", Map, Table("table", "size")),
    ("java.util.Hashtable", Map, Table("table", "count")),
    ("java.util.Hashtable", Map, Table("table", "size")),
    ("java.util.WeakHashMap", Map, Table("table", "size")),
    ("java.util.WeakHashMap", Map, Table("elementData", "elementCount")),
    ("java.util.IdentityHashMap", Map, Pairs("table", "size")),
    ("java.util.IdentityHashMap", Map, Pairs("elementData", "size")),
    ("java.util.EnumMap", Map, Columns("keyUniverse", "vals", "size")),
    ("java.util.TreeMap", Map, Tree("root", "size")),
    ("java.util.TreeMap$NavigableSubMap", Map, Open("m")),
    ("java.util.concurrent.ConcurrentHashMap", Map, Counted("baseCount")),
    ("java.util.concurrent.ConcurrentHashMap", Map, Segments("segments")),
    ("java.util.concurrent.ConcurrentSkipListMap", Map, Skip("adder")),
    ("java.util.concurrent.ConcurrentSkipListMap", Map, SkipChain("head")),
    ("java.util.LinkedHashMap$ReversedLinkedHashMapView", Map, Wrapped("base")),
    ("java.util.ReverseOrderSortedMapView", Map, Wrapped("base")),
    ("java.util.ImmutableCollections$MapN", Map, Pairs("table", "size")),
    ("java.util.ImmutableCollections$Map1", Map, Entry("k0", "v0")),
    ("java.util.ImmutableCollections$Map0", Map, Empty),
    ("java.util.Collections$EmptyMap", Map, Empty),
    ("java.util.Collections$SingletonMap", Map, Entry("k", "v")),
    ("java.util.Collections$CheckedMap", Map, Wrapped("m")),
    ("java.util.Collections$UnmodifiableMap", Map, Wrapped("m")),
    ("java.util.Collections$SynchronizedMap", Map, Wrapped("m")),
    ("java.util.jar.Attributes", Map, Wrapped("map")),
    ("java.lang.ProcessEnvironment$StringEnvironment", Map, Wrapped("m")),
    ("java.lang.ThreadLocal$ThreadLocalMap", Map, Array("table", "size")),
    ("java.awt.RenderingHints", Map, Wrapped("hintmap")),
    ("javax.script.SimpleBindings", Map, Wrapped("map")),
    ("javax.management.openmbean.TabularDataSupport", Map, Wrapped("dataMap")),
    ("kotlin.collections.EmptyMap", Map, Empty),
    ("android.util.ArrayMap", Map, Pairs("mArray", "mSize")),
    ("android.util.SparseArray", Map, Marked("mKeys", "mValues", "mSize")),
    ("android.util.LongSparseArray", Map, Marked("mKeys", "mValues", "mSize")),
    ("android.util.SparseIntArray", Map, Columns("mKeys", "mValues", "mSize")),
    ("android.util.SparseBooleanArray", Map, Columns("mKeys", "mValues", "mSize")),
    ("android.util.SparseLongArray", Map, Columns("mKeys", "mValues", "mSize")),
    ("androidx.collection.SimpleArrayMap", Map, Pairs("mArray", "mSize")),
    ("androidx.collection.SimpleArrayMap", Map, Pairs("array", "size")),
    ("android.support.v4.util.SimpleArrayMap", Map, Pairs("mArray", "mSize")),
    ("com.google.common.cache.LocalCache", Map, Segments("segments")),
    ("com.google.common.cache.LocalCache$LocalManualCache", Map, Wrapped("localCache")),
    ("com.google.common.collect.MapMakerInternalMap", Map, Segments("segments")),
    ("com.google.common.collect.AbstractMapBasedMultimap", Map, Wrapped("map")),
    ("com.google.common.collect.StandardTable", Map, Wrapped("backingMap")),
    ("com.google.common.collect.AbstractMapBasedMultiset", Set, Wrapped("backingMap")),
    ("com.google.common.collect.ConcurrentHashMultiset", Set, Wrapped("countMap")),
    ("com.google.common.collect.Interners$InternerImpl", Set, Wrapped("map")),
    ("com.google.common.collect.EvictingQueue", List, Wrapped("delegate")),
    ("com.google.common.collect.HashBiMap", Map, Table("hashTableKToV", "size")),
    ("org.apache.commons.collections.map.AbstractHashedMap", Map, Table("data", "size")),
    ("org.apache.commons.collections4.map.AbstractHashedMap", Map, Table("data", "size")),
    ("org.apache.commons.collections.map.AbstractMapDecorator", Map, Wrapped("map")),
    ("org.apache.commons.collections4.map.AbstractMapDecorator", Map, Wrapped("map")),
    ("org.apache.commons.collections4.multimap.AbstractMultiValuedMap", Map, Wrapped("map")),
    ("com.github.benmanes.caffeine.cache.BoundedLocalCache", Map, Wrapped("data")),
    ("com.github.benmanes.caffeine.cache.UnboundedLocalCache", Map, Wrapped("data")),
    (
        "com.github.benmanes.caffeine.cache.BoundedLocalCache$BoundedLocalManualCache",
        Map,
        Wrapped("cache"),
    ),
    (
        "com.github.benmanes.caffeine.cache.UnboundedLocalCache$UnboundedLocalManualCache",
        Map,
        Wrapped("cache"),
    ),
    // Sets.
    ("java.util.HashSet", Set, Wrapped("map")),
    ("java.util.HashSet", Set, Wrapped("backingMap")),
    ("java.util.TreeSet", Set, Wrapped("m")),
    ("java.util.TreeSet", Set, Wrapped("backingMap")),
    ("java.util.RegularEnumSet", Set, Bits("elements")),
    ("java.util.JumboEnumSet", Set, Bits("elements")),
    ("java.util.concurrent.CopyOnWriteArraySet", Set, Wrapped("al")),
    ("java.util.concurrent.ConcurrentSkipListSet", Set, Wrapped("m")),
    ("java.util.ImmutableCollections$Set12", Set, Two("e0", "e1")),
    ("java.util.ImmutableCollections$Set2", Set, Two("e0", "e1")),
    ("java.util.ImmutableCollections$Set1", Set, One("e0")),
    ("java.util.ImmutableCollections$Set0", Set, Empty),
    ("java.util.ImmutableCollections$SetN", Set, Array("elements", "size")),
    ("java.util.Collections$EmptySet", Set, Empty),
    ("java.util.Collections$SingletonSet", Set, One("element")),
    ("java.util.Collections$SetFromMap", Set, Wrapped("m")),
    ("java.util.Collections$UnmodifiableSet", Set, Wrapped("c")),
    ("java.util.Collections$SynchronizedSet", Set, Wrapped("c")),
    ("java.util.Collections$CheckedSet", Set, Wrapped("c")),
    ("java.util.Collections$CheckedMap$CheckedEntrySet", Set, Wrapped("s")),
    ("java.util.ReverseOrderSortedSetView", Set, Wrapped("base")),
    ("java.lang.ProcessEnvironment$StringEntrySet", Set, Wrapped("s")),
    ("java.lang.ProcessEnvironment$StringKeySet", Set, Wrapped("s")),
    ("kotlin.collections.EmptySet", Set, Empty),
    ("android.util.ArraySet", Set, Array("mArray", "mSize")),
    ("androidx.collection.ArraySet", Set, Array("mArray", "mSize")),
    ("androidx.collection.ArraySet", Set, Array("array", "_size")),
    // Collections of any kind.
    ("java.util.Collections$UnmodifiableCollection", List, Wrapped("c")),
    ("java.util.Collections$SynchronizedCollection", List, Wrapped("c")),
    ("java.util.Collections$CheckedCollection", List, Wrapped("c")),
    ("java.beans.beancontext.BeanContextSupport", Set, Wrapped("children")),
    // Views of maps.
    ("java.util.HashMap$KeySet", Set, Wrapped("this$0")),
    ("java.util.HashMap$EntrySet", Set, Wrapped("this$0")),
    ("java.util.HashMap$Values", List, Wrapped("this$0")),
    ("java.util.LinkedHashMap$LinkedKeySet", Set, Wrapped("this$0")),
    ("java.util.LinkedHashMap$LinkedEntrySet", Set, Wrapped("this$0")),
    ("java.util.LinkedHashMap$LinkedValues", List, Wrapped("this$0")),
    ("java.util.Hashtable$KeySet", Set, Wrapped("this$0")),
    ("java.util.Hashtable$EntrySet", Set, Wrapped("this$0")),
    ("java.util.Hashtable$ValueCollection", List, Wrapped("this$0")),
    ("java.util.IdentityHashMap$KeySet", Set, Wrapped("this$0")),
    ("java.util.IdentityHashMap$EntrySet", Set, Wrapped("this$0")),
    ("java.util.IdentityHashMap$Values", List, Wrapped("this$0")),
    ("java.util.WeakHashMap$KeySet", Set, Wrapped("this$0")),
    ("java.util.WeakHashMap$EntrySet", Set, Wrapped("this$0")),
    ("java.util.WeakHashMap$Values", List, Wrapped("this$0")),
    ("java.util.EnumMap$KeySet", Set, Wrapped("this$0")),
    ("java.util.EnumMap$EntrySet", Set, Wrapped("this$0")),
    ("java.util.EnumMap$Values", List, Wrapped("this$0")),
    ("java.util.TreeMap$KeySet", Set, Wrapped("m")),
    ("java.util.TreeMap$EntrySet", Set, Wrapped("this$0")),
    ("java.util.TreeMap$Values", List, Wrapped("this$0")),
    ("java.util.TreeMap$NavigableSubMap$EntrySetView", Set, Wrapped("this$0")),
    ("java.util.Properties$EntrySet", Set, Wrapped("entrySet")),
    ("java.util.ImmutableCollections$MapN$1", Set, Wrapped("this$0")),
    ("java.util.AbstractMap$1", Set, Wrapped("this$0")),
    ("java.util.AbstractMap$2", List, Wrapped("this$0")),
    ("java.util.concurrent.ConcurrentHashMap$CollectionView", List, Wrapped("map")),
    ("java.util.concurrent.ConcurrentHashMap$KeySetView", Set, Wrapped("map")),
    ("java.util.concurrent.ConcurrentHashMap$EntrySetView", Set, Wrapped("map")),
    ("java.util.concurrent.ConcurrentHashMap$KeySet", Set, Wrapped("this$0")),
    ("java.util.concurrent.ConcurrentHashMap$EntrySet", Set, Wrapped("this$0")),
    ("java.util.concurrent.ConcurrentHashMap$Values", List, Wrapped("this$0")),
    ("java.util.concurrent.ConcurrentSkipListMap$KeySet", Set, Wrapped("m")),
    ("java.util.concurrent.ConcurrentSkipListMap$EntrySet", Set, Wrapped("m")),
    ("java.util.concurrent.ConcurrentSkipListMap$Values", List, Wrapped("m")),
    // All others.
    ("java.util.AbstractCollection", List, Unknown),
    ("java.util.AbstractMap", Map, Unknown),
];
