/** Ends while eight daemon threads start further threads. */
public class StartsAtExit {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 8; i++) {
            Thread starter = new Thread(StartsAtExit::start);
            starter.setDaemon(true);
            starter.start();
        }
        Thread.sleep(300);
        System.out.println("ends");
    }

    private static void start() {
        while (true) {
            Thread thread = new Thread(() -> {});
            thread.setDaemon(true);
            thread.start();
        }
    }
}
