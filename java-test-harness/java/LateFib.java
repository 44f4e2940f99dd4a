import java.io.File;

/**
 * Calls fib(40) once for each file "ask-N" that appears in the current folder, in order from 0, and answers with a line
 * "N=MICROSECONDS". Ends when a file "end" appears, or after ten minutes.
 */
public class LateFib {
    static final long LIMIT = System.nanoTime() + 600_000_000_000L;

    static boolean there(String name) {
        return System.nanoTime() > LIMIT || new File(name).exists();
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        for (int asked = 0; ; asked++) {
            while (!there("ask-" + asked)) {
                if (there("end")) {
                    return;
                }
                Thread.sleep(5);
            }
            long begin = System.nanoTime();
            if (Fib.fib(40) != 102334155) {
                throw new AssertionError();
            }
            System.out.println(asked + "=" + (System.nanoTime() - begin) / 1000);
        }
    }
}
