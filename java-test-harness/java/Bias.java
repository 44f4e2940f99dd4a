/**
 * Nearly all CPU time goes into a counted loop over an int array, hot(), in which compiled code has
 * no safepoint poll (given -XX:-UseCountedLoopSafepoints and, with a loop strip mining collector,
 * -XX:LoopStripMiningIter=0). Next to it cheap() takes little time, but polls. A profiler that
 * can look only at safepoints blames cheap() or the caller.
 *
 * Argument: CPU seconds (default 2). Exact: "hot=" and "cheap=", CPU seconds by the JVM's clock.
 */
public class Bias {
    static int sink;

    static void hot(int[] numbers) {
        for (int i = 0; i < numbers.length; i++) numbers[i] = numbers[i] * 31 + (numbers[i] ^ i) / 7;
    }

    static void cheap(long rounds) {
        for (long i = 0; i < rounds; i++) sink += step((int) i);
    }

    static int step(int i) {
        return i % 3;
    }

    public static void main(String[] args) {
        long limit = (args.length > 0 ? Long.parseLong(args[0]) : 2) * 1_000_000_000L;
        int[] numbers = new int[1 << 20];
        long hot = 0;
        long cheap = 0;
        while (hot + cheap < limit) {
            long before = Cpu.now();
            for (int i = 0; i < 5; i++) hot(numbers);
            long between = Cpu.now();
            cheap(20_000);
            hot += between - before;
            cheap += Cpu.now() - between;
        }
        Cpu.print("hot", hot);
        Cpu.print("cheap", cheap);
    }
}
