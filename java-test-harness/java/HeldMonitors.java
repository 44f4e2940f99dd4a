/** Ends while three daemon threads own a monitor each, and two others wait for theirs. */
public class HeldMonitors {
    static final class Owned {}

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            Owned owned = new Owned();
            start(owned);
        }
        Object shared = new Object();
        synchronized (shared) {
            for (int i = 0; i < 2; i++) {
                Thread waiting = new Thread(() -> enter(shared));
                waiting.setDaemon(true);
                waiting.start();
                while (waiting.getState() != Thread.State.BLOCKED) {
                    Thread.sleep(1);
                }
            }
            System.out.println("held");
            System.exit(0);
        }
    }

    private static void start(Owned owned) throws InterruptedException {
        Thread owner = new Thread(() -> own(owned));
        owner.setDaemon(true);
        owner.start();
        while (owner.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
    }

    private static void enter(Object shared) {
        synchronized (shared) {
            throw new AssertionError("main owns it to the end");
        }
    }

    private static void own(Owned owned) {
        synchronized (owned) {
            try {
                Thread.sleep(600_000);
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
