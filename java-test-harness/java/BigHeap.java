import java.util.ArrayList;
import java.util.HashMap;

/**
 * Fills the heap with objects and keeps them: a chain of nodes, a list of strings, a map, and
 * arrays. Argument: hundreds of rounds (default 100). Prints "full" when done, then waits for a
 * file "end" in the current folder if there is a second argument.
 */
public class BigHeap {
    static final class Node {
        final Node next;
        final int number;
        final Object payload;

        Node(Node next, int number, Object payload) {
            this.next = next;
            this.number = number;
            this.payload = payload;
        }
    }

    static Node chain;
    static final ArrayList<String> list = new ArrayList<>();
    static final HashMap<Integer, Node> map = new HashMap<>();
    static final ArrayList<Object> arrays = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        int thousands = args.length > 0 ? Integer.parseInt(args[0]) : 100;
        // One round makes a little more than eight objects.
        for (int i = 0; i < thousands * 100; i++) {
            chain = new Node(chain, i, i % 3 == 0 ? new long[i % 5] : null);
            chain = new Node(chain, -i, null);
            chain = new Node(chain, i, null);
            list.add("string " + i);
            map.put(i, chain);
            arrays.add(new Object[] {chain, null});
        }
        System.out.println("full");
        java.io.File end = new java.io.File("end");
        while (args.length > 1 && !end.exists()) Thread.sleep(20);
    }
}
