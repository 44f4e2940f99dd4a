/** Four methods with 50, 30, 15 and 5 % of the CPU time; prints the main thread's CPU milliseconds. */
public class Shares {
    static volatile long sink;

    static long half(long n) {
        long v = n;
        for (long i = 0; i < n * 50; i++) {
            v = v * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    static long third(long n) {
        long v = n;
        for (long i = 0; i < n * 30; i++) {
            v = v * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    static long seventh(long n) {
        long v = n;
        for (long i = 0; i < n * 15; i++) {
            v = v * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    static long rest(long n) {
        long v = n;
        for (long i = 0; i < n * 5; i++) {
            v = v * 6364136223846793005L + 1442695040888963407L;
        }
        return v;
    }

    public static void main(String[] args) {
        for (int i = 0; i < 4000; i++) {
            sink += half(40000) + third(40000) + seventh(40000) + rest(40000);
        }
        System.out.println("done");
    }
}
