import java.util.concurrent.locks.ReentrantLock;

/** Two threads wait for a lock, prints "waiting", until the file "end" appears, for a minute at most. */
public class WaitsForALock {
    static final ReentrantLock lock = new ReentrantLock();

    static void waits() {
        lock.lock();
        lock.unlock();
    }

    public static void main(String[] args) throws Exception {
        lock.lock();
        for (int i = 0; i < 2; i++) {
            new Thread(WaitsForALock::waits).start();
        }
        while (lock.getQueueLength() < 2) {
            Thread.sleep(1);
        }
        System.out.println("waiting");
        long limit = System.nanoTime() + 60_000_000_000L;
        while (System.nanoTime() < limit && !new java.io.File("end").exists()) {
            Thread.sleep(1);
        }
        lock.unlock();
    }
}
