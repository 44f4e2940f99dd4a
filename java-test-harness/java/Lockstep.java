/**
 * Works in cycles of one length: four fifths of each in most(), one fifth in rest().
 *
 * Arguments: the length of a cycle in microseconds of the system's clock, CPU seconds of the main thread.
 *
 * What is exact: the CPU time of the main thread in each method, as the JVM's own clock says it where they begin and
 * end, printed in seconds: "most=...", "rest=...". The loop neither allocates nor waits.
 */
public class Lockstep {
    static volatile long sink;

    static void most(long end) {
        long x = sink;
        while (System.nanoTime() < end) for (int i = 0; i < 500; i++) x += i * 31L ^ x;
        sink = x;
    }

    static void rest(long end) {
        long x = sink;
        while (System.nanoTime() < end) for (int i = 0; i < 500; i++) x += i * 17L ^ x;
        sink = x;
    }

    public static void main(String[] args) {
        long cycle = Long.parseLong(args[0]) * 1000;
        long limit = (long) (Double.parseDouble(args[1]) * 1e9);
        long most = 0;
        long rest = 0;
        long begin = System.nanoTime();
        long first = Cpu.now();
        for (long before = first; before - first < limit; ) {
            // A cycle that was missed, as the thread had no CPU, is not made up for.
            long now = System.nanoTime();
            long start = now - (now - begin) % cycle;
            most(start + cycle * 8 / 10);
            long between = Cpu.now();
            rest(start + cycle);
            long after = Cpu.now();
            most += between - before;
            rest += after - between;
            before = after;
        }
        Cpu.print("most", most);
        Cpu.print("rest", rest);
    }
}
