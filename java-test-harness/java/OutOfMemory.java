import java.util.ArrayList;

/**
 * Runs out of memory again and again, catches it, and goes on. Prints "survived" and how often.
 */
public class OutOfMemory {
    static class Held { final long[] content = new long[1000]; }

    public static void main(String[] args) {
        int errors = 0;
        for (int round = 0; round < 3; round++) {
            ArrayList<Held> held = new ArrayList<>();
            try {
                while (true) held.add(new Held());
            } catch (OutOfMemoryError full) {
                held = null;
                errors++;
            }
            try {
                System.out.print(new long[Integer.MAX_VALUE - 8].length);
            } catch (OutOfMemoryError large) {
                errors++;
            }
        }
        System.out.println("survived=" + errors);
    }
}
