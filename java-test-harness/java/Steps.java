/**
 * Two threads, "left" and "right", that burn CPU in left() and right() and allocate objects of classes of their own,
 * of which a hundred are alive. Runs until it is killed, for at most two minutes. Prints "ready".
 */
public class Steps {
    static final class Left {
        long a;
    }

    static final class Right {
        long a;
        long b;
    }

    static volatile long sink;
    static final Left[] lefts = new Left[100];
    static final Right[] rights = new Right[100];

    static void work() {
        for (int i = 0; i < 300_000; i++) sink++;
    }

    static void left() {
        for (int i = 0; ; i = (i + 1) % 100) {
            lefts[i] = new Left();
            work();
        }
    }

    static void right() {
        for (int i = 0; ; i = (i + 1) % 100) {
            rights[i] = new Right();
            work();
        }
    }

    public static void main(String[] args) throws Exception {
        for (Thread thread : new Thread[] {new Thread(Steps::left, "left"), new Thread(Steps::right, "right")}) {
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        Thread.sleep(120_000);
    }
}
