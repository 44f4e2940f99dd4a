import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Heaps of {@link LeakCorpus} in which tasks, threads and subscriptions of a program stay. */
final class LeakTasks {
    private LeakTasks() {}

    static final class Page {
        final byte[] text = new byte[2000];
    }

    static final class Recent extends Handler {
        private final List<LogRecord> records = new ArrayList<>();

        @Override
        public void publish(LogRecord record) {
            records.add(record);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    static final Logger LOGGER = Logger.getLogger("LeakTasks");

    @LeakCorpus.Answer(
        says = {"The field LeakTasks$Recent.records", "java.util.ArrayList with 3,000 elements", "3,000 objects of class java.util.logging.LogRecord"})
    static void recordsOfAHandler(LeakCorpus.Dump dump) {
        LOGGER.setUseParentHandlers(false);
        LOGGER.addHandler(new Recent());
        for (int i = 0; i < 3000; i++) {
            LogRecord record = new LogRecord(java.util.logging.Level.INFO, "page");
            record.setParameters(new Object[] {new Page()});
            LOGGER.log(record);
        }
    }

    static final class Worker extends Thread {
        private final byte[] buffer = new byte[5000];

        @Override
        public void run() {
            buffer[0]++;
        }
    }

    static final class Workers {
        static final List<Worker> PLANNED = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakTasks$Workers.PLANNED", "1,000 objects of class LeakTasks$Worker"},
        holder = "LeakTasks$Workers.PLANNED")
    static void threadsNeverStarted(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1000; i++) Workers.PLANNED.add(new Worker());
    }

    static final class Context {
        static final InheritableThreadLocal<Page[]> USER = new InheritableThreadLocal<Page[]>() {
            @Override
            protected Page[] childValue(Page[] parent) {
                Page[] copy = new Page[parent.length];
                for (int i = 0; i < copy.length; i++) copy[i] = new Page();
                return copy;
            }
        };
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakTasks$Context.USER", "LeakTasks$Page[]", "handler-*"},
        tells = "LeakTasks$Context.USER", threads = "handler-")
    static void inheritedContexts(LeakCorpus.Dump dump) throws Exception {
        Context.USER.set(new Page[100]);
        CountDownLatch started = new CountDownLatch(30);
        for (int i = 0; i < 30; i++) {
            Thread thread = new Thread(() -> {
                started.countDown();
                while (true) LockSupport.park();
            }, "handler-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        started.await();
    }

    static final class Sum extends RecursiveTask<byte[]> {
        private static final long serialVersionUID = 1;

        @Override
        protected byte[] compute() {
            return new byte[3000];
        }
    }

    static final class Results {
        static final Map<Integer, Future<byte[]>> ALL = new ConcurrentHashMap<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakTasks$Results.ALL", "1,000 objects of class LeakTasks$Sum"},
        holder = "LeakTasks$Results.ALL")
    static void resultsOfForkedTasks(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 1000; i++) {
            Future<byte[]> task = ForkJoinPool.commonPool().submit(new Sum());
            task.get();
            Results.ALL.put(i, task);
        }
    }

    static final class Pings {
        static final ScheduledExecutorService TIMER = new ScheduledThreadPoolExecutor(1);
        static final List<ScheduledFuture<?>> ACTIVE = new ArrayList<>();
    }

    /** Two fields of the program hold the tasks: either is right. */
    @LeakCorpus.Answer(says = {"The static field LeakTasks$Pings.", "1,500 objects", "ScheduledFutureTask"})
    static void pingsNeverCancelled(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1500; i++) {
            Page page = new Page();
            Runnable ping = () -> page.text[0]++;
            Pings.ACTIVE.add(Pings.TIMER.scheduleAtFixedRate(ping, 1, 1, TimeUnit.DAYS));
        }
    }

    static final class Feed {
        static final SubmissionPublisher<Page> NEWS = new SubmissionPublisher<>(Runnable::run, 16);
    }

    static final class Reader implements Flow.Subscriber<Page> {
        final byte[] cache = new byte[4000];

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.request(1);
        }

        @Override
        public void onNext(Page page) {
            cache[0]++;
        }

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onComplete() {}
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakTasks$Feed.NEWS", "1,000 objects of class LeakTasks$Reader"},
        holder = "LeakTasks$Feed.NEWS")
    static void readersNeverCancelled(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1000; i++) Feed.NEWS.subscribe(new Reader());
    }

    /** A registry as that of drivers: those who register never leave. */
    static final class Registry {
        private static final CopyOnWriteArrayList<Info> ENTRIES = new CopyOnWriteArrayList<>();

        static void register(Object driver) {
            ENTRIES.add(new Info(driver));
        }
    }

    static final class Info {
        final Object driver;

        Info(Object driver) {
            this.driver = driver;
        }
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(Driver.class.getName(), bytes, 0, bytes.length);
        }
    }

    public static final class Driver {
        static final byte[] TABLE = new byte[40_000];
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakTasks$Registry.ENTRIES", "100"}, tells = "100 class loaders, such as LeakTasks$Loader",
        holder = "LeakTasks$Registry.ENTRIES")
    static void driversOfClosedLoaders(LeakCorpus.Dump dump) throws Exception {
        byte[] bytes;
        try (java.io.InputStream in = LeakTasks.class.getResourceAsStream("LeakTasks$Driver.class")) {
            bytes = in.readAllBytes();
        }
        for (int i = 0; i < 100; i++) {
            Registry.register(new Loader().define(bytes).getConstructor().newInstance());
        }
    }

    static final class Job {
        final Page page = new Page();
    }

    static final class Steal {
        static final LinkedBlockingDeque<Job> JOBS = new LinkedBlockingDeque<>();
    }

    /** Workers hold the deque, too: the static field says more. */
    @LeakCorpus.Answer(
        says = {"The static field LeakTasks$Steal.JOBS", "2,000 objects of class LeakTasks$Job"}, holder = "LeakTasks$Steal.JOBS")
    static void jobsOfBusyWorkers(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch started = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            LinkedBlockingDeque<Job> jobs = Steal.JOBS;
            Thread thread = new Thread(() -> {
                started.countDown();
                while (jobs != null) LockSupport.park();
            }, "stealer-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        for (int i = 0; i < 2000; i++) Steal.JOBS.add(new Job());
        started.await();
    }
}
