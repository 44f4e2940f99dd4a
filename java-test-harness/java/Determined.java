import java.util.ArrayList;
import java.util.List;

/**
 * Does the same in every run, on one thread: keeps 500 parts of 700, each with a name, an array, and the part before;
 * calls methods 2,000 and 21,891 times.
 */
public class Determined {
    static final class Part {
        final int number;
        final long twice;
        final boolean isEven;
        final String name;
        final char[] letters;
        final Part before;

        Part(int number, Part before) {
            this.number = number;
            this.twice = 2L * number;
            this.isEven = number % 2 == 0;
            this.name = "part ".concat(Integer.toString(number));
            this.letters = new char[number % 7];
            this.before = before;
        }
    }

    static final int LIMIT = 500;
    static final List<Part> kept = new ArrayList<>();
    static Object[] table = new Object[LIMIT];
    static int sum;

    static void keep() {
        Part last = null;
        for (int i = 0; i < LIMIT; i++) {
            last = new Part(i, last);
            kept.add(last);
            table[i] = last;
        }
    }

    static void drop() {
        for (int i = 0; i < 200; i++) {
            sum += new Part(i, null).letters.length;
        }
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static void leaf() {
        sum++;
    }

    public static void main(String[] args) {
        keep();
        drop();
        for (int i = 0; i < 2000; i++) {
            leaf();
        }
        System.out.println(fibonacci(20));
    }
}
