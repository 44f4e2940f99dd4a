import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A little of everything a class file can hold: fields of all types along an inheritance chain and
 * from an interface, static and not, constants, generics, nested and anonymous classes, lambdas,
 * exceptions with finally, formatted output. Also loads and runs AllBytecodes. Prints "Hello, world"
 * and ends with status 0.
 */
public class HelloWorld {
    interface Named {
        String CONSTANT = "constant";
        int NUMBER = 42;

        default String name() {
            return CONSTANT + NUMBER;
        }
    }

    abstract static class Base implements Named {
        boolean aBoolean = true;
        byte aByte = -1;
        char aChar = 'x';
        short aShort = -2;
        protected int anInt = 3;
        private final long aLong = 4;
        static final float A_FLOAT = 1.5f;
        static double aDouble = 2.5;
        final Object[] objects = {this, null, "text"};

        abstract <T extends Comparable<T>> T larger(T left, T right);

        long sum() {
            return (aBoolean ? 1 : 0) + aByte + aChar + aShort + anInt + aLong + (long) A_FLOAT + (long) aDouble;
        }
    }

    static class Derived extends Base {
        int anInt = 30;
        Base self = this;
        int[][] grid = {{1, 2}, {}, null};

        @Override
        <T extends Comparable<T>> T larger(T left, T right) {
            return left.compareTo(right) >= 0 ? left : right;
        }

        @Override
        long sum() {
            return super.sum() + anInt + grid[0][1];
        }
    }

    static int attempt(int number) {
        try {
            if (number % 3 == 0) throw new IllegalArgumentException("divisible");
            if (number % 3 == 1) return Integer.parseInt("not a number");
            return number;
        } catch (NumberFormatException expected) {
            return -1;
        } catch (IllegalArgumentException expected) {
            return -2;
        } finally {
            counts.merge(number % 3, 1, Integer::sum);
        }
    }

    static final Map<Integer, Integer> counts = new TreeMap<>();

    @Override
    public String toString() {
        Base base = new Derived();
        List<String> words = new ArrayList<>();
        Runnable append = new Runnable() {
            @Override
            public void run() {
                words.add(base.larger("Hello", "Good-bye"));
            }
        };
        append.run();
        Runnable lambda = () -> words.add("world");
        lambda.run();
        int sum = 0;
        for (int i = 0; i < 9; i++) sum += attempt(i);
        if (sum != 6 || counts.size() != 3 || base.sum() != 160 || !base.name().equals("constant42")) {
            throw new IllegalStateException(sum + " " + counts + " " + base.sum() + " " + base.name());
        }
        return String.format("%s, %s", words.get(0), words.get(1));
    }

    public static void main(String[] args) {
        System.out.println(new HelloWorld());
        System.out.println("bytecodes=" + AllBytecodes.run());
    }
}
