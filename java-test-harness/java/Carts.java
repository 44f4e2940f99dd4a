import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * N carts in a map, as many carts without references, and garbage by the second, so that objects move.
 * Lines of standard input are commands: "drop N" removes a cart, "gc" collects, "end" ends.
 */
public class Carts {
    enum State { OPEN, PAID }

    static class Base {
        protected long total;
    }

    static final class Cart extends Base {
        final int number;
        final String owner;
        final Integer rank;
        final State state;
        final byte[] data;
        final Cart[] others;
        boolean isOpen = true;
        Cart itself;

        Cart(int number) {
            this.number = number;
            owner = "owner " + number;
            rank = number;
            state = State.PAID;
            data = new byte[] {1, 2, (byte) number};
            others = new Cart[2];
            total = number * 3L;
        }
    }

    static final Map<Integer, Cart> CARTS = new HashMap<>();
    static Cart favourite;

    public static void main(String[] arguments) throws Exception {
        int number = Integer.parseInt(arguments[0]);
        for (int i = 0; i < number; i++) {
            CARTS.put(i, new Cart(i));
            new Cart(-1 - i);
        }
        favourite = CARTS.get(7);
        favourite.itself = favourite;
        Thread churn = new Thread(() -> {
            List<byte[]> kept = new ArrayList<>();
            for (long i = 0; ; i++) {
                kept.add(new byte[1000]);
                if (kept.size() > 2000) {
                    kept.clear();
                    try {
                        Thread.sleep(5);
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        });
        churn.setDaemon(true);
        churn.start();
        System.out.println("ready");
        java.io.File drop = new java.io.File("drop"), end = new java.io.File("end");
        while (!end.exists()) {
            if (drop.exists()) {
                CARTS.remove(3);
                System.gc();
                drop.delete();
                System.out.println("dropped");
            }
            Thread.sleep(10);
        }
        System.out.println("ended");
    }
}
