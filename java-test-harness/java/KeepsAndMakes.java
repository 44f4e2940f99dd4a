/**
 * Keeps 200,000 objects, prints "ready", and makes garbage until the file "end" appears, for a minute at most: in
 * earlier() until the file "later" appears, then, after it printed "later", in later().
 */
public class KeepsAndMakes {
    static final class Old {}

    static final Object[] kept = new Object[200_000];
    static volatile Object sink;

    static void make() {
        for (int i = 0; i < 10_000; i++) sink = new long[10];
    }

    static void earlier() {
        make();
    }

    static void later() {
        make();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < kept.length; i++) kept[i] = new Old();
        System.out.println("ready");
        long limit = System.nanoTime() + 60_000_000_000L;
        boolean isLater = false;
        while (System.nanoTime() < limit && !new java.io.File("end").exists()) {
            if (!isLater && new java.io.File("later").exists()) {
                isLater = true;
                System.out.println("later");
            }
            if (isLater) later();
            else earlier();
            Thread.sleep(1);
        }
    }
}
