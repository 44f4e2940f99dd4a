import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Semaphore;

/** Heaps of {@link LeakCorpus} with too many pools, or with values that workers keep, and with views that keep what they show. */
final class LeakPools {
    private LeakPools() {}

    static final class Report {
        final byte[] pages = new byte[40_000];
    }

    @LeakCorpus.Answer(
        says = {"The threads \"pool-*-thread-*\"", "150 threads", "local variable in LeakPools.render"},
        tells = "LeakPools$Report",
        threads = "pool-")
    static void executorByRequest(LeakCorpus.Dump dump) throws Exception {
        CountDownLatch ready = new CountDownLatch(150);
        for (int i = 0; i < 150; i++) Executors.newSingleThreadExecutor().execute(() -> render(ready));
        ready.await();
        dump.write();
    }

    private static void render(CountDownLatch ready) {
        Report report = new Report();
        ready.countDown();
        new Semaphore(0).acquireUninterruptibly();
        report.pages[0]++;
    }

    // Its size is compared with no walk: the finalizer of each timer, or its Cleaner, refers to the queue as well.
    @LeakCorpus.Answer(
        says = {"The threads \"Timer-*\"", "120 threads of class java.util.TimerThread", "LeakPools$1"},
        tells = "LeakPools$Report")
    static void timerByRequest(LeakCorpus.Dump dump) throws InterruptedException {
        for (int i = 0; i < 120; i++) {
            Report report = new Report();
            TimerTask task = new TimerTask() {
                @Override
                public void run() {
                    report.pages[0]++;
                }
            };
            new Timer(true).schedule(task, 1_000_000_000L);
        }
        // A thread that has not begun to wait is no thread of this kind yet.
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            while (thread.getName().startsWith("Timer-") && thread.getState() != Thread.State.TIMED_WAITING) {
                Thread.sleep(1);
            }
        }
    }

    static final ThreadLocal<List<Report>> REPORTS = ThreadLocal.withInitial(ArrayList::new);

    @LeakCorpus.Answer(
        says = {"The static field LeakPools.REPORTS", "3 values of ThreadLocals of class java.util.ArrayList",
            "\"ForkJoinPool-1-worker-*\""},
        tells = {"remove()", "LeakPools$Report"})
    static void threadLocalsOfForkJoinWorkers(LeakCorpus.Dump dump) throws Exception {
        ForkJoinPool workers = new ForkJoinPool(3);
        CountDownLatch ready = new CountDownLatch(3);
        Semaphore go = new Semaphore(0);
        for (int i = 0; i < 3; i++) {
            workers.execute(() -> {
                for (int j = 0; j < 40; j++) REPORTS.get().add(new Report());
                ready.countDown();
                go.acquireUninterruptibly();
            });
        }
        ready.await();
        dump.write();
        go.release(3);
    }

    /** Part of a deployment, each of which has its own. */
    public static final class Deployment implements Runnable {
        static final ThreadLocal<Deployment> CURRENT = new ThreadLocal<>();
        static final byte[] CONFIGURATION = new byte[150_000];

        @Override
        public void run() {
            CURRENT.set(this);
            CONFIGURATION[0]++;
        }
    }

    @LeakCorpus.Answer(
        says = {"ThreadLocal", "LeakPools$Deployment", "http-1"},
        tells = "java.net.URLClassLoader")
    static void threadLocalsOfDeployments(LeakCorpus.Dump dump) throws Exception {
        ExecutorService http = Executors.newSingleThreadExecutor(task -> new Thread(task, "http-1"));
        URL here = LeakPools.class.getProtectionDomain().getCodeSource().getLocation();
        for (int i = 0; i < 30; i++) {
            URLClassLoader loader = new URLClassLoader(new URL[] {here}, null);
            Class<?> deployment = Class.forName("LeakPools$Deployment", true, loader);
            http.submit((Runnable) deployment.getDeclaredConstructor().newInstance()).get();
        }
    }

    static List<byte[]> window;

    @LeakCorpus.Answer(
        says = {"The static field LeakPools.window", "java.util.ArrayList with 5,000 elements", "5,000 objects of class byte[]"},
        tells = "java.util.ArrayList$SubList", shared = true, since = 11)
    static void windowOfAWindow(LeakCorpus.Dump dump) {
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < 5000; i++) all.add(new byte[400]);
        window = all;
        for (int i = 0; i < 2000; i++) window = window.subList(1, window.size());
    }

    static List<Iterator<Report>> cursors;

    @LeakCorpus.Answer(
        says = {"The static field LeakPools.cursors", "java.util.ArrayList with 600 elements",
            "600 objects of class java.util.concurrent.CopyOnWriteArrayList$COWIterator"},
        tells = "java.lang.Object[]", shared = true, holder = "LeakPools.cursors")
    static void cursorsThatKeepOldArrays(LeakCorpus.Dump dump) {
        List<Report> reports = new CopyOnWriteArrayList<>();
        cursors = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            for (int j = 0; j < 3; j++) reports.add(null);
            cursors.add(reports.iterator());
        }
    }
}
