/**
 * Works in cycles of one length: four fifths of each in most(), one fifth in rest().
 *
 * Arguments: the length of a cycle in microseconds of the system's clock, CPU seconds of the main thread.
 *
 * What is exact: the CPU time of the main thread in each method, as the JVM's own clock says it where they begin and
 * end, printed in seconds: "most=...", "rest=..."; and the time by the system's clock, in "most.wall=...",
 * "rest.wall=...". The loop neither allocates nor waits.
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
        long mostWall = 0;
        long restWall = 0;
        long begin = System.nanoTime();
        long first = Cpu.now();
        for (long before = first; before - first < limit; ) {
            // A cycle that was missed, as the thread had no CPU, is not made up for.
            long now = System.nanoTime();
            long start = now - (now - begin) % cycle;
            most(start + cycle * 8 / 10);
            long mostEnd = System.nanoTime();
            // A call of the system, after which a thread may well lose its CPU.
            long between = Cpu.now();
            long restStart = System.nanoTime();
            rest(start + cycle);
            long restEnd = System.nanoTime();
            long after = Cpu.now();
            most += between - before;
            rest += after - between;
            before = after;
            mostWall += mostEnd - now;
            restWall += restEnd - restStart;
        }
        Cpu.print("most", most);
        Cpu.print("rest", rest);
        Cpu.print("most.wall", mostWall);
        Cpu.print("rest.wall", restWall);
    }
}
