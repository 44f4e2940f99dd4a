/**
 * Answers a line of standard input, burns CPU time, and exits with a status.
 * Arguments: milliseconds, or "forever"; exit status.
 */
public class Burn {
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        byte[] line = System.in.readNBytes(5);
        System.out.println("got " + new String(line) + " and " + String.join("|", arguments));
        if (arguments[0].equals("forever")) {
            System.out.println("ready " + ProcessHandle.current().pid());
            while (true) {
                spin(1000);
            }
        }
        spin(Long.parseLong(arguments[0]));
        System.exit(Integer.parseInt(arguments[1]));
    }

    static void spin(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        long sum = 0;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                sum += i * sum;
            }
        }
        sink = sum;
    }
}
