/** A call that asks for three collections, and one that sleeps. */
public class SlowPauses {
    static void collects() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
    }

    static void sleeps() throws InterruptedException {
        Thread.sleep(50);
    }

    public static void main(String[] args) throws InterruptedException {
        sleeps();
        collects();
    }
}
