/**
 * Starts threads that end at once, 32 at a time. Argument: how many (default 30,000). Prints their number at the end.
 */
public class ShortThreads {
    static int ended;

    static synchronized void end() {
        ended++;
    }

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 30_000;
        Thread[] threads = new Thread[32];
        for (int started = 0; started < count; started += threads.length) {
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(ShortThreads::end);
                threads[i].start();
            }
            for (Thread thread : threads) thread.join();
        }
        System.out.println(ended);
    }
}
