import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes arrays of 120 classes at one place, 2,000 of each, and 400,000 objects at the end of a chain of methods that is
 * interpreted first, then compiled, then inlined.
 */
public class OneStackManyClasses {
    static final class Made {}

    static final int ROUNDS = 2_000;
    static final int CHAINS = 400_000;
    static volatile Object sink;

    static void arrays(List<Class<?>> classes) {
        for (Class<?> of : classes) {
            sink = Array.newInstance(of, 1);
        }
    }

    static void first() {
        second();
    }

    static void second() {
        third();
    }

    static void third() {
        sink = new Made();
    }

    public static void main(String[] args) {
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> of : List.of(int.class, long.class, byte.class, String.class, Object.class, Made.class)) {
            for (int dimensions = 0; dimensions < 20; dimensions++) {
                classes.add(of);
                of = Array.newInstance(of, 0).getClass();
            }
        }
        for (int round = 0; round < ROUNDS; round++) {
            arrays(classes);
        }
        for (int i = 0; i < CHAINS; i++) {
            first();
        }
        System.out.println("done");
    }
}
