import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.locks.LockSupport;

/**
 * An application with many classes loaded, and a thread that looks for pauses: it asks for the time every 0.2 ms and
 * keeps the longest gap between two answers.
 *
 * <p>Arguments: classes to generate and load. Prints "ready", then answers each file "ask-N" that appears in the
 * current folder, in order from 0, with a line "N=MICROSECONDS", the longest gap since the answer before. Ends when a
 * file "end" appears, or after ten minutes.
 */
public class ManyClasses extends ClassLoader {
    static volatile long longest;
    static volatile long sink;

    /** A class with a field, a constructor and two methods. */
    static byte[] classFile(String name) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeShort(0);
        out.writeShort(52);
        String[] names = {name, "java/lang/Object", "<init>", "()V", "Code", "first", "(I)I", "second", "value", "I"};
        out.writeShort(names.length + 5);
        for (String text : names) {
            out.writeByte(1);
            out.writeUTF(text);
        }
        int ownClass = names.length + 1;
        out.writeByte(7);
        out.writeShort(1);
        out.writeByte(7);
        out.writeShort(2);
        out.writeByte(12);
        out.writeShort(3);
        out.writeShort(4);
        out.writeByte(10);
        out.writeShort(ownClass + 1);
        out.writeShort(ownClass + 2);
        out.writeShort(0x21);
        out.writeShort(ownClass);
        out.writeShort(ownClass + 1);
        out.writeShort(0);
        out.writeShort(1);
        out.writeShort(0);
        out.writeShort(9);
        out.writeShort(10);
        out.writeShort(0);
        out.writeShort(3);
        method(out, 3, 4, new int[] {0x2a, 0xb7, 0, ownClass + 3, 0xb1});
        method(out, 6, 7, new int[] {0x1b, 0x04, 0x60, 0xac});
        method(out, 8, 7, new int[] {0x1b, 0x05, 0x68, 0xac});
        out.writeShort(0);
        return bytes.toByteArray();
    }

    static void method(DataOutputStream out, int name, int descriptor, int[] code) throws IOException {
        out.writeShort(1);
        out.writeShort(name);
        out.writeShort(descriptor);
        out.writeShort(1);
        out.writeShort(5);
        out.writeInt(12 + code.length);
        out.writeShort(2);
        out.writeShort(2);
        out.writeInt(code.length);
        for (int b : code) {
            out.writeByte(b);
        }
        out.writeShort(0);
        out.writeShort(0);
    }

    static void look() {
        long last = System.nanoTime();
        while (true) {
            LockSupport.parkNanos(200_000);
            long now = System.nanoTime();
            if (now - last > longest) {
                longest = now - last;
            }
            last = now;
        }
    }

    static void work() {
        while (true) {
            for (int i = 0; i < 1000; i++) {
                sink++;
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    static void daemon(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        ManyClasses loader = new ManyClasses();
        Object[] kept = new Object[count];
        for (int i = 0; i < count; i++) {
            String name = "generated/Class" + i;
            byte[] file = classFile(name);
            Class<?> defined = loader.defineClass(name.replace('/', '.'), file, 0, file.length);
            kept[i] = defined.getDeclaredConstructor().newInstance();
        }
        daemon(ManyClasses::look);
        daemon(ManyClasses::work);
        System.out.println("ready");
        long limit = System.nanoTime() + 600_000_000_000L;
        int number = 0;
        while (!new File("end").exists() && System.nanoTime() < limit) {
            File asked = new File("ask-" + number);
            if (asked.delete()) {
                System.out.println(number + "=" + longest / 1000);
                longest = 0;
                number++;
            }
            Thread.sleep(1);
        }
        System.out.println(kept.length);
    }
}
