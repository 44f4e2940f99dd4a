import java.io.File;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Sixteen threads that allocate and free native memory, start threads and processes, and collect garbage, until a file
 * "end" is there.
 */
public class NativeChurn {
    static volatile long sink;
    static volatile boolean ends;

    static void compress(byte[] input, byte[] output) throws Exception {
        Deflater deflater = new Deflater();
        deflater.setInput(input);
        deflater.finish();
        int length = deflater.deflate(output);
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(output, 0, length);
        sink = inflater.inflate(input);
        inflater.end();
    }

    static void work(int number) {
        Random random = new Random(number);
        byte[] input = new byte[1000];
        byte[] output = new byte[2000];
        try {
            while (!ends) {
                compress(input, output);
                sink = ByteBuffer.allocateDirect(1 + random.nextInt(3000)).capacity();
                if (number < 2) {
                    Thread thread = new Thread(() -> sink = ByteBuffer.allocateDirect(100).capacity());
                    thread.start();
                    thread.join();
                }
                if (number == 2) {
                    new ProcessBuilder("true").start().waitFor();
                }
                if (number == 3 && random.nextInt(100) == 0) {
                    System.gc();
                }
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[16];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = new Thread(() -> work(number));
            threads[i].start();
        }
        System.out.println("running");
        File end = new File("end");
        while (!end.exists()) {
            Thread.sleep(10);
        }
        ends = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("ended");
    }
}
