/**
 * Counts that are known by construction, in classes that use a preview feature of their release: patterns in switches (JEP 406).
 * Calls: kind 3,000, of which 1,000 with a text; Items: 500 made in keep and alive to the end, 700 made in drop and
 * dropped.
 */
public class PreviewCounts {
    static final class Item {
        long number;

        Item(int number) {
            this.number = number;
        }
    }

    /** Each object goes here first, so that no compiler leaves it out. */
    static volatile Object sink;
    static final Object[] kept = new Object[500];
    static volatile int sum;

    static int kind(int number) {
        Object it = number % 3 == 0 ? "text" + number : Integer.valueOf(number);
        return switch (it) {
            case String text -> {
                text(number);
                yield 0;
            }
            case Integer value -> value;
            default -> -1;
        };
    }

    static void text(int number) {
        sum += Integer.toString(number).length();
    }

    static void keep() {
        for (int i = 0; i < 500; i++) {
            sink = new Item(i);
            kept[i] = sink;
        }
    }

    static void drop() {
        for (int i = 0; i < 700; i++) sink = new Item(i);
    }

    public static void main(String[] args) {
        for (int i = 0; i < 3000; i++) sum += kind(i);
        keep();
        drop();
        sink = null;
        System.out.println("done");
    }
}
