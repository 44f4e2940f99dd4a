/** Allocations to count: 1000 Payload are kept of 5000; 100 int[50]; 7 Object[3]. */
public class Alloc {
    static final class Payload { int a = 1; long b = 2; byte c = 3; Object ref; }
    static Payload[] kept = new Payload[1000];
    static int[][] ints = new int[100][];
    static Object[][] grid = new Object[7][];

    static Payload make(int i) {
        Payload payload = new Payload();
        payload.a = i;
        return payload;
    }

    public static void main(String[] args) {
        Object last = null;
        for (int i = 0; i < 5000; i++) {
            Payload payload = make(i);
            payload.ref = last;
            if (i % 5 == 0) {
                kept[i / 5] = payload;
                last = null;
            }
        }
        for (int i = 0; i < ints.length; i++) ints[i] = new int[50];
        for (int i = 0; i < grid.length; i++) grid[i] = new Object[3];
        System.out.println("done");
    }
}
