import java.io.File;
import java.util.Arrays;

/**
 * Runs another program once for each file "round1", "round2" and so on that appears in the current folder, and ends
 * when the file "end" does, or after two minutes. The arguments are its class, and its own arguments.
 */
public class Late {
    static final long LIMIT = System.nanoTime() + 120_000_000_000L;

    static boolean there(String name) {
        return System.nanoTime() > LIMIT || new File(name).exists();
    }

    public static void main(String[] args) throws Exception {
        Exception[] failure = new Exception[1];
        // With a stack of a size that was asked for.
        Thread thread = new Thread(null, () -> failure[0] = failureOf(args), "late", 4 << 20);
        thread.start();
        thread.join();
        if (failure[0] != null) {
            throw failure[0];
        }
    }

    static Exception failureOf(String[] args) {
        try {
            rounds(args);
            return null;
        } catch (Exception e) {
            return e;
        }
    }

    static void rounds(String[] args) throws Exception {
        String[] rest = Arrays.copyOfRange(args, 1, args.length);
        System.out.println("ready");
        for (int round = 1; ; round++) {
            while (!there("round" + round)) {
                if (there("end")) {
                    return;
                }
                Thread.sleep(10);
            }
            Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
            System.out.println("round " + round);
        }
    }
}
