import java.io.FileInputStream;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;

/** Does known numbers of things that Flight Recorder has events of, and writes the recording to a file. */
public class RecordedEvents {
    static final int SOCKET_READS = 40;
    static final int FILE_READS = 30;
    static final int THROWN = 25;
    static final int ORDERS = 12;

    @Name("acme.Order")
    @Label("Order Placed")
    static class Order extends Event {
        @Label("Customer") String customer;
        @Label("Size") @DataAmount(DataAmount.BYTES) long size;
        int items;
        boolean express;
        double price;
    }

    /** An event that is enabled and never happens. */
    @Name("acme.Never")
    static class Never extends Event {
    }

    @Name("acme.Plain")
    @StackTrace(false)
    static class Plain extends Event {
        int number;
    }

    static class Refused extends Exception {
        private static final long serialVersionUID = 1;
    }

    static long sum;

    public static void main(String[] args) throws Exception {
        try (Recording recording = new Recording()) {
            recording.enable("jdk.ActiveSetting");
            recording.enable("jdk.SocketRead").withThreshold(Duration.ZERO).withStackTrace();
            recording.enable("jdk.FileRead").withThreshold(Duration.ZERO).withStackTrace();
            recording.enable("jdk.JavaExceptionThrow").withStackTrace();
            recording.enable("jdk.ThreadSleep").withThreshold(Duration.ofHours(1));
            recording.disable("jdk.JavaMonitorWait");
            recording.start();
            readSocket();
            readFile();
            refuse();
            order();
            new Never().shouldCommit();
            new Plain().commit();
            recording.stop();
            recording.dump(Paths.get(args[0]));
        }
    }

    static void readSocket() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket served = server.accept()) {
            served.getOutputStream().write(new byte[3 * SOCKET_READS]);
            InputStream in = client.getInputStream();
            byte[] three = new byte[3];
            for (int i = 0; i < SOCKET_READS; i++) {
                sum += in.read(three);
            }
        }
    }

    static void readFile() throws Exception {
        Path file = Paths.get("known.bin");
        Files.write(file, new byte[7 * FILE_READS]);
        byte[] seven = new byte[7];
        try (FileInputStream in = new FileInputStream(file.toFile())) {
            for (int i = 0; i < FILE_READS; i++) {
                sum += in.read(seven);
            }
        }
    }

    static void refuse() {
        for (int i = 0; i < THROWN; i++) {
            try {
                throw new Refused();
            } catch (Refused refused) {
                sum++;
            }
        }
    }

    static void order() {
        for (int i = 0; i < ORDERS; i++) {
            Order order = new Order();
            order.begin();
            order.customer = "customer " + i % 3;
            order.size = 1000L * (i + 1);
            order.items = -i;
            order.express = i % 2 == 0;
            order.price = i + 0.5;
            order.commit();
        }
    }
}
