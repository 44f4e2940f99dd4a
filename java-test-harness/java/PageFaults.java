import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * Writes to each page of a file that is mapped ("pages N"), and prints how many page faults that were; or sleeps for a millisecond N times
 * ("sleeps N"), which is two context switches at most each; or allocates N arrays of 8 MiB ("arrays N"); or yields N times ("yields N"),
 * which is a call of JVM_Yield each.
 */
public class PageFaults {
    static final int PAGE = 4096;

    static void touches(MappedByteBuffer buffer, int pages) {
        for (int page = 0; page < pages; page++) {
            buffer.put(page * PAGE, (byte) 1);
        }
    }

    static void sleeps(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            Thread.sleep(1);
        }
    }

    static int arrays(int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            sum += new byte[8 << 20].length >> 20;
        }
        return sum;
    }

    static void yields(int count) {
        for (int i = 0; i < count; i++) {
            Thread.yield();
        }
    }

    /** Page faults of this thread. */
    static long faults() throws Exception {
        String line = new String(Files.readAllBytes(Paths.get("/proc/thread-self/stat")));
        // The name, in parentheses, can hold anything.
        String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ");
        return Long.parseLong(fields[7]) + Long.parseLong(fields[9]);
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]);
        if (args[0].equals("sleeps")) {
            sleeps(count);
            return;
        }
        if (args[0].equals("arrays")) {
            System.out.println("mebibytes=" + arrays(count));
            return;
        }
        if (args[0].equals("yields")) {
            yields(count);
            return;
        }
        try (RandomAccessFile file = new RandomAccessFile("pages", "rw")) {
            file.setLength((long) count * PAGE);
            MappedByteBuffer buffer = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, file.length());
            faults();
            long before = faults();
            touches(buffer, count);
            System.out.println("faults=" + (faults() - before));
        } finally {
            Files.delete(Paths.get("pages"));
        }
    }
}
