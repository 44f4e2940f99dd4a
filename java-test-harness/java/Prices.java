import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads prices with a regular expression, most of the time, and adds digits for the rest, for the seconds that the argument says. */
public class Prices {
    static final Pattern PRICE = Pattern.compile("(\\d+)\\.(\\d+) EUR");
    static long sum;

    static void parse(String text) {
        Matcher matcher = PRICE.matcher(text);
        while (matcher.find()) {
            sum += matcher.start();
        }
        sum += digits(text);
    }

    static long digits(String text) {
        long digits = 0;
        for (int i = 0; i < text.length(); i++) {
            digits += digits % 7 + text.charAt(i);
        }
        return digits;
    }

    public static void main(String[] args) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 500; i++) {
            text.append("no price 1234567 and 12.").append(i).append(" EUR; ");
        }
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        while (System.nanoTime() < end) {
            parse(text.toString());
        }
        System.out.println(sum);
    }
}
