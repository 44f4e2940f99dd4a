import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;

/** Dumps a heap with contents that a policy of `hprof-rs strip` lets stay or go. */
public class Customers {
    static class Person {
        // Texts made at run time, so that no constant pool has them.
        final String name = made("person-", 7);
        final byte[] key = made("key-of-", 7).getBytes(StandardCharsets.UTF_8);
        final long account = 0x1122334455667788L;
    }

    static class Customer extends Person {
        final String city = made("city-", 7);
        final int[] numbers = {0x51525354, 0x61626364};
    }

    static class Order {
        final String label = made("order-", 8);
        final String shared;
        final long price = 0x0a0b0c0d0e0f1011L;

        Order(String shared) {
            this.shared = shared;
        }
    }

    static String motto = made("motto-", 9);
    static Object[] all;
    // What `--redact` knows by its form. The mail has a letter that Latin-1 does not have.
    static String card = made("paid with 4111 1111 1111 ", 1111);
    static String session = made("session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmVk ", 1);
    static String mail = made("\u03b1 kim@example.com ", 1);
    static String order = made("order KD-", 100042);
    static java.util.Map<String, String> environment;

    static String made(String start, int number) {
        return new StringBuilder(start).append(number).append("-\u00e9nd").toString();
    }

    public static void main(String[] args) throws Exception {
        environment = System.getenv();
        Customer customer = new Customer();
        all = new Object[] {customer, new Order(customer.city), new Order(null)};
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(args[0], true);
    }
}
