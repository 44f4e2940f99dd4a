/**
 * Counts that are known by construction, in classes that use a preview feature of their release: value classes (JEP 401).
 * Calls: kind 3,000, of which 1,000 with a text; Points 500. Items: 500 made in keep and alive to the end, 700 made in drop and
 * dropped.
 */
public class PreviewCounts {
    static final class Item {
        long number;

        Item(int number) {
            this.number = number;
        }
    }

    /** Its constructor branches before its fields are set. */
    static value class Point {
        int x;
        int y;

        Point(int number) {
            if (number % 2 == 0) {
                x = number;
            } else {
                x = -number;
                text(number);
            }
            for (int i = 0; i < 2; i++) text(number);
            y = number > 7 ? 1 : 2;
            super();
            if (number > 400) sum++;
        }
    }

    /** Each object goes here first, so that no compiler leaves it out. */
    static volatile Object sink;
    static final Object[] kept = new Object[500];
    static volatile int sum;

    static int kind(int number) {
        switch (number % 3) {
            case 0 -> text(number);
            case 1 -> sum += 2;
            default -> sum -= 1;
        }
        return number;
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
        for (int i = 0; i < 500; i++) sum += new Point(i).x;
        keep();
        drop();
        sink = null;
        System.out.println("done");
    }
}
