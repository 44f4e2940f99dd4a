import java.io.InputStream;
import java.lang.instrument.ClassDefinition;

/**
 * Two threads allocate in a class that is redefined 250 times meanwhile: with another constant in each of its methods, so that all of
 * its old methods are obsolete. Needs the agent Redefiner. Prints the number of arrays that were made.
 */
public class RedefinedWhileAllocating {
    static volatile Object sink;
    static volatile boolean end;

    static class Maker {
        static long made(int count) {
            long made = 0;
            for (int i = 0; i < count; i++) {
                sink = pass(i);
                if (i != 12345) {
                    made++;
                }
            }
            return made;
        }

        static Object pass(int number) {
            return number == 12345 ? null : make(number);
        }

        static Object make(int number) {
            if (number == 12345) {
                return null;
            }
            return new int[number & 3];
        }
    }

    static byte[] bytesOfMaker() throws Exception {
        String name = "RedefinedWhileAllocating$Maker.class";
        try (InputStream in = RedefinedWhileAllocating.class.getResourceAsStream(name)) {
            return in.readAllBytes();
        }
    }

    /** Puts another number in the place of each 12345, as sipush has it. */
    static byte[] changed(byte[] original) {
        byte[] bytes = original.clone();
        int changes = 0;
        for (int i = 2; i < bytes.length; i++) {
            if (bytes[i - 2] == 0x11 && bytes[i - 1] == 0x30 && bytes[i] == 0x39) {
                bytes[i] = 0x3a;
                changes++;
            }
        }
        if (changes != 3) {
            throw new IllegalStateException(changes + " constants");
        }
        return bytes;
    }

    public static void main(String[] args) throws Exception {
        byte[] original = bytesOfMaker();
        byte[][] versions = {changed(original), original};
        long[] made = new long[2];
        Thread[] threads = new Thread[made.length];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                while (!end) {
                    made[number] += Maker.made(2_000);
                }
            });
            threads[i].start();
        }
        for (int i = 0; i < 250; i++) {
            Thread.sleep(3);
            Redefiner.instrumentation.redefineClasses(new ClassDefinition(Maker.class, versions[i % 2]));
            if (i % 100 == 0) {
                System.gc();
            }
        }
        end = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("made=" + (made[0] + made[1]));
    }
}
