/** Uses CPU time in two methods, allocates, and has threads that wait, for recordings by JFR. */
public class Recorded {
    static final Object LOCK = new Object();
    static volatile Object sink;
    static volatile double result;

    static void mostly(int rounds) {
        double sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += Math.sqrt(i);
        }
        result = sum;
    }

    static void seldom(int rounds) {
        mostly(rounds / 4);
        double sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += Math.cbrt(i);
        }
        result = sum;
    }

    static void allocate() {
        for (int i = 0; i < 20_000; i++) {
            sink = new long[100 + i % 50];
        }
    }

    static void hold(long millis) throws InterruptedException {
        synchronized (LOCK) {
            Thread.sleep(millis);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread owner = new Thread(() -> {
            try {
                for (int i = 0; i < 5; i++) {
                    hold(40);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, "owner");
        owner.start();
        for (int i = 0; i < 5; i++) {
            hold(20);
        }
        owner.join();
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        while (System.nanoTime() < end) {
            mostly(2_000_000);
            seldom(400_000);
            allocate();
        }
    }
}
