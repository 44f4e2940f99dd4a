import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;

/** Fills the heap with about as many objects as the first argument says and dumps it to the second. */
public class OrderHeap {
    static final class Order {
        final long id;
        final String customer;
        final List<Item> items = new ArrayList<>();
        Order previous;
        Order(long id, String customer) { this.id = id; this.customer = customer; }
    }
    static final class Item {
        final Integer sku;
        final double price;
        final byte[] note;
        Item(int sku, double price, byte[] note) { this.sku = sku; this.price = price; this.note = note; }
    }
    static final Map<String, Order> CACHE = new HashMap<>();
    static final LinkedList<Object> QUEUE = new LinkedList<>();
    static int[][] matrix;

    public static void main(String[] args) throws Exception {
        long wanted = Long.parseLong(args[0]);
        long made = 0;
        Order last = null;
        String[] customers = new String[1000];
        for (int i = 0; i < customers.length; i++) customers[i] = "customer " + i;
        for (int n = 0; made < wanted; n++) {
            Order order = new Order(n, customers[n % customers.length]);
            for (int i = 0; i < n % 4; i++) {
                order.items.add(new Item(1000 + n, n * 0.5, new byte[20 + n % 61]));
            }
            order.previous = n % 50 == 0 ? null : last;
            last = order;
            CACHE.put("order-" + n, order);
            QUEUE.add(new int[] {n, n + 1, n + 2});
            made += 8 + 3 * (n % 4);
        }
        matrix = new int[100][10000];
        HeapDump.write(args[1]);
    }
}
