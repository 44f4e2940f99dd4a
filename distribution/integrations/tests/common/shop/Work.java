package shop;

/** Consumes CPU time in a method with a name of its own. */
final class Work {
    private Work() {}

    static double spin(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        double sum = 1;
        while (System.nanoTime() < end) {
            for (int i = 1; i < 1000; i++) {
                sum += Math.sqrt(sum + i);
            }
        }
        return sum;
    }
}
