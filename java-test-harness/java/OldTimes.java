/** Nested calls that wait, for the times of cpu=old; one way out is by an exception. */
public class OldTimes {
    static void sleeper(long millis) throws InterruptedException {
        Thread.sleep(millis);
    }

    static void middle() throws InterruptedException {
        sleeper(100);
        sleeper(100);
    }

    static void fails() throws InterruptedException {
        sleeper(50);
        throw new IllegalStateException();
    }

    static void catches() throws InterruptedException {
        try {
            fails();
        } catch (IllegalStateException e) {
            sleeper(50);
        }
    }

    static int recursive(int n) throws InterruptedException {
        if (n == 0) {
            sleeper(100);
            return 0;
        }
        return recursive(n - 1);
    }

    static long getter() {
        return 7;
    }

    static long getters() {
        long sum = 0;
        for (int i = 0; i < 1000; i++) {
            sum += getter();
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        long start = System.nanoTime();
        middle();
        catches();
        recursive(4);
        System.out.println(getters());
        System.out.println("millis=" + (System.nanoTime() - start) / 1000000);
    }
}
