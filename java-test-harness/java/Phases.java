/** Uses CPU time in one method, waits, uses it in another, and prints when. Each phase lasts as many milliseconds as are stated. */
public class Phases {
    static volatile double result;

    static void alpha(long end) {
        double sum = 0;
        while (System.currentTimeMillis() < end) {
            for (int i = 0; i < 20_000; i++) {
                sum += Math.sqrt(i);
            }
        }
        result = sum;
    }

    static void beta(long end) {
        double sum = 0;
        while (System.currentTimeMillis() < end) {
            for (int i = 0; i < 20_000; i++) {
                sum += Math.cbrt(i);
            }
        }
        result = sum;
    }

    static String line(String name, long from, long to) {
        return name + " " + from + " " + to;
    }

    public static void main(String[] arguments) throws Exception {
        // The first concatenation links its call site, which would take some of the CPU time of a phase.
        result = line("", 0, 0).length();
        for (String argument : arguments) {
            String[] phase = argument.split("=");
            long from = System.currentTimeMillis();
            long to = from + Long.parseLong(phase[1]);
            switch (phase[0]) {
                case "alpha":
                    alpha(to);
                    break;
                case "beta":
                    beta(to);
                    break;
                default:
                    Thread.sleep(to - from);
            }
            System.out.println(line(phase[0], from, System.currentTimeMillis()));
        }
    }
}
