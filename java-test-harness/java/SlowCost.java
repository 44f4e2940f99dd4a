/**
 * A thread that calls a method, with a fixed amount of work of about two microseconds in each call. The argument is the number of
 * calls. Prints "nanos=", the time of one of them, the least of five rounds.
 */
public class SlowCost {
    static int value = 1;

    static void called(int steps) {
        for (int i = 0; i < steps; i++) {
            value = value * 1_103_515_245 + 12_345;
        }
    }

    static void round(int calls) {
        for (int i = 0; i < calls; i++) {
            called(1500);
        }
    }

    public static void main(String[] args) {
        int calls = Integer.parseInt(args[0]);
        round(calls / 2);
        double least = Double.MAX_VALUE;
        for (int i = 0; i < 5; i++) {
            long start = System.nanoTime();
            round(calls);
            least = Math.min(least, (System.nanoTime() - start) / (double) calls);
        }
        System.out.println("nanos=" + least);
    }
}
