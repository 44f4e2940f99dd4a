import java.util.LinkedList;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.HashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.LinkedBlockingDeque;

/** Heaps of {@link LeakCorpus} whose collections consist of nodes that keep each other alive. */
final class LeakNodes {
    private LeakNodes() {}

    static final class Job {
        final byte[] input = new byte[100];
    }

    static Queue<Object> queue;

    private static void fill(Queue<Object> jobs) {
        queue = jobs;
        for (int i = 0; i < 50_000; i++) jobs.add(new Job());
    }

    @LeakCorpus.Answer(
        says = {"java.util.LinkedList with 50,000 elements", "field LeakNodes.queue"},
        tells = "50,000 objects of class LeakNodes$Job",
        never = "one java.util.LinkedList$Node",
        holder = "LeakNodes.queue")
    static void linkedList(LeakCorpus.Dump dump) {
        fill(new LinkedList<>());
    }

    @LeakCorpus.Answer(
        says = {"java.util.LinkedList with 300,000 elements", "field LeakNodes.queue"},
        never = "one java.util.LinkedList$Node",
        holder = "LeakNodes.queue")
    static void linkedListOfNothing(LeakCorpus.Dump dump) {
        Queue<Object> numbers = new LinkedList<>();
        for (int i = 0; i < 300_000; i++) numbers.add(Boolean.TRUE);
        queue = numbers;
    }

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentLinkedQueue with 50,000 elements", "field LeakNodes.queue"},
        tells = "50,000 objects of class LeakNodes$Job",
        holder = "LeakNodes.queue")
    static void concurrentQueue(LeakCorpus.Dump dump) {
        fill(new ConcurrentLinkedQueue<>());
    }

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.LinkedBlockingDeque with 50,000 elements", "field LeakNodes.queue"},
        tells = "50,000 objects of class LeakNodes$Job",
        holder = "LeakNodes.queue")
    static void blockingDeque(LeakCorpus.Dump dump) {
        fill(new LinkedBlockingDeque<>());
    }

    @LeakCorpus.Answer(
        says = {"java.util.PriorityQueue with 50,000 elements", "field LeakNodes.queue"},
        tells = "50,000 objects of class LeakNodes$Job",
        holder = "LeakNodes.queue")
    static void priorityQueue(LeakCorpus.Dump dump) {
        queue = new PriorityQueue<>((one, other) -> 0);
        fill(queue);
    }

    static Map<Object, Object> map;

    @LeakCorpus.Answer(
        says = {"java.util.TreeMap with 50,000 entries", "field LeakNodes.map"},
        tells = "50,000 objects of class LeakNodes$Job",
        never = "one java.util.TreeMap$Entry",
        holder = "LeakNodes.map")
    static void treeMap(LeakCorpus.Dump dump) {
        map = new TreeMap<>();
        for (int i = 0; i < 50_000; i++) map.put(i, new Job());
    }

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentSkipListMap with 50,000 entries", "field LeakNodes.map"},
        tells = "50,000 objects of class LeakNodes$Job",
        holder = "LeakNodes.map")
    static void skipListMap(LeakCorpus.Dump dump) {
        map = new ConcurrentSkipListMap<>();
        for (int i = 0; i < 50_000; i++) map.put(i, new Job());
    }

    static TreeSet<String> names;

    @LeakCorpus.Answer(
        says = {"java.util.TreeSet with 80,000 elements", "field LeakNodes.names"},
        tells = "80,000 objects of class java.lang.String",
        holder = "LeakNodes.names")
    static void treeSet(LeakCorpus.Dump dump) {
        names = new TreeSet<>();
        for (int i = 0; i < 80_000; i++) names.add("name " + i);
    }

    /** All in few places of a hash table, which then has trees. */
    static final class Collides implements Comparable<Collides> {
        final int number;

        Collides(int number) {
            this.number = number;
        }

        @Override
        public int hashCode() {
            return number % 3;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Collides && ((Collides) other).number == number;
        }

        @Override
        public int compareTo(Collides other) {
            return Integer.compare(number, other.number);
        }
    }

    @LeakCorpus.Answer(
        says = {"java.util.HashMap with 40,000 entries", "field LeakNodes.map"},
        tells = "40,000 objects of class LeakNodes$Job",
        never = "one java.util.HashMap$TreeNode",
        holder = "LeakNodes.map")
    static void treesOfCollisions(LeakCorpus.Dump dump) {
        map = new HashMap<>();
        for (int i = 0; i < 40_000; i++) map.put(new Collides(i), new Job());
    }

    @LeakCorpus.Answer(
        says = {"3 objects of class java.util.TreeMap", "field LeakNodes.map"},
        tells = "LeakNodes$Job")
    static void mapsInAMap(LeakCorpus.Dump dump) {
        map = new TreeMap<>();
        for (int i = 0; i < 3; i++) {
            Map<Object, Object> jobs = new TreeMap<>();
            for (int j = 0; j < 15_000; j++) jobs.put(j, new Job());
            map.put(i, jobs);
        }
    }

    /** A list of the program's own. */
    static final class Journal {
        Entry first;

        void add() {
            Entry entry = new Entry();
            entry.next = first;
            first = entry;
        }
    }

    static final class Entry {
        final byte[] text = new byte[200];
        Entry next;
    }

    static Journal journal;

    @LeakCorpus.Answer(
        says = {"one LeakNodes$Journal, filled with 30,000", "field LeakNodes.journal"},
        tells = "30,000 objects of class LeakNodes$Entry",
        holder = "LeakNodes.journal")
    static void ownList(LeakCorpus.Dump dump) {
        journal = new Journal();
        for (int i = 0; i < 30_000; i++) journal.add();
    }

    static Entry entries;

    @LeakCorpus.Answer(
        says = {"one LeakNodes$Entry, filled with 30,000", "field LeakNodes.entries"},
        tells = "30,000 objects of class LeakNodes$Entry",
        holder = "LeakNodes.entries")
    static void ownNodes(LeakCorpus.Dump dump) {
        for (int i = 0; i < 30_000; i++) {
            Entry entry = new Entry();
            entry.next = entries;
            entries = entry;
        }
    }

    /** A tree of the program's own, of which each node keeps an eighth of its parent. */
    static final class Branch {
        final byte[] leaf = new byte[1000];
        final Branch[] below;

        Branch(int depth) {
            below = new Branch[depth == 0 ? 0 : 8];
            for (int i = 0; i < below.length; i++) below[i] = new Branch(depth - 1);
        }
    }

    static Branch tree;

    @LeakCorpus.Answer(
        says = {"LeakNodes$Branch", "field LeakNodes.tree"},
        holder = "LeakNodes.tree")
    static void ownTree(LeakCorpus.Dump dump) {
        tree = new Branch(4);
    }
}
