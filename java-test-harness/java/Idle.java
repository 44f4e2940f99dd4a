/** Prints "ready" and does nothing until it is killed, or ten minutes have passed. */
public class Idle {
    public static void main(String[] arguments) throws InterruptedException {
        System.out.println("ready");
        Thread.sleep(600_000);
    }
}
