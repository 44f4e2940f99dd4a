import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * One thread burns CPU in spin(); others, named after what they do, only wait: "accept", "read"
 * (a socket), "pipe" (output of a child process), "sleep", "park", "wait", "enter" (a monitor).
 *
 * Argument: CPU seconds of the spinner (default 2). Exact: the waiting threads use no CPU once they wait, and what
 * they do before has been done by the main thread before, so it needs next to none. Prints
 * "spinner=" and, for each waiting thread, "accept=" and so on: CPU seconds.
 */
public class Blocked {
    interface Action {
        void run() throws Exception;
    }

    static class Waiter extends Thread {
        final Action action;
        final CountDownLatch begun = new CountDownLatch(1);

        Waiter(String name, Action action) {
            super(name);
            this.action = action;
            setDaemon(true);
        }

        @Override
        public void run() {
            begun.countDown();
            try {
                action.run();
            } catch (Exception ended) {
                // The program is over.
            }
        }
    }

    static volatile long sink;
    static final Object monitor = new Object();
    static final Object held = new Object();

    static void spin(long end) {
        while (Cpu.now() < end) for (int i = 0; i < 1_000_000; i++) sink++;
    }

    static void await(Object object) throws InterruptedException {
        synchronized (object) {
            while (true) object.wait();
        }
    }

    static void enter(Object object) {
        synchronized (object) {
            sink++;
        }
    }

    /** Loads and links all the classes that the waiting threads will use. */
    static void rehearse(ServerSocket server) throws Exception {
        try (Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket accepted = server.accept();
                OutputStream out = accepted.getOutputStream()) {
            out.write(1);
            client.getInputStream().read();
        }
        Thread.sleep(1);
        LockSupport.parkNanos(1);
        synchronized (monitor) {
            monitor.wait(1);
        }
        Cpu.now();
    }

    public static void main(String[] args) throws Exception {
        int seconds = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        rehearse(server);
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept();
        Process child = new ProcessBuilder("sleep", "600").start();
        InputStream pipe = child.getInputStream();

        List<Waiter> waiters = new ArrayList<>();
        waiters.add(new Waiter("accept", () -> server.accept()));
        waiters.add(new Waiter("read", () -> client.getInputStream().read()));
        waiters.add(new Waiter("pipe", () -> pipe.read()));
        waiters.add(new Waiter("sleep", () -> Thread.sleep(600_000)));
        waiters.add(new Waiter("park", () -> {
            while (true) LockSupport.park();
        }));
        waiters.add(new Waiter("wait", () -> await(monitor)));
        waiters.add(new Waiter("enter", () -> enter(held)));
        synchronized (held) {
            for (Waiter waiter : waiters) waiter.start();
            for (Waiter waiter : waiters) waiter.begun.await();
            Thread spinner = new Thread(() -> {
                spin(seconds * 1_000_000_000L);
                Cpu.print("spinner", Cpu.now());
            }, "spinner");
            spinner.start();
            spinner.join();
            for (Waiter waiter : waiters) Cpu.print(waiter.getName(), Cpu.of(waiter));
        }
        child.destroy();
        accepted.close();
    }
}
