import java.util.ArrayList;
import java.util.List;

/**
 * Counts that are known by construction, on one thread. Calls: fib 1,973, leaf 2,000. Items: 500 made in keep and alive
 * to the end, 700 made in drop and dropped. Arrays of int: 300 made in arrays, 100 of them alive.
 */
public class Counted {
    static final class Item {
        long number;

        Item(int number) {
            this.number = number;
        }
    }

    /** Each object goes here first, so that no compiler leaves it out. */
    static volatile Object sink;
    static final List<Object> kept = new ArrayList<>();
    static volatile int sum;

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static void leaf() {
        sum++;
    }

    static void keep() {
        for (int i = 0; i < 500; i++) {
            sink = new Item(i);
            kept.add(sink);
        }
    }

    static void drop() {
        for (int i = 0; i < 700; i++) sink = new Item(i);
    }

    static void arrays() {
        for (int i = 0; i < 300; i++) {
            sink = new int[i % 5];
            if (i % 3 == 0) kept.add(sink);
        }
    }

    public static void main(String[] args) {
        sum += fib(15);
        for (int i = 0; i < 2000; i++) leaf();
        keep();
        drop();
        arrays();
        sink = null;
        System.out.println("done");
    }
}
