import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.text.SimpleDateFormat;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Takes memory in the way that its argument names, prints "ready", and waits. */
public class NativeMemory {
    static final List<Object> KEPT = new ArrayList<>();
    static final Queue<Object> KEPT_SOCKETS = new ConcurrentLinkedQueue<>();
    static final int MB = 1 << 20;

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "healthy":
                break;
            case "heap":
                for (int i = 0; i < 1500; i++) {
                    KEPT.add(filled(MB / 10));
                }
                break;
            case "empty-heap":
                for (int i = 0; i < 1500; i++) {
                    KEPT.add(filled(MB / 10));
                }
                KEPT.clear();
                // Marks them as free; the heap keeps its size below -Xms.
                System.gc();
                break;
            case "threads":
                threads(600);
                break;
            case "direct":
                direct(200, KEPT);
                break;
            case "direct-unreachable":
                direct(200, new ArrayList<>());
                break;
            case "mapped":
                KEPT.add(mapped(args[1], 200));
                break;
            case "loaders":
                loaders(12000);
                break;
            case "deflaters":
                deflaters(600);
                break;
            case "inflaters":
                inflaters(3000);
                break;
            case "sockets":
                sockets(100, 2 * MB);
                break;
            case "jni":
                System.load(args[2]);
                allocate(200);
                break;
            case "map":
                System.load(args[2]);
                map(200);
                break;
            case "huge":
                System.load(args[2]);
                huge(200);
                break;
            case "unsafe":
                unsafe(200);
                break;
            case "code":
                code();
                break;
            case "grows":
                KEPT.add(mapped(args[1], 1));
                System.out.println("ready");
                for (int i = 0; i < 6000; i++) {
                    new Unsafe().allocate(MB / 10);
                    Thread.sleep(10);
                }
                break;
            case "arenas":
                arenas(8, 30);
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
        System.out.println("ready");
        Thread.sleep(600_000);
    }

    private static byte[] filled(int size) {
        byte[] bytes = new byte[size];
        Arrays.fill(bytes, (byte) 1);
        return bytes;
    }

    private static void threads(int count) throws Exception {
        CountDownLatch started = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                deep(400);
                started.countDown();
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException end) {
                    return;
                }
            }, "worker-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        started.await();
    }

    private static int deep(int calls) {
        return calls == 0 ? 0 : 1 + deep(calls - 1);
    }

    private static void direct(int count, List<Object> kept) {
        for (int i = 0; i < count; i++) {
            kept.add(ByteBuffer.allocateDirect(MB));
        }
    }

    private static MappedByteBuffer mapped(String file, int megabytes) throws Exception {
        try (RandomAccessFile opened = new RandomAccessFile(file, "rw")) {
            opened.setLength((long) megabytes * MB);
            FileChannel channel = opened.getChannel();
            MappedByteBuffer buffer = channel.map(FileChannel.MapMode.READ_WRITE, 0, opened.length());
            for (int at = 0; at < buffer.capacity(); at += 4096) {
                buffer.put(at, (byte) 1);
            }
            return buffer;
        }
    }

    /** A loader that has one class of its own. */
    static class OneClass extends ClassLoader {
        OneClass(byte[] bytes) {
            super(null);
            defineClass("NativeMemory", bytes, 0, bytes.length);
        }
    }

    private static void loaders(int count) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = NativeMemory.class.getResourceAsStream("NativeMemory.class")) {
            byte[] piece = new byte[8192];
            for (int read = in.read(piece); read > 0; read = in.read(piece)) {
                bytes.write(piece, 0, read);
            }
        }
        for (int i = 0; i < count; i++) {
            KEPT.add(new OneClass(bytes.toByteArray()));
        }
    }

    private static void deflaters(int count) {
        byte[] input = new byte[64 << 10];
        byte[] output = new byte[128 << 10];
        for (int i = 0; i < count; i++) {
            Deflater deflater = new Deflater();
            new Random(i).nextBytes(input);
            deflater.setInput(input);
            deflater.finish();
            deflater.deflate(output);
            KEPT.add(deflater);
        }
    }

    private static void inflaters(int count) throws Exception {
        byte[] packed = new byte[1 << 10];
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[100_000]);
        deflater.finish();
        int length = deflater.deflate(packed);
        deflater.end();
        // Its window exists once it has given some of its output.
        byte[] output = new byte[64 << 10];
        for (int i = 0; i < count; i++) {
            Inflater inflater = new Inflater();
            inflater.setInput(packed, 0, length);
            inflater.inflate(output);
            KEPT.add(inflater);
        }
    }

    /** Threads that write an array of the heap to a socket, for which each keeps a direct buffer of that size. */
    private static void sockets(int count, int size) throws Exception {
        CountDownLatch written = new CountDownLatch(count);
        ByteBuffer sent = ByteBuffer.allocate(size);
        ServerSocketChannel server = ServerSocketChannel.open();
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        KEPT.add(server);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                try {
                    SocketChannel socket = SocketChannel.open(server.getLocalAddress());
                    KEPT_SOCKETS.add(socket);
                    socket.configureBlocking(false);
                    socket.write(sent.duplicate());
                    written.countDown();
                    Thread.sleep(600_000);
                } catch (IOException | InterruptedException end) {
                    throw new IllegalStateException(end);
                }
            }, "writes-" + i);
            thread.setDaemon(true);
            thread.start();
            KEPT.add(server.accept());
        }
        written.await();
    }

    /** Blocks of a megabyte from malloc, which are written to and never freed. */
    private static native void allocate(int megabytes);

    /** A mapping that is written to. */
    private static native void map(int megabytes);

    /** A mapping for which huge pages are asked; each two megabytes are written to once. */
    private static native void huge(int megabytes);

    /** Memory outside of the heap; the compiler warns of calls that are not made by reflection. */
    static class Unsafe {
        private final Object unsafe;
        private final Method allocate;
        private final Method fill;
        private final Method free;

        Unsafe() throws Exception {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field only = type.getDeclaredField("theUnsafe");
            only.setAccessible(true);
            unsafe = only.get(null);
            allocate = type.getMethod("allocateMemory", long.class);
            fill = type.getMethod("setMemory", long.class, long.class, byte.class);
            free = type.getMethod("freeMemory", long.class);
        }

        long allocate(long size) throws ReflectiveOperationException {
            long address = (Long) allocate.invoke(unsafe, size);
            fill.invoke(unsafe, address, size, (byte) 1);
            return address;
        }

        void free(long address) throws ReflectiveOperationException {
            free.invoke(unsafe, address);
        }
    }

    private static void unsafe(int megabytes) throws Exception {
        Unsafe unsafe = new Unsafe();
        for (int i = 0; i < megabytes; i++) {
            unsafe.allocate(MB);
        }
    }

    /** Compiled code of many methods, with -Xcomp. */
    private static void code() {
        for (int i = 0; i < 20; i++) {
            KEPT.add(String.format(Locale.ROOT, "%08.3f %x %s %tF", i / 3.0, i, Pattern.compile("(a|b)*c+").matcher("abc"), new Date()));
            KEPT.add(new BigDecimal(i + 1).divide(new BigDecimal(3), 50, RoundingMode.HALF_UP).toString());
            KEPT.add(DateTimeFormatter.ISO_DATE_TIME.format(LocalDateTime.of(2020, 1, 1 + i, 1, 1)));
            KEPT.add(Stream.of(i, 2, 3).sorted().collect(Collectors.groupingBy(it -> it % 2)));
            KEPT.add(new SimpleDateFormat("yyyy-MM-dd EEEE", Locale.ROOT).format(new Date()));
        }
    }

    /** Threads that free what they have allocated, but for the last block, so that glibc keeps all of it. */
    private static void arenas(int count, int megabytes) throws Exception {
        Unsafe unsafe = new Unsafe();
        int size = 4000;
        CountDownLatch allocated = new CountDownLatch(count);
        CountDownLatch freed = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                long[] blocks = new long[megabytes * MB / size];
                try {
                    for (int at = 0; at < blocks.length; at++) {
                        blocks[at] = unsafe.allocate(size);
                    }
                    allocated.countDown();
                    allocated.await();
                    for (int at = 0; at < blocks.length - 1; at++) {
                        unsafe.free(blocks[at]);
                    }
                    freed.countDown();
                    Thread.sleep(600_000);
                } catch (ReflectiveOperationException | InterruptedException end) {
                    throw new IllegalStateException(end);
                }
            }, "frees-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        freed.await();
    }
}
