/** Threads whose names tell of customers, two of them alike, which live until the end. */
public class NamedThreads {
    public static void main(String[] args) throws InterruptedException {
        ThreadGroup group = new ThreadGroup("customer-group");
        String[] names = {"customer-alice", "customer-bob", "customer-alice", "customer-carol"};
        for (String name : names) {
            Thread thread = new Thread(group, NamedThreads::sleep, name);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println(names.length + " threads");
    }

    private static void sleep() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
