import java.lang.ref.SoftReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Heaps of {@link LeakCorpus} in the shapes of reactive operators, actors, observable values and editors. Their answers were
 * written before the first report on them.
 */
final class LeakOperators {
    private LeakOperators() {}

    static final class Event {
        final byte[] body = new byte[1500];
    }

    /** All events for subscribers that come later. */
    static final class UnboundedBuffer {
        final List<Object> items = new ArrayList<>(16);
        volatile int size;

        void add(Object item) {
            items.add(item);
            size++;
        }
    }

    static final class ReplaySubject {
        final UnboundedBuffer buffer = new UnboundedBuffer();
        final AtomicReference<Object[]> observers = new AtomicReference<>(new Object[0]);
    }

    static ReplaySubject replayed;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$UnboundedBuffer.items", "java.util.ArrayList with 4,000 elements",
            "4,000 objects of class LeakOperators$Event"},
        tells = "LeakOperators.replayed",
        holder = "LeakOperators.replayed.buffer.items",
        shared = true)
    static void replayedEvents(LeakCorpus.Dump dump) {
        replayed = new ReplaySubject();
        for (int i = 0; i < 4000; i++) replayed.buffer.add(new Event());
    }

    /** A queue for one producer and one consumer: blocks, each of which ends with the next. */
    static final class SpscQueue {
        static final Object NEXT = new Object();
        private AtomicReferenceArray<Object> producer = new AtomicReferenceArray<>(17);
        private final AtomicReferenceArray<Object> consumer = producer;
        private long index;

        void offer(Object item) {
            int at = (int) (index++ & 15);
            producer.lazySet(at, item);
            if (at == 15) {
                AtomicReferenceArray<Object> next = new AtomicReferenceArray<>(17);
                producer.lazySet(16, next);
                producer = next;
            }
        }
    }

    static final class Inner {
        final Merge parent;
        final long id;
        volatile SpscQueue queue;

        Inner(Merge parent, long id) {
            this.parent = parent;
            this.id = id;
        }
    }

    /** Merges sources; each keeps what the slow subscriber has not asked for. */
    static final class Merge {
        final AtomicReference<Inner[]> subscribers = new AtomicReference<>(new Inner[0]);

        Inner add(long id) {
            Inner inner = new Inner(this, id);
            Inner[] all = subscribers.get();
            all = Arrays.copyOf(all, all.length + 1);
            all[all.length - 1] = inner;
            subscribers.set(all);
            return inner;
        }
    }

    static Merge merge;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$Merge.subscribers", "300 objects of class LeakOperators$Inner", "LeakOperators$Event"},
        tells = "LeakOperators.merge",
        shared = true)
    static void queuesOfMergedSources(LeakCorpus.Dump dump) {
        merge = new Merge();
        for (int i = 0; i < 300; i++) {
            Inner inner = merge.add(i);
            inner.queue = new SpscQueue();
            for (int j = 0; j < 20; j++) inner.queue.offer(new Event());
        }
    }

    static final class LambdaObserver {
        final Consumer<Event> onNext;
        final CompositeDisposable parent;

        LambdaObserver(Consumer<Event> onNext, CompositeDisposable parent) {
            this.onNext = onNext;
            this.parent = parent;
        }
    }

    /** A set with open addressing, as reactive libraries have it. */
    static final class OpenHashSet {
        private int mask = 15;
        private int size;
        private int maxSize = 12;
        private Object[] keys = new Object[16];

        void add(Object key) {
            put(keys, key);
            if (++size >= maxSize) {
                Object[] larger = new Object[2 * keys.length];
                mask = larger.length - 1;
                maxSize *= 2;
                for (Object one : keys) {
                    if (one != null) put(larger, one);
                }
                keys = larger;
            }
        }

        private void put(Object[] to, Object key) {
            int at = System.identityHashCode(key) & mask;
            while (to[at] != null) at = (at + 1) & mask;
            to[at] = key;
        }
    }

    static final class CompositeDisposable {
        OpenHashSet resources = new OpenHashSet();
        volatile boolean disposed;
    }

    static final class Presenter {
        final CompositeDisposable disposables = new CompositeDisposable();
    }

    static final class Screen {
        final int[] pixels = new int[700];
    }

    static Presenter presenter;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$CompositeDisposable.resources", "one LeakOperators$OpenHashSet with 2,000 elements",
            "2,000 objects of class LeakOperators$LambdaObserver"},
        tells = "LeakOperators.presenter",
        holder = "LeakOperators.presenter.disposables.resources",
        shared = true)
    static void disposablesOfAPresenter(LeakCorpus.Dump dump) {
        presenter = new Presenter();
        for (int i = 0; i < 2000; i++) {
            Screen screen = new Screen();
            LambdaObserver observer = new LambdaObserver(event -> screen.pixels[0]++, presenter.disposables);
            presenter.disposables.resources.add(observer);
        }
    }

    /** Its super class has the next node. */
    static final class LinkedNode extends AtomicReference<LinkedNode> {
        private static final long serialVersionUID = 1;
        private final transient Object value;

        LinkedNode(Object value) {
            this.value = value;
        }
    }

    static final class MpscQueue {
        final AtomicReference<LinkedNode> producer = new AtomicReference<>(new LinkedNode(null));
        final AtomicReference<LinkedNode> consumer = new AtomicReference<>(producer.get());

        void offer(Object value) {
            LinkedNode node = new LinkedNode(value);
            producer.getAndSet(node).lazySet(node);
        }
    }

    static final class Unicast {
        final MpscQueue queue = new MpscQueue();
    }

    static Unicast unicast;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$MpscQueue.consumer", "objects of class LeakOperators$LinkedNode",
            "objects of class LeakOperators$Event"},
        tells = {"LeakOperators.unicast", "LeakOperators$Unicast.queue"},
        shared = true)
    static void eventsWithoutASubscriber(LeakCorpus.Dump dump) {
        unicast = new Unicast();
        for (int i = 0; i < 4000; i++) unicast.queue.offer(new Event());
    }

    static class Operator {
        final Object downstream;

        Operator(Object downstream) {
            this.downstream = downstream;
        }
    }

    static final class MapOperator extends Operator {
        MapOperator(Object downstream) {
            super(downstream);
        }
    }

    /** Subscribes again with itself as the subscriber. */
    static final class RetryOperator extends Operator {
        final byte[] lastError = new byte[1500];

        RetryOperator(Object downstream) {
            super(downstream);
        }
    }

    static Object subscription;

    @LeakCorpus.Answer(
        says = {"static field LeakOperators.subscription", "3,000 objects of class LeakOperators$RetryOperator"},
        shared = true)
    static void retriesThatWrapOneAnother(LeakCorpus.Dump dump) {
        Object last = new Screen();
        for (int i = 0; i < 3000; i++) last = new RetryOperator(new MapOperator(last));
        subscription = last;
    }

    static final class Group {
        final Object key;
        final GroupBy parent;
        final SpscQueue queue = new SpscQueue();

        Group(Object key, GroupBy parent) {
            this.key = key;
            this.parent = parent;
        }
    }

    static final class GroupBy {
        final Map<Object, Group> groups = new ConcurrentHashMap<>();
    }

    static GroupBy byUser;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$GroupBy.groups", "java.util.concurrent.ConcurrentHashMap with 1,500 entries",
            "1,500 objects of class LeakOperators$Group"},
        tells = "LeakOperators.byUser",
        holder = "LeakOperators.byUser.groups",
        shared = true)
    static void groupsByUser(LeakCorpus.Dump dump) {
        byUser = new GroupBy();
        for (int i = 0; i < 1500; i++) {
            Group group = new Group("user " + i, byUser);
            for (int j = 0; j < 2; j++) group.queue.offer(new Event());
            byUser.groups.put(group.key, group);
        }
    }

    static final class Mdc {
        static final ThreadLocal<Deque<Map<String, String>>> STACK = ThreadLocal.withInitial(ArrayDeque::new);

        static void push(int request) {
            Map<String, String> fields = new HashMap<>();
            fields.put("request", "request " + request);
            fields.put("user", "user " + request);
            STACK.get().push(fields);
        }
    }

    @LeakCorpus.Answer(
        says = {"static field LeakOperators$Mdc.STACK", "java.util.ArrayDeque with 10,000 elements",
            "10,000 objects of class java.util.HashMap", "worker-1"},
        tells = "ThreadLocal.remove()")
    static void contextThatNothingPops(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(1);
        Thread worker = new Thread(() -> {
            for (int i = 0; i < 10_000; i++) Mdc.push(i);
            ready.countDown();
            while (true) LockSupport.park();
        }, "worker-1");
        worker.setDaemon(true);
        worker.start();
        ready.await();
        Thread.sleep(100);
    }

    interface ChangeListener {
        void changed(Object value);
    }

    /** Listeners of an observable value, in an array that grows. */
    static final class ExpressionHelper {
        private ChangeListener[] listeners = new ChangeListener[2];
        private int size;

        void add(ChangeListener listener) {
            if (size == listeners.length) listeners = Arrays.copyOf(listeners, size * 3 / 2 + 1);
            listeners[size++] = listener;
        }
    }

    static final class Property {
        private ExpressionHelper helper;
        private Object value;

        void addListener(ChangeListener listener) {
            if (helper == null) helper = new ExpressionHelper();
            helper.add(listener);
        }
    }

    static Property theme;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$Property.helper", "one LeakOperators$ExpressionHelper with 1,500 elements",
            "1,500 objects of class LeakOperators$$Lambda", "LeakOperators$Screen"},
        tells = "LeakOperators.theme",
        shared = true)
    static void listenersOfATheme(LeakCorpus.Dump dump) {
        theme = new Property();
        for (int i = 0; i < 1500; i++) {
            Screen screen = new Screen();
            theme.addListener(value -> screen.pixels[0]++);
        }
    }

    /** A map that is never changed: each put makes another tree. */
    static final class Tree {
        final Object key;
        final Object value;
        final Tree left;
        final Tree right;
        final int count;

        Tree(Object key, Object value, Tree left, Tree right) {
            this.key = key;
            this.value = value;
            this.left = left;
            this.right = right;
            count = 1 + (left == null ? 0 : left.count) + (right == null ? 0 : right.count);
        }

        static Tree of(int from, int to, ActorCell parent) {
            if (from >= to) return null;
            int middle = (from + to) / 2;
            return new Tree("actor-" + middle, new ActorCell(parent), of(from, middle, parent), of(middle + 1, to, parent));
        }
    }

    static final class Children {
        final Tree tree;

        Children(Tree tree) {
            this.tree = tree;
        }
    }

    static final class ActorCell {
        final ActorCell parent;
        final Object state = new byte[1500];
        Children children;

        ActorCell(ActorCell parent) {
            this.parent = parent;
        }
    }

    static ActorCell guardian;

    @LeakCorpus.Answer(
        says = {"2,000 objects of class LeakOperators$Tree", "2,000 objects of class LeakOperators$ActorCell"},
        tells = "LeakOperators.guardian",
        shared = true)
    static void actorsThatAreNotStopped(LeakCorpus.Dump dump) {
        guardian = new ActorCell(null);
        guardian.children = new Children(Tree.of(0, 2000, guardian));
    }

    static final class Document {
        final StringBuilder text = new StringBuilder();
    }

    static final class Edit {
        final Document before;
        final int caret;

        Edit(Document before, int caret) {
            this.before = before;
            this.caret = caret;
        }
    }

    static final class UndoManager {
        final Deque<Edit> edits = new ArrayDeque<>();
    }

    static final class Editor {
        final UndoManager undo = new UndoManager();
        Document document = new Document();
    }

    static List<Editor> editors;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$UndoManager.edits", "java.util.ArrayDeque with 1,500 elements",
            "1,500 objects of class LeakOperators$Edit"},
        tells = "LeakOperators.editors",
        shared = true)
    static void editsOfOneEditor(LeakCorpus.Dump dump) {
        editors = new ArrayList<>();
        for (int i = 0; i < 5; i++) editors.add(new Editor());
        Editor editor = editors.get(3);
        for (int i = 0; i < 1500; i++) {
            Document next = new Document();
            next.text.append(new char[2000]);
            editor.undo.edits.push(new Edit(editor.document, i));
            editor.document = next;
        }
    }

    static final class Model {
        final byte[] data = new byte[1000];
    }

    static final class Attachment {
        final Model model;
        final int[] marks = new int[200];

        Attachment(Model model) {
            this.model = model;
        }
    }

    static final class Attachments {
        final Map<Model, Attachment> byModel = Collections.synchronizedMap(new WeakHashMap<>());
    }

    static Attachments attachments;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$Attachments.byModel", "java.util.Collections$SynchronizedMap with 2,000 entries",
            "2,000 objects of class LeakOperators$Attachment"},
        tells = {"LeakOperators.attachments", "java.util.WeakHashMap$Entry"},
        observes = "as their values refer to their weak keys",
        shared = true)
    static void attachmentsThatReferToTheirModels(LeakCorpus.Dump dump) {
        attachments = new Attachments();
        for (int i = 0; i < 2000; i++) {
            Model model = new Model();
            attachments.byModel.put(model, new Attachment(model));
        }
    }

    static final class SoftEntry extends SoftReference<Event> {
        final String key;

        SoftEntry(String key, Event event) {
            super(event);
            this.key = key;
        }
    }

    static final class SoftCache {
        final Map<String, SoftEntry> entries = new HashMap<>();
    }

    static SoftCache soft;

    @LeakCorpus.Answer(
        says = {"field LeakOperators$SoftCache.entries", "java.util.HashMap with 3,000 entries",
            "3,000 objects of class LeakOperators$SoftEntry", "LeakOperators$Event"},
        tells = {"LeakOperators.soft", "Only soft references"},
        shared = true)
    static void softEntries(LeakCorpus.Dump dump) {
        soft = new SoftCache();
        for (int i = 0; i < 3000; i++) soft.entries.put("event " + i, new SoftEntry("event " + i, new Event()));
    }

    private static void fetch(CountDownLatch ready) {
        byte[] answer = new byte[60_000];
        ready.countDown();
        LockSupport.park();
        answer[0]++;
    }

    @LeakCorpus.Answer(
        says = {"150 virtual threads", "local variable in LeakOperators.fetch"},
        since = 25)
    static void answersOfVirtualThreads(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(150);
        for (int i = 0; i < 150; i++) {
            Runnable task = () -> fetch(ready);
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        ready.await();
        Thread.sleep(200);
        dump.write();
    }
}
