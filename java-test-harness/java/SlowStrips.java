import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A call of handle that computes 200 ms of CPU time, sleeps 250 ms, waits 250 ms for a monitor, as long for a lock, and as long for
 * a byte of a socket, in this order. Each part ends a while after it has begun, however busy the machine is. An argument says how
 * many milliseconds the parts last that wait.
 */
public class SlowStrips {
    static long part = 250;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile long sink;

    static void computes() {
        long end = THREADS.getCurrentThreadCpuTime() + 200 * 1_000_000L;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            for (int i = 0; i < 10_000; i++) {
                sink += i;
            }
        }
    }

    static void sleeps() throws InterruptedException {
        Thread.sleep(part);
    }

    static void wantsMonitor() throws InterruptedException {
        Thread caller = Thread.currentThread();
        CountDownLatch held = new CountDownLatch(1);
        start(() -> {
            synchronized (MONITOR) {
                held.countDown();
                waitFor(caller, Thread.State.BLOCKED);
                Thread.sleep(part);
            }
        });
        held.await();
        synchronized (MONITOR) {
            sink++;
        }
    }

    static void wantsLock() throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        start(() -> {
            LOCK.lock();
            held.countDown();
            while (!LOCK.hasQueuedThreads()) {
                Thread.sleep(1);
            }
            Thread.sleep(part);
            LOCK.unlock();
        });
        held.await();
        LOCK.lock();
        LOCK.unlock();
    }

    static void reads() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket peer = server.accept()) {
            start(() -> {
                Thread.sleep(part);
                peer.getOutputStream().write(1);
            });
            InputStream in = client.getInputStream();
            sink += in.read();
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static void start(Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
    }

    static void waitFor(Thread thread, Thread.State state) throws InterruptedException {
        while (thread.getState() != state) {
            Thread.sleep(1);
        }
    }

    static void handle() throws Exception {
        computes();
        sleeps();
        wantsMonitor();
        wantsLock();
        reads();
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            part = Long.parseLong(args[0]);
        }
        handle();
    }
}
