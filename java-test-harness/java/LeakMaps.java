import java.util.ArrayList;
import java.util.List;

/** Heaps of {@link LeakCorpus} in which a collection that the program has written itself is too large. */
final class LeakMaps {
    private LeakMaps() {}

    static final class Order {
        final byte[] text = new byte[700];
    }

    /** Open addressing: keys and values in arrays of equal length. */
    static final class OpenMap<K, V> {
        private Object[] keys = new Object[64];
        private Object[] values = new Object[64];
        private int size;

        void put(K key, V value) {
            if (size * 2 >= keys.length) grow();
            size += insert(keys, values, key, value) ? 1 : 0;
        }

        private static boolean insert(Object[] keys, Object[] values, Object key, Object value) {
            int at = key.hashCode() & keys.length - 1;
            while (keys[at] != null && !keys[at].equals(key)) at = at + 1 & keys.length - 1;
            boolean isNew = keys[at] == null;
            keys[at] = key;
            values[at] = value;
            return isNew;
        }

        private void grow() {
            Object[] moreKeys = new Object[keys.length * 2];
            Object[] moreValues = new Object[keys.length * 2];
            for (int i = 0; i < keys.length; i++) {
                if (keys[i] != null) insert(moreKeys, moreValues, keys[i], values[i]);
            }
            keys = moreKeys;
            values = moreValues;
        }
    }

    static OpenMap<String, Order> open;

    @LeakCorpus.Answer(
        says = {"The static field LeakMaps.open keeps", "one LeakMaps$OpenMap with 9,000 elements",
            "9,000 objects of class LeakMaps$Order"},
        never = "java.lang.Object[]",
        holder = "LeakMaps.open", shared = true)
    static void openMap(LeakCorpus.Dump dump) {
        open = new OpenMap<>();
        for (int i = 0; i < 9000; i++) open.put("order " + i, new Order());
    }

    /** Buckets with chains of nodes. */
    static final class BucketMap<K, V> {
        static final class Node<K, V> {
            final int hash;
            final K key;
            V value;
            Node<K, V> next;

            Node(int hash, K key, V value, Node<K, V> next) {
                this.hash = hash;
                this.key = key;
                this.value = value;
                this.next = next;
            }
        }

        @SuppressWarnings({"unchecked", "rawtypes"})
        private final Node<K, V>[] table = new Node[4096];
        private int count;

        void put(K key, V value) {
            int at = key.hashCode() & table.length - 1;
            table[at] = new Node<>(key.hashCode(), key, value, table[at]);
            count++;
        }
    }

    static BucketMap<String, Order> buckets;

    @LeakCorpus.Answer(
        says = {"The static field LeakMaps.buckets keeps", "one LeakMaps$BucketMap with 9,000 elements",
            "9,000 objects of class LeakMaps$Order"},
        never = {"$Node[]", "one LeakMaps$BucketMap$Node"},
        holder = "LeakMaps.buckets", shared = true)
    static void bucketMap(LeakCorpus.Dump dump) {
        buckets = new BucketMap<>();
        for (int i = 0; i < 9000; i++) buckets.put("order " + i, new Order());
    }

    /** Numbers as keys, without boxes. */
    static final class LongMap<V> {
        private final long[] keys = new long[1 << 15];
        private final Object[] values = new Object[1 << 15];
        private int used;

        void put(long key, V value) {
            int at = (int) key & keys.length - 1;
            while (keys[at] != 0) at = at + 1 & keys.length - 1;
            keys[at] = key;
            values[at] = value;
            used++;
        }
    }

    static final class Repository {
        final LongMap<Order> byNumber = new LongMap<>();
    }

    static Repository repository;

    @LeakCorpus.Answer(
        says = {"The field LeakMaps$Repository.byNumber keeps", "one LeakMaps$LongMap with 9,000 elements",
            "9,000 objects of class LeakMaps$Order", "LeakMaps.repository"},
        never = "java.lang.Object[]",
        holder = "LeakMaps.repository.byNumber", shared = true)
    static void mapByNumber(LeakCorpus.Dump dump) {
        repository = new Repository();
        for (int i = 1; i <= 9000; i++) repository.byNumber.put(i * 7L, new Order());
    }

    /** Doubly linked, with a node in front of all others, as the list of JDK 6 was. */
    static final class RingList<E> {
        static final class Node<E> {
            E element;
            Node<E> next = this;
            Node<E> previous = this;
        }

        private final Node<E> header = new Node<>();
        private int size;

        void add(E element) {
            Node<E> node = new Node<>();
            node.element = element;
            node.next = header;
            node.previous = header.previous;
            header.previous.next = node;
            header.previous = node;
            size++;
        }
    }

    static RingList<Order> ring;

    @LeakCorpus.Answer(
        says = {"The static field LeakMaps.ring keeps", "one LeakMaps$RingList with 8,000 elements",
            "8,000 objects of class LeakMaps$Order"},
        never = "one LeakMaps$RingList$Node",
        holder = "LeakMaps.ring", shared = true)
    static void linkedList(LeakCorpus.Dump dump) {
        ring = new RingList<>();
        for (int i = 0; i < 8000; i++) ring.add(new Order());
    }

    /** Singly linked, with its first and its last node. */
    static final class Chain<E> {
        private static final class Cell<E> {
            final E item;
            Cell<E> next;

            Cell(E item) {
                this.item = item;
            }
        }

        private Cell<E> first;
        private Cell<E> last;
        private long length;

        void add(E item) {
            Cell<E> cell = new Cell<>(item);
            if (first == null) first = cell;
            else last.next = cell;
            last = cell;
            length++;
        }
    }

    static final class Journal {
        final Chain<Order> entries = new Chain<>();
    }

    static final Journal JOURNAL = new Journal();

    @LeakCorpus.Answer(
        says = {"The field LeakMaps$Journal.entries keeps", "one LeakMaps$Chain with 8,000 elements",
            "8,000 objects of class LeakMaps$Order", "LeakMaps.JOURNAL"},
        never = "one LeakMaps$Chain$Cell",
        holder = "LeakMaps.JOURNAL.entries")
    static void singlyLinkedList(LeakCorpus.Dump dump) {
        for (int i = 0; i < 8000; i++) JOURNAL.entries.add(new Order());
    }

    /** An array that grows. */
    static final class Bag<E> {
        private Object[] items = new Object[8];
        private int size;

        void add(E item) {
            if (size == items.length) items = java.util.Arrays.copyOf(items, size * 2);
            items[size++] = item;
        }
    }

    static Bag<Order> bag;

    @LeakCorpus.Answer(
        says = {"The static field LeakMaps.bag keeps", "one LeakMaps$Bag with 8,000 elements",
            "8,000 objects of class LeakMaps$Order"},
        never = "java.lang.Object[]",
        holder = "LeakMaps.bag", shared = true)
    static void growingArray(LeakCorpus.Dump dump) {
        bag = new Bag<>();
        for (int i = 0; i < 8000; i++) bag.add(new Order());
    }

    /** The most recent entries first: a table, and a list through its entries. */
    static final class Recent<K, V> {
        private static final class Entry<K, V> {
            final K key;
            final V value;
            Entry<K, V> nextInBucket;
            Entry<K, V> older;
            Entry<K, V> newer;

            Entry(K key, V value) {
                this.key = key;
                this.value = value;
            }
        }

        private final Object[] table = new Object[1024];
        private Entry<K, V> newest;
        private Entry<K, V> oldest;
        private int entries;

        @SuppressWarnings("unchecked")
        void put(K key, V value) {
            Entry<K, V> entry = new Entry<>(key, value);
            int at = key.hashCode() & table.length - 1;
            entry.nextInBucket = (Entry<K, V>) table[at];
            table[at] = entry;
            entry.older = newest;
            if (newest != null) newest.newer = entry;
            else oldest = entry;
            newest = entry;
            entries++;
        }
    }

    static Recent<Integer, Order> recent;

    @LeakCorpus.Answer(
        says = {"The static field LeakMaps.recent keeps", "one LeakMaps$Recent with 8,000 elements",
            "8,000 objects of class LeakMaps$Order"},
        never = "one LeakMaps$Recent$Entry",
        holder = "LeakMaps.recent", shared = true)
    static void mostRecentFirst(LeakCorpus.Dump dump) {
        recent = new Recent<>();
        for (int i = 0; i < 8000; i++) recent.put(i, new Order());
    }

    /** Parts, each with a table of its own. */
    static final class Striped<K, V> {
        private final List<OpenMap<K, V>> parts = new ArrayList<>();

        Striped() {
            for (int i = 0; i < 8; i++) parts.add(new OpenMap<>());
        }

        void put(K key, V value) {
            parts.get(key.hashCode() & 7).put(key, value);
        }
    }

    static Striped<String, Order> striped;

    @LeakCorpus.Answer(
        says = {"The field LeakMaps$Striped.parts keeps", "8 objects of class LeakMaps$OpenMap",
            "9,000 objects of class LeakMaps$Order", "LeakMaps.striped"},
        never = "java.lang.Object[]", shared = true)
    static void mapsOfAMap(LeakCorpus.Dump dump) {
        striped = new Striped<>();
        for (int i = 0; i < 9000; i++) striped.put("order " + i, new Order());
    }

    /** Two numbers in each place. */
    static final class Counts {
        private long[] keys = new long[1 << 18];
        private long[] counts = new long[1 << 18];
        private int used;

        void add(long key) {
            int at = (int) (key * 31) & keys.length - 1;
            while (keys[at] != 0 && keys[at] != key) at = at + 1 & keys.length - 1;
            if (keys[at] == 0) used++;
            keys[at] = key;
            counts[at]++;
        }
    }

    static Counts visits;

    @LeakCorpus.Answer(
        says = {"The static field LeakMaps.visits keeps", "one LeakMaps$Counts with 100,000 elements"},
        never = "long[] of",
        holder = "LeakMaps.visits", shared = true)
    static void countsByNumber(LeakCorpus.Dump dump) {
        visits = new Counts();
        for (int i = 1; i <= 100_000; i++) visits.add(i);
    }
}
