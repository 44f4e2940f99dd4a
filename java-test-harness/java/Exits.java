import java.util.concurrent.CountDownLatch;

/**
 * Ends in the way its argument says, after 0.3 s of CPU time in work(): "return" (status 0), "exit N",
 * "halt N", "throw" (uncaught exception in main, status 1), "wait" (prints "ready" and waits to be
 * killed; at most a minute).
 */
public class Exits {
    static volatile long sink;

    static void work() {
        long end = Cpu.now() + 300_000_000L;
        while (Cpu.now() < end) for (int i = 0; i < 1_000_000; i++) sink++;
    }

    public static void main(String[] args) throws Exception {
        work();
        switch (args[0]) {
            case "return": return;
            case "exit": System.exit(Integer.parseInt(args[1])); break;
            case "halt": Runtime.getRuntime().halt(Integer.parseInt(args[1])); break;
            case "throw": throw new IllegalStateException("thrown on purpose");
            case "wait":
                System.out.println("ready");
                new CountDownLatch(1).await(60, java.util.concurrent.TimeUnit.SECONDS);
                break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }
}
