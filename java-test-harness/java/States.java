import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that are in one state each for all their lives: "sleeper", "waiter", "parker", "blocked" (by "holder", which
 * sleeps), "reader" (of a socket that says nothing) and "spinner"; "mixed" spins and sleeps in turn. Argument: seconds
 * (default 2). Exact: "alive=", seconds from the start of the last thread to the end; "spinner=", CPU seconds of that
 * thread; "spun=" and "slept=", seconds of "mixed".
 */
public class States {
    static final Object LOCK = new Object();
    static final Object CONDITION = new Object();

    static volatile long sink;
    static volatile boolean held;
    static volatile boolean ended;

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
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void spin() {
        for (int i = 0; i < 100_000; i++) sink += i;
    }

    static void read(InputStream in) throws Exception {
        in.read();
    }

    static void hold() throws Exception {
        synchronized (LOCK) {
            held = true;
            Thread.sleep(1_000_000);
        }
    }

    static void block() throws Exception {
        while (!held) Thread.sleep(1);
        synchronized (LOCK) {
            sink++;
        }
    }

    static void await() throws Exception {
        synchronized (CONDITION) {
            CONDITION.wait();
        }
    }

    static void mix() throws Exception {
        long spun = 0;
        long slept = 0;
        for (long begin = System.nanoTime(), end; !ended; begin = end) {
            long middle = begin;
            while (middle < begin + 60_000_000) {
                spin();
                middle = System.nanoTime();
            }
            Thread.sleep(40);
            end = System.nanoTime();
            spun += middle - begin;
            slept += end - middle;
        }
        Cpu.print("spun", spun);
        Cpu.print("slept", slept);
    }

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 2;
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept();
        start("sleeper", () -> Thread.sleep(1_000_000));
        start("waiter", States::await);
        start("parker", () -> {
            while (true) LockSupport.park();
        });
        start("holder", States::hold);
        start("blocked", States::block);
        start("reader", () -> read(accepted.getInputStream()));
        Thread mixed = start("mixed", States::mix);
        Thread spinner = start("spinner", () -> {
            while (true) spin();
        });
        long begin = System.nanoTime();
        Thread.sleep((long) (seconds * 1000));
        ended = true;
        mixed.join();
        Cpu.print("spinner", Cpu.of(spinner));
        Cpu.print("alive", System.nanoTime() - begin);
        client.close();
    }
}
