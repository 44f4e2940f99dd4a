package shop;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The program of docs/questions: a service with a slow method, a leak and a contended lock. */
public class Shop {
    static final AtomicLong SERVED = new AtomicLong();

    /** Arguments: how many seconds to serve, and how many to wait afterwards. */
    public static void main(String[] arguments) throws InterruptedException {
        long seconds = Long.parseLong(arguments[0]);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        ExecutorService workers = Executors.newFixedThreadPool(4, task -> new Thread(task, "worker"));
        for (int worker = 0; worker < 4; worker++) {
            workers.submit(() -> {
                while (System.nanoTime() < end) {
                    new Request(SERVED.incrementAndGet()).serve();
                }
            });
        }
        workers.shutdown();
        workers.awaitTermination(seconds + 10, TimeUnit.SECONDS);
        System.out.println(SERVED + " requests, " + Sessions.OPEN.size() + " sessions");
        TimeUnit.SECONDS.sleep(arguments.length > 1 ? Long.parseLong(arguments[1]) : 0);
    }
}

class Request {
    private final long number;

    Request(long number) {
        this.number = number;
    }

    void serve() {
        Cart cart = Cart.parse("book:3:12.50;pen:10:0.99;lamp:1:39.00;cable:2:7.25");
        BigDecimal total = Price.total(cart);
        Sessions.open("customer-" + number);
        AuditLog.ONLY.write(number, total);
    }
}

/** What a customer wants to buy. */
class Cart {
    final List<Item> items = new ArrayList<>();

    static Cart parse(String text) {
        Cart cart = new Cart();
        for (String part : text.split(";")) {
            // The slow method: compiles a pattern for every item.
            Matcher matcher = Pattern.compile("(?<name>\\w+):(?<count>\\d+):(?<price>\\d+\\.\\d{2})").matcher(part);
            if (matcher.matches()) {
                cart.items.add(new Item(matcher.group("name"), Integer.parseInt(matcher.group("count")),
                        new BigDecimal(matcher.group("price"))));
            }
        }
        return cart;
    }
}

class Item {
    final String name;
    final int count;
    final BigDecimal price;

    Item(String name, int count, BigDecimal price) {
        this.name = name;
        this.count = count;
        this.price = price;
    }
}

class Price {
    static BigDecimal total(Cart cart) {
        return cart.items.stream()
                .map(item -> item.price.multiply(BigDecimal.valueOf(item.count)))
                .reduce(BigDecimal.ZERO, BigDecimal::add)
                .multiply(new BigDecimal("1.19"))
                .setScale(2, RoundingMode.HALF_UP);
    }
}

/** The leak: one session in 64 is never closed. */
class Sessions {
    static final Map<String, Session> OPEN = new ConcurrentHashMap<>();

    static void open(String customer) {
        OPEN.put(customer, new Session(customer));
        if (customer.hashCode() % 64 != 0) {
            OPEN.remove(customer);
        }
    }
}

class Session {
    final String customer;
    final byte[] page = new byte[2_000];

    Session(String customer) {
        this.customer = customer;
    }
}

/** The contended lock: a receipt is signed while it is held. */
class AuditLog {
    static final AuditLog ONLY = new AuditLog();

    private final List<String> lines = new ArrayList<>();

    synchronized void write(long number, BigDecimal total) {
        lines.add(sign(number + " " + total));
        if (lines.size() == 1_000) {
            lines.sort(null);
            lines.clear();
        }
    }

    /** How often a receipt is hashed: a new build may find that once is not enough. */
    private static final int ROUNDS = Integer.getInteger("shop.rounds", 1);

    private static String sign(String text) {
        try {
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            byte[] digest = text.getBytes(StandardCharsets.UTF_8);
            for (int round = 0; round < ROUNDS; round++) {
                digest = hash.digest(digest);
            }
            return String.format("%s %s", text, HexFormat.of().formatHex(digest));
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }
}
