/** Fibonacci numbers of 40 by recursion, 331,160,281 calls each; as many as the argument says. */
public class Fib {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    public static void main(String[] args) {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            System.out.println(fib(40));
        }
    }
}
