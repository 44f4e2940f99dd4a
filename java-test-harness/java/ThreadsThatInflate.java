import java.util.zip.Inflater;

/** Starts threads one after the other, each of which makes an inflater and ends it. Prints how many have ended. */
public class ThreadsThatInflate {
    public static void main(String[] arguments) throws InterruptedException {
        int threads = Integer.parseInt(arguments[0]);
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> new Inflater().end());
            thread.start();
            thread.join();
        }
        System.out.println("ended " + threads);
    }
}
