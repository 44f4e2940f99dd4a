import java.util.HashMap;

/**
 * Holds secrets in every kind of place, prints "ready", waits for the file "end" in the current folder, and
 * ends. The class file holds each secret in parts only.
 */
public class Secrets {
    static class Base {
        long inherited = key(0x5ec2e7a11c0deL);
    }

    static class Account extends Base {
        int pin = (int) key(0x5ec2e7b2L);
        String latin = "SECRET-" + suffix("latin");
        String wide = "\u0421\u0415\u041a\u0420\u0415\u0422-" + suffix("wide");
        char[] chars = ("SECRET-" + suffix("chars")).toCharArray();
        byte[] bytes = ("SECRET-" + suffix("bytes")).getBytes();
        int[] numbers = {(int) key(0x5ec2e7c3L), 2, 3};
        long[] longs = {key(0x5ec2e7d41c0deL), 2, 3};
        double real = Double.longBitsToDouble(key(0x405ec2e7e51c0deL));
        Account next;
    }

    /** What may leave. */
    static class Config {
        int port = (int) key(0x0c0f1680L);
        long limit = key(0x0c0f1691L);
        String name = "SECRET-" + suffix("config");
    }

    static Account account;
    static final Config config = new Config();
    static long staticLong = key(0x5ec2e7f61c0deL);
    static int staticInt = (int) key(0x5ec2e707L);
    static final byte[] large = new byte[3 << 20];
    static final Object[] mixed = new Object[10];
    static final HashMap<String, Object> map = new HashMap<>();

    /** A number that no class file has as it is. */
    static long key(long number) {
        return number ^ Integer.getInteger("nothing", 0);
    }

    static String suffix(String text) {
        return text.concat("-").concat(Integer.toString(4711 + Integer.getInteger("nothing", 0)));
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 1000; i++) {
            Account more = new Account();
            more.next = account;
            account = more;
            map.put("SECRET-" + suffix("key" + i), more);
        }
        mixed[3] = account;
        System.setProperty("secret.property", "SECRET-" + suffix("property"));
        byte[] text = "SECRET-large.".getBytes();
        for (int i = 0; i < large.length; i++) large[i] = text[i % text.length];
        System.out.println("ready");
        java.io.File end = new java.io.File("end");
        while (!end.exists()) Thread.sleep(20);
    }
}
