/**
 * Burns half a second of CPU time in first(), prints "first", burns CPU in second() until the file "go" appears in the
 * current folder, prints "second", and goes on like that in third() for at least 0.3 s and until the file "end"
 * appears.
 * So a test knows in which method the samples before and after a dump belong. Ends by itself after
 * a minute.
 */
public class DumpLoop {
    static final long LIMIT = System.nanoTime() + 60_000_000_000L;

    static volatile long sink;

    static void first() {
        long end = Cpu.now() + 500_000_000L;
        while (Cpu.now() < end) work();
    }

    static void second() {
        while (!there("go")) work();
    }

    static void third() {
        long end = Cpu.now() + 300_000_000L;
        while (Cpu.now() < end || !there("end")) work();
    }

    static void work() {
        for (int i = 0; i < 1_000_000; i++) sink++;
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
