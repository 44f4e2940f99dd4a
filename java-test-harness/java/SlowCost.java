/**
 * A thread that calls a method of some ten nanoseconds, in rounds of as many calls as the argument says, with pauses in which the calls
 * of a second stay below a million. Prints "nanos=", the time of a call in the fastest round: a round is shorter than what a
 * scheduler gives to a thread at once.
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
            called(10);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int calls = Integer.parseInt(args[0]);
        double least = Double.MAX_VALUE;
        for (int i = 0; i < 300; i++) {
            long start = System.nanoTime();
            round(calls);
            double nanos = (System.nanoTime() - start) / (double) calls;
            // The compilers are done by then.
            if (i >= 60) {
                least = Math.min(least, nanos);
            }
            Thread.sleep(25);
        }
        System.out.println("nanos=" + least);
    }
}
