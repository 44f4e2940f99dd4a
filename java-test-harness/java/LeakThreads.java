import java.util.ArrayList;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Heaps of {@link LeakCorpus} that threads hold, or what waits for them. */
final class LeakThreads {
    private LeakThreads() {}

    static final class Context {
        final byte[] buffer;

        Context(int bytes) {
            buffer = new byte[bytes];
        }
    }

    static final ThreadLocal<Context> CONTEXT = new ThreadLocal<>();
    static List<byte[]> besides;

    private static void inPool(int threads, Runnable task) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        CountDownLatch all = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            pool.execute(() -> {
                task.run();
                all.countDown();
                await(all);
            });
        }
        all.await();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @LeakCorpus.Answer(
        says = {"60 values of ThreadLocals of class LeakThreads$Context", "pool-1-thread-", "LeakThreads.CONTEXT"},
        tells = "ThreadLocal.remove()",
        threads = "pool-1-thread-")
    static void threadLocalsOfAPool(LeakCorpus.Dump dump) throws Exception {
        besides = new ArrayList<>();
        for (int i = 0; i < 100; i++) besides.add(new byte[30_000]);
        inPool(60, () -> CONTEXT.set(new Context(100_000)));
    }

    @LeakCorpus.Answer(
        says = {"4 values of ThreadLocals of class LeakThreads$Context", "pool-1-thread-", "LeakThreads.CONTEXT"},
        tells = "ThreadLocal.remove()",
        threads = "pool-1-thread-")
    static void threadLocalsOfFewThreads(LeakCorpus.Dump dump) throws Exception {
        inPool(4, () -> CONTEXT.set(new Context(2_000_000)));
    }

    @LeakCorpus.Answer(
        says = {"20 threads", "worker-", "local variable", "LeakThreads.collect"},
        tells = "java.util.ArrayList",
        threads = "worker-")
    static void localsOfThreads(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(20);
        for (int i = 0; i < 20; i++) start("worker-" + i, () -> collect(ready));
        ready.await();
    }

    private static void collect(CountDownLatch ready) {
        List<Context> collected = new ArrayList<>();
        for (int i = 0; i < 100; i++) collected.add(new Context(4000));
        ready.countDown();
        LockSupport.park();
        collected.clear();
    }

    private static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** A thread with memory of its own. */
    static final class Reader extends Thread {
        final byte[] page = new byte[200_000];

        Reader(int number) {
            super("reader-" + number);
            setDaemon(true);
        }

        @Override
        public void run() {
            LockSupport.park();
        }
    }

    @LeakCorpus.Answer(
        says = {"50 threads", "reader-", "LeakThreads$Reader.page"},
        threads = "reader-")
    static void fieldsOfThreads(LeakCorpus.Dump dump) {
        for (int i = 0; i < 50; i++) new Reader(i).start();
    }

    /** A task with memory of its own. */
    static final class Poll implements Runnable {
        final Context context = new Context(200_000);

        @Override
        public void run() {
            LockSupport.park();
        }
    }

    @LeakCorpus.Answer(
        says = {"40 threads", "poll-", "LeakThreads$Poll"},
        threads = "poll-")
    static void targetsOfThreads(LeakCorpus.Dump dump) throws Exception {
        for (int i = 0; i < 40; i++) start("poll-" + i, new Poll());
        Thread.sleep(200);
    }

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 2,000 elements", "\"pool-1-thread-1\"", "local variable in LeakThreads.gather"},
        tells = "LeakThreads$Context")
    static void oneThreadOfAPool(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(1);
        ExecutorService pool = Executors.newFixedThreadPool(8);
        pool.execute(() -> gather(ready));
        ready.await();
        for (int i = 0; i < 7; i++) pool.execute(() -> {});
    }

    private static void gather(CountDownLatch ready) {
        List<Context> gathered = new ArrayList<>();
        for (int i = 0; i < 2000; i++) gathered.add(new Context(4000));
        ready.countDown();
        LockSupport.park();
        gathered.clear();
    }

    static final class Task implements Runnable {
        final byte[] payload = new byte[400];

        @Override
        public void run() {
            LockSupport.park();
        }
    }

    static ExecutorService pool;

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.LinkedBlockingQueue with 20,000 elements", "field LeakThreads.pool"},
        tells = "objects of class LeakThreads$Task",
        never = {"local variable", "one java.util.concurrent.LinkedBlockingQueue$Node"})
    static void backlog(LeakCorpus.Dump dump) throws Exception {
        pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 20_002; i++) pool.execute(new Task());
        Thread.sleep(200);
    }

    static ScheduledExecutorService scheduler;

    @LeakCorpus.Answer(
        says = {"DelayedWorkQueue with 20,000 elements", "field LeakThreads.scheduler"},
        tells = {"ScheduledFutureTask", "objects of class LeakThreads$Task"})
    static void scheduledTasks(LeakCorpus.Dump dump) throws Exception {
        scheduler = Executors.newScheduledThreadPool(1);
        for (int i = 0; i < 20_000; i++) scheduler.schedule(new Task(), 1, TimeUnit.DAYS);
        Thread.sleep(200);
    }

    static Timer timer;

    static final class Reminder extends TimerTask {
        final byte[] text = new byte[400];

        @Override
        public void run() {}
    }

    @LeakCorpus.Answer(
        says = {"java.util.TaskQueue with 20,000 elements", "field LeakThreads.timer"},
        tells = "objects of class LeakThreads$Reminder")
    static void timerTasks(LeakCorpus.Dump dump) {
        timer = new Timer("reminders", true);
        for (int i = 0; i < 20_000; i++) timer.schedule(new Reminder(), 86_400_000L);
    }

    static CompletableFuture<Object> future;

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.CompletableFuture", "field LeakThreads.future"},
        never = {"UniApply keeps", "UniCompletion keeps"})
    static void dependentsOfAFuture(LeakCorpus.Dump dump) {
        future = new CompletableFuture<>();
        for (int i = 0; i < 20_000; i++) {
            Context context = new Context(300);
            future.thenApply(value -> context.buffer);
        }
    }

    @LeakCorpus.Answer(
        says = {"java.util.concurrent.CompletableFuture", "field LeakThreads.future"},
        never = "UniCompose",
        holder = "LeakThreads.future")
    static void chainOfFutures(LeakCorpus.Dump dump) {
        future = new CompletableFuture<>();
        CompletableFuture<Object> last = future;
        for (int i = 0; i < 20_000; i++) {
            Context context = new Context(300);
            last = last.thenApply(value -> context.buffer);
        }
    }

    static List<Thread> unstarted;

    @LeakCorpus.Answer(
        says = {"java.util.ArrayList with 500 elements", "field LeakThreads.unstarted"},
        tells = "500 objects of class LeakThreads$1",
        holder = "LeakThreads.unstarted")
    static void threadsThatNeverStart(LeakCorpus.Dump dump) {
        unstarted = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            Thread thread = new Thread(new Task(), "never-" + i) {
                final byte[] page = new byte[20_000];
            };
            unstarted.add(thread);
        }
    }

    @LeakCorpus.Answer(
        says = {"virtual threads", "LeakThreads.collect"},
        since = 25)
    static void virtualThreads(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(20);
        for (int i = 0; i < 20; i++) {
            Runnable task = () -> collect(ready);
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        ready.await();
        Thread.sleep(200);
    }
}
