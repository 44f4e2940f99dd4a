/**
 * Threads with names of many kinds, one after the other, in a group of a group. Each gets another name; so do one that
 * lives to the end, and the main thread.
 */
public class ThreadNames {
    public static void main(String[] args) throws InterruptedException {
        ThreadGroup group = new ThreadGroup(new ThreadGroup("outer"), "inner");
        String[] names = {"", "plain", "r\u00f6t \u4e2d\u6587 \ud83d\ude00", "a".repeat(256), "b".repeat(257), "c".repeat(3000)};
        for (String name : names) {
            Thread thread = new Thread(group, () -> Thread.currentThread().setName("renamed"), name);
            thread.start();
            thread.join();
        }
        Thread.currentThread().setName("main renamed");
        Thread kept = new Thread(group, ThreadNames::sleep, "kept");
        kept.setDaemon(true);
        kept.start();
        kept.setName("kept renamed");
        // The VM ends without waiting for a daemon that is only about to run.
        while (kept.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
