/**
 * Burns CPU in first(), prints "first", burns CPU in second() until the file "go" appears in the
 * current folder, prints "second", and goes on like that in third() until the file "end" appears.
 * So a test knows in which method the samples before and after a dump belong. Ends by itself after
 * a minute.
 */
public class DumpLoop {
    static final long LIMIT = System.nanoTime() + 60_000_000_000L;

    static volatile long sink;

    static void first() {
        long end = System.nanoTime() + 500_000_000L;
        while (System.nanoTime() < end) sink++;
    }

    static void second() {
        while (!there("go")) for (int i = 0; i < 10_000_000; i++) sink++;
    }

    static void third() {
        while (!there("end")) for (int i = 0; i < 10_000_000; i++) sink++;
    }

    static boolean there(String name) {
        return System.nanoTime() > LIMIT || new java.io.File(name).exists();
    }

    public static void main(String[] args) {
        first();
        System.out.println("first");
        second();
        System.out.println("second");
        third();
    }
}
