import java.io.File;
import java.io.FileInputStream;
import java.util.Random;
import java.util.zip.Deflater;

/**
 * Burns CPU time in Java, then in native code of the JDK, called by the methods {@code compress}, {@code read} and
 * {@code resolve}, until each has had the time.
 *
 * Arguments: SECONDS of CPU time for each. Exact: "java=", "compress=", "read=", "resolve=", their CPU seconds.
 */
public class NativeWork {
    static long sink;

    static final byte[] INPUT = new byte[1 << 16], OUTPUT = new byte[1 << 17];

    static {
        new Random(1).nextBytes(INPUT);
        for (int i = 0; i < INPUT.length; i++) INPUT[i] &= 15;
    }

    static void compress() {
        Deflater deflater = new Deflater(6);
        deflater.setInput(INPUT);
        deflater.finish();
        sink += deflater.deflate(OUTPUT);
        deflater.end();
    }

    static void read() {
        byte[] bytes = new byte[4096];
        try (FileInputStream zeros = new FileInputStream("/dev/zero")) {
            for (int i = 0; i < 1000; i++) sink += zeros.read(bytes);
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Has the C library look at each folder of a path. */
    static void resolve() {
        try {
            // A new name each time, which no cache of the JDK has.
            for (int i = 0; i < 200; i++) sink += new File("/usr/lib/../bin/../lib/" + sink).getCanonicalPath().length();
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    static void java() {
        for (int i = 0; i < 1_000_000; i++) sink = sink * 31 + i;
    }

    static void spend(String name, double seconds, Runnable work) {
        long start = Cpu.now(), spent;
        do {
            work.run();
            spent = Cpu.now() - start;
        } while (spent < seconds * 1e9);
        Cpu.print(name, spent);
    }

    public static void main(String[] args) {
        double seconds = Double.parseDouble(args[0]);
        spend("java", seconds, NativeWork::java);
        spend("compress", seconds, NativeWork::compress);
        spend("read", seconds, NativeWork::read);
        spend("resolve", seconds, NativeWork::resolve);
    }
}
