/**
 * Twenty daemon threads that make exceptions and drop them; half a second later the program prints "exit" and ends with
 * status 7 while they go on.
 */
public class BusyExit {
    static volatile Object sink;

    static int deep(int depth) {
        if (depth > 0) return deep(depth - 1) + 1;
        try {
            throw new Exception();
        } catch (Exception thrown) {
            sink = thrown;
        }
        return 0;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> {
                while (true) deep(100);
            });
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(500);
        System.out.println("exit");
        System.exit(7);
    }
}
