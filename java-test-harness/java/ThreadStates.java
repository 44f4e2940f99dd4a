import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.Recording;

/**
 * Threads that are in one state each, for 300 ms or more, in a recording that it writes to a file: "wants" waits for the monitor of
 * a Lock that "owner" has, "sleeps" sleeps, "parks" is parked by another Lock, and "reads" waits at a socket.
 */
public class ThreadStates {
    static class Lock {
    }

    static final Lock LOCK = new Lock();
    static final Lock BLOCKER = new Lock();
    static final CountDownLatch HELD = new CountDownLatch(1);

    interface Body {
        void run() throws Exception;
    }

    static Thread start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception failed) {
                failed.printStackTrace();
                System.exit(1);
            }
        }, name);
        thread.start();
        return thread;
    }

    /** Waits without an event of its own. */
    static void spin(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) Thread.yield();
    }

    static void own() {
        synchronized (LOCK) {
            HELD.countDown();
            spin(500);
        }
    }

    static void want() throws Exception {
        HELD.await();
        synchronized (LOCK) {
            HELD.countDown();
        }
    }

    static void sleep() throws Exception {
        Thread.sleep(400);
    }

    static void park() {
        long end = System.nanoTime() + 400_000_000;
        while (System.nanoTime() < end) LockSupport.parkNanos(BLOCKER, 400_000_000);
    }

    static void read(InputStream in) throws Exception {
        in.read();
    }

    public static void main(String[] args) throws Exception {
        try (Recording recording = new Recording();
                ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket served = server.accept()) {
            for (String name : new String[] {"JavaMonitorEnter", "ThreadSleep", "ThreadPark", "SocketRead"}) {
                recording.enable("jdk." + name).withThreshold(Duration.ZERO).withStackTrace();
            }
            recording.enable("jdk.ExecutionSample").withPeriod(Duration.ofMillis(10));
            for (String name : new String[] {"SafepointBegin", "SafepointEnd"}) {
                recording.enable("jdk." + name).withThreshold(Duration.ZERO);
            }
            recording.start();
            Thread[] threads = {
                start("owner", ThreadStates::own),
                start("wants", ThreadStates::want),
                start("sleeps", ThreadStates::sleep),
                start("parks", ThreadStates::park),
                start("reads", () -> read(client.getInputStream())),
            };
            spin(400);
            System.gc();
            served.getOutputStream().write(1);
            for (Thread thread : threads) thread.join();
            recording.stop();
            recording.dump(Paths.get(args[0]));
        }
    }
}
