import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Speaks on standard output and error for 300 ms of CPU time, in lines "foreign NUMBER". Writes into the file "seen"
 * where descriptors 0 to 2 lead by then, a line "NUMBER TARGET" for each, and then how the three streams
 * behave: "in", "out" and "err", each with "works" or "fails".
 */
public class Speaks {
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + 300_000_000L;
        for (long number = 0; System.nanoTime() < end; number++) {
            for (int i = 0; i < 100_000; i++) sink += i;
            System.out.println("foreign " + number);
            System.err.println("foreign " + number);
        }
        StringBuilder seen = new StringBuilder();
        for (int number = 0; number < 3; number++) {
            seen.append(number).append(' ').append(target(number)).append('\n');
        }
        seen.append("in ").append(readFails() ? "fails" : "works").append('\n');
        seen.append("out ").append(System.out.checkError() ? "fails" : "works").append('\n');
        seen.append("err ").append(System.err.checkError() ? "fails" : "works").append('\n');
        Files.writeString(Path.of("seen"), seen);
    }

    static Object target(int number) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/fd/" + number));
        } catch (IOException closed) {
            return "closed";
        }
    }

    static boolean readFails() {
        try {
            System.in.read();
            return false;
        } catch (IOException expected) {
            return true;
        }
    }
}
