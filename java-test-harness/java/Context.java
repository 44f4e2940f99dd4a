/**
 * Threads that take turns, by wait and notifyAll on one monitor. Arguments: threads (default 5),
 * turns of each (default 10). Exact: each thread has its turns in the order of the threads' numbers;
 * status 1 when not. Prints "turns=".
 */
public class Context {
    static final Object monitor = new Object();
    static int turn;

    static void take(int number, int count, int turns) {
        for (int i = 0; i < turns; i++) {
            synchronized (monitor) {
                while (turn % count != number) {
                    try {
                        monitor.wait();
                    } catch (InterruptedException nobodyDoesThat) {
                        throw new IllegalStateException(nobodyDoesThat);
                    }
                }
                if (turn != i * count + number) System.exit(1);
                turn++;
                monitor.notifyAll();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        int turns = args.length > 1 ? Integer.parseInt(args[1]) : 10;
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            threads[i] = new Thread(() -> take(number, count, turns), "turn-taker-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println("turns=" + turn);
    }
}
