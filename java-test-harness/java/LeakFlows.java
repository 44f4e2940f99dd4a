import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** Heaps of {@link LeakCorpus} in which work that never ends holds its data: coroutines, streams of events, statements. */
final class LeakFlows {
    private LeakFlows() {}

    /** As compilers of coroutines make them: a label, what lives across the suspension, and the caller. */
    abstract static class Continuation {
        final Continuation completion;
        int label;

        Continuation(Continuation completion) {
            this.completion = completion;
        }
    }

    static final class Fetch extends Continuation {
        final byte[] body = new byte[4000];

        Fetch(Continuation completion) {
            super(completion);
        }
    }

    static final class Handle extends Continuation {
        Object result;

        Handle() {
            super(null);
        }
    }

    static final class Dispatched implements Runnable {
        final Continuation continuation;

        Dispatched(Continuation continuation) {
            this.continuation = continuation;
        }

        @Override
        public void run() {}
    }

    static final class Dispatcher {
        final Queue<Runnable> queue = new ArrayDeque<>();
    }

    static Dispatcher dispatcher;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayDeque with 2,000 elements", "field LeakFlows.dispatcher"},
        tells = {"LeakFlows$Dispatcher.queue", "2,000 objects of class LeakFlows$Dispatched"},
        holder = "LeakFlows.dispatcher.queue")
    static void coroutines(LeakCorpus.Dump dump) {
        dispatcher = new Dispatcher();
        for (int i = 0; i < 2000; i++) dispatcher.queue.add(new Dispatched(new Fetch(new Handle())));
    }

    /** A job whose children are in a ring of nodes around it. */
    static final class Job {
        final Link children = new Link(null);

        void add(Fetch child) {
            Link link = new Link(child);
            link.previous = children.previous;
            link.next = children;
            children.previous.next = link;
            children.previous = link;
        }
    }

    static final class Link {
        final Fetch child;
        Link next = this;
        Link previous = this;

        Link(Fetch child) {
            this.child = child;
        }
    }

    static Job scope;

    @LeakCorpus.Answer(
        says = {"one LeakFlows$Link, filled with 2,001", "field LeakFlows.scope"},
        tells = {"LeakFlows$Job.children", "2,001 objects of class LeakFlows$Link"},
        holder = "LeakFlows.scope.children")
    static void childrenOfAJob(LeakCorpus.Dump dump) {
        scope = new Job();
        for (int i = 0; i < 2000; i++) scope.add(new Fetch(new Handle()));
    }

    static final class Screen {
        final int[] pixels = new int[2000];
    }

    /** A step of a stream of events, which passes on to the next. */
    static class Step {
        final Step next;

        Step(Step next) {
            this.next = next;
        }
    }

    static final class Filtered extends Step {
        Filtered(Step next) {
            super(next);
        }
    }

    static final class Mapped extends Step {
        Mapped(Step next) {
            super(next);
        }
    }

    static final class Sink extends Step {
        final Consumer<Object> action;

        Sink(Consumer<Object> action) {
            super(null);
            this.action = action;
        }
    }

    static final class Prices {
        final AtomicReference<Step[]> subscribers = new AtomicReference<>(new Step[0]);

        void subscribe(Step step) {
            Step[] before = subscribers.get();
            Step[] after = java.util.Arrays.copyOf(before, before.length + 1);
            after[before.length] = step;
            subscribers.set(after);
        }
    }

    static Prices prices;

    @LeakCorpus.Answer(
        says = {"1,000 elements", "field LeakFlows.prices"},
        tells = {"LeakFlows$Prices.subscribers", "1,000 objects of class LeakFlows$Mapped"})
    static void operators(LeakCorpus.Dump dump) {
        prices = new Prices();
        for (int i = 0; i < 1000; i++) {
            Screen screen = new Screen();
            prices.subscribe(new Mapped(new Filtered(new Sink(price -> screen.pixels[0]++))));
        }
    }

    static final class Rows {
        final List<byte[][]> rows = new ArrayList<>();

        Rows() {
            for (int i = 0; i < 10; i++) rows.add(new byte[][] {new byte[50], new byte[200]});
        }
    }

    static final class Query {
        final Connection connection;
        final Rows rows = new Rows();

        Query(Connection connection) {
            this.connection = connection;
        }
    }

    static final class Connection {
        final Set<Query> open = Collections.newSetFromMap(new ConcurrentHashMap<>());
    }

    static final class Pooled {
        final Connection connection = new Connection();
    }

    static final class Pool {
        final List<Pooled> shared = new CopyOnWriteArrayList<>();
    }

    static Pool pool;

    @LeakCorpus.Answer(
        says = {"java.util.Collections$SetFromMap with 2,000 elements", "field LeakFlows.pool"},
        tells = {"LeakFlows$Connection.open", "2,000 objects of class LeakFlows$Query"})
    static void statements(LeakCorpus.Dump dump) {
        pool = new Pool();
        for (int i = 0; i < 8; i++) pool.shared.add(new Pooled());
        Connection one = pool.shared.get(3).connection;
        for (int i = 0; i < 2000; i++) one.open.add(new Query(one));
    }

    @LeakCorpus.Answer(
        says = {"8 objects of class", "2,000 objects of class LeakFlows$Query", "field LeakFlows.pool"},
        tells = {"LeakFlows$Connection.open", "objects of class LeakFlows$Query"})
    static void statementsOfAllConnections(LeakCorpus.Dump dump) {
        pool = new Pool();
        for (int i = 0; i < 8; i++) pool.shared.add(new Pooled());
        for (int i = 0; i < 2000; i++) {
            Connection one = pool.shared.get(i % 8).connection;
            one.open.add(new Query(one));
        }
    }

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 30,000 elements", "local variable in LeakFlows.export"},
        tells = {"LeakFlows$Rows.rows", "30,000 objects of class byte[][]"})
    static void resultReadAsAWhole(LeakCorpus.Dump dump) throws Exception {
        export(dump);
    }

    private static void export(LeakCorpus.Dump dump) throws Exception {
        Rows result = new Rows();
        while (result.rows.size() < 30_000) result.rows.add(new byte[][] {new byte[50], new byte[200]});
        dump.write();
        result.rows.clear();
    }

    static final class Cart {
        final List<byte[]> items = new ArrayList<>();
    }

    static final class Session {
        final Map<String, Object> attributes = new ConcurrentHashMap<>();
        final Sessions manager;

        Session(Sessions manager) {
            this.manager = manager;
            Cart cart = new Cart();
            for (int i = 0; i < 10; i++) cart.items.add(new byte[800]);
            attributes.put("cart", cart);
        }
    }

    static final class Sessions {
        final Map<String, Session> sessions = new ConcurrentHashMap<>();
    }

    static final class Container implements Runnable {
        final Sessions manager = new Sessions();

        @Override
        public void run() {
            LockSupport.park();
        }
    }

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentHashMap with 1,000 entries", "\"expiry\""},
        tells = {"LeakFlows$Sessions.sessions", "1,000 objects of class LeakFlows$Session"})
    static void sessionsOfAContainer(LeakCorpus.Dump dump) throws Exception {
        Container container = new Container();
        for (int i = 0; i < 1000; i++) container.manager.sessions.put("session " + i, new Session(container.manager));
        start("expiry", container);
        Thread.sleep(200);
    }

    private static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    static final class Request {
        final byte[] body = new byte[2000];
    }

    static final class Client {
        final Map<Long, CompletableFuture<byte[]>> pending = new ConcurrentHashMap<>();

        void send(long number, Request request) {
            CompletableFuture<byte[]> answer = new CompletableFuture<>();
            answer.thenApply(it -> request.body.length + it.length).thenAccept(it -> request.body[0] = 1);
            pending.put(number, answer);
        }
    }

    static Client client;

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentHashMap with 4,000 entries", "field LeakFlows.client"},
        tells = {"LeakFlows$Client.pending", "4,000 objects of class java.util.concurrent.CompletableFuture", "LeakFlows$Request"},
        holder = "LeakFlows.client.pending")
    static void answersThatNeverCome(LeakCorpus.Dump dump) {
        client = new Client();
        for (int i = 0; i < 4000; i++) client.send(i, new Request());
    }

    static ScheduledExecutorService scheduler;

    @LeakCorpus.Answer(
        says = {"DelayedWorkQueue with 50 elements", "field LeakFlows.scheduler"},
        tells = {"ScheduledFutureTask", "LeakFlows$Screen"})
    static void capturesOfPeriodicTasks(LeakCorpus.Dump dump) throws Exception {
        scheduler = Executors.newScheduledThreadPool(2);
        for (int i = 0; i < 50; i++) {
            Screen[] screens = new Screen[20];
            for (int j = 0; j < screens.length; j++) screens[j] = new Screen();
            scheduler.scheduleAtFixedRate(() -> screens[0].pixels[0]++, 1, 1, TimeUnit.DAYS);
        }
        Thread.sleep(200);
    }

    /** Since JDK 25 (JDK-8319447) a thread of the common pool has the timeouts of all futures. */
    @LeakCorpus.Answer(
        says = {"DelayScheduler", "10,000 objects", "LeakFlows$Request", "commonPool-delayScheduler"}, since = 25)
    static void timeoutsOfFuturesInAPool(LeakCorpus.Dump dump) throws Exception {
        timeoutsOfFutures(dump);
    }

    @LeakCorpus.Answer(
        says = {"with 10,000 elements", "field java.util.concurrent.CompletableFuture$Delayer.delayer"},
        tells = "LeakFlows$", until = 24)
    static void timeoutsOfFutures(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 10_000; i++) {
            Request request = new Request();
            CompletableFuture<Request> future = new CompletableFuture<>();
            future.thenAccept(it -> request.body[0] = 1);
            future.orTimeout(1, TimeUnit.DAYS);
        }
        Thread.sleep(200);
    }

    static ForkJoinPool workers;

    @LeakCorpus.Answer(
        says = {"field LeakFlows.workers"},
        tells = {"LeakFlows$"})
    static void tasksOfAForkJoinPool(LeakCorpus.Dump dump) throws Exception {
        workers = new ForkJoinPool(2);
        CountDownLatch never = new CountDownLatch(1);
        for (int i = 0; i < 5000; i++) {
            Request request = new Request();
            workers.execute(() -> {
                try {
                    never.await();
                } catch (InterruptedException e) {
                    request.body[0] = 1;
                }
            });
        }
        Thread.sleep(200);
    }

    static SubmissionPublisher<Request> publisher;

    static final class Slow implements Flow.Subscriber<Request> {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {}

        @Override
        public void onNext(Request item) {}

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onComplete() {}
    }

    @LeakCorpus.Answer(
        says = {"field LeakFlows.publisher"},
        tells = {"objects of class LeakFlows$Request"})
    static void slowSubscriber(LeakCorpus.Dump dump) throws Exception {
        publisher = new SubmissionPublisher<>(Runnable::run, 1 << 16);
        publisher.subscribe(new Slow());
        for (int i = 0; i < 5000; i++) publisher.submit(new Request());
    }

    /** A queue of arrays, each of which ends with the next. */
    static final class ChunkedQueue {
        Object[] consumer = new Object[129];
        Object[] producer = consumer;
        int at;

        void add(Object message) {
            if (at == 128) {
                Object[] next = new Object[129];
                producer[128] = next;
                producer = next;
                at = 0;
            }
            producer[at++] = message;
        }
    }

    static final class EventLoop extends Thread {
        final ChunkedQueue tasks = new ChunkedQueue();

        EventLoop() {
            super("event-loop-1");
            setDaemon(true);
        }

        @Override
        public void run() {
            LockSupport.park();
        }
    }

    @LeakCorpus.Answer(
        says = {"field LeakFlows$EventLoop.tasks keeps 10.2 MB", "one LeakFlows$ChunkedQueue, filled with 5,000", "event-loop-1"},
        tells = "objects of class LeakFlows$Request")
    static void queueOfChunks(LeakCorpus.Dump dump) {
        EventLoop loop = new EventLoop();
        for (int i = 0; i < 5000; i++) loop.tasks.add(new Request());
        loop.start();
    }

    static final class Mailbox {
        final Queue<Object> queue = new ConcurrentLinkedQueue<>();
    }

    static final class Actor {
        final Mailbox mailbox = new Mailbox();
    }

    static final class ActorSystem {
        final Map<String, Actor> actors = new HashMap<>();
    }

    static ActorSystem system;

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.ConcurrentLinkedQueue with 5,000 elements", "field LeakFlows.system"},
        tells = {"LeakFlows$Mailbox.queue", "5,000 objects of class LeakFlows$Request"})
    static void mailboxOfAnActor(LeakCorpus.Dump dump) {
        system = new ActorSystem();
        for (int i = 0; i < 100; i++) system.actors.put("actor " + i, new Actor());
        for (int i = 0; i < 5000; i++) system.actors.get("actor 7").mailbox.queue.add(new Request());
    }

    /** A wheel of slots, each with a list of timeouts. */
    static final class Wheel {
        final Slot[] slots = new Slot[64];

        Wheel() {
            for (int i = 0; i < slots.length; i++) slots[i] = new Slot();
        }
    }

    static final class Slot {
        Timeout first;
        Timeout last;
    }

    static final class Timeout {
        final Slot slot;
        final byte[] task = new byte[400];
        Timeout next;
        Timeout previous;

        Timeout(Slot slot) {
            this.slot = slot;
        }
    }

    static Wheel wheel;

    @LeakCorpus.Answer(
        says = {"LeakFlows$", "field LeakFlows.wheel"},
        tells = {"LeakFlows$Slot", "LeakFlows$Timeout"})
    static void wheelOfTimeouts(LeakCorpus.Dump dump) {
        wheel = new Wheel();
        for (int i = 0; i < 20_000; i++) {
            Slot slot = wheel.slots[i % 64];
            Timeout timeout = new Timeout(slot);
            if (slot.last == null) {
                slot.first = timeout;
            } else {
                slot.last.next = timeout;
                timeout.previous = slot.last;
            }
            slot.last = timeout;
        }
    }
}
