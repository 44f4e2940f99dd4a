import java.util.ArrayList;

/**
 * Holds objects of every shape in static fields, prints "ready", waits for the file "end" in the current
 * folder, and ends.
 */
public class Shapes {
    static class Base {
        int number = 1;
        Object other;
        long wide = -2;
        boolean yes = true;
    }

    static class Kid extends Base {
        byte small = 3;
        Object third;
        char letter = 'x';
        double real = 4.5;
        short shortNumber = -2;
        float halfReal = 1.5f;
        String aVeryLongFieldName = new String("long");
        Object eightchr = new int[] {7, 8};
    }

    interface Marked {
        Object MARK = new Object[] {null, "mark", null};
    }

    static class Node implements Marked {
        Node next;

        Node(Node next) {
            this.next = next;
        }
    }

    static final Kid kid = new Kid();
    static final Object[] mixed = new Object[10];
    static final Object[] nothing = new Object[5];
    static final int[][] nested = {{1}, {2, 3}, {}};
    static final Object[] primitives = {
        new boolean[] {true, false}, new char[] {'a', 0xffff}, new float[] {Float.NaN}, new double[] {-0.0, 1},
        new byte[] {-1, 2, 3}, new short[] {-1}, new int[] {Integer.MIN_VALUE}, new long[] {Long.MAX_VALUE},
        new byte[0],
    };
    static final byte[] large = new byte[800_000];
    static final Object[] many = new Object[150_000];
    static final ArrayList<Runnable> lambdas = new ArrayList<>();
    static Object none;
    static int count = 42;
    static Node chain;

    public static void main(String[] args) throws Exception {
        mixed[2] = kid;
        mixed[5] = Marked.MARK;
        many[149_998] = mixed;
        for (int i = 0; i < large.length; i++) large[i] = (byte) i;
        for (int i = 0; i < 5000; i++) chain = new Node(chain);
        for (int i = 0; i < 3; i++) {
            int captured = i;
            lambdas.add(() -> count += captured);
        }
        Object local = new Node(null);
        synchronized (local) {
            System.out.println("ready");
            java.io.File end = new java.io.File("end");
            while (!end.exists()) Thread.sleep(20);
        }
        if (local.hashCode() == 1) System.out.println();
    }
}
