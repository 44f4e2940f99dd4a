import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts words in made lines of text, as programs that parse do: strings, boxes, map entries and lists, of which some live
 * long and most do not. Some 45 allocations a line. Argument: how many lines (default 400,000). Prints a checksum.
 */
public class Words {
    static final String[] SYLLABLES = "an be co du ei fo ge hu in jo ka le mo nu or pa qui ro se tu".split(" ");

    static long state = 42;

    static int random(int limit) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return (int) ((state >>> 33) % limit);
    }

    static String line() {
        StringBuilder line = new StringBuilder();
        for (int word = 0; word < 10; word++) {
            if (word > 0) line.append(' ');
            for (int i = 1 + random(3); i >= 0; i--) line.append(SYLLABLES[random(SYLLABLES.length)]);
        }
        return line.toString();
    }

    static List<String> words(String line) {
        List<String> words = new ArrayList<>();
        int start = 0;
        for (int end = 0; end <= line.length(); end++) {
            if (end < line.length() && line.charAt(end) != ' ') continue;
            words.add(line.substring(start, end));
            start = end + 1;
        }
        return words;
    }

    static void count(Map<String, Integer> counts, List<String> words) {
        for (String word : words) counts.merge(word, 1, Integer::sum);
    }

    public static void main(String[] args) {
        int lines = args.length > 0 ? Integer.parseInt(args[0]) : 400_000;
        Map<String, Integer> all = new HashMap<>();
        long sum = 0;
        for (int i = 0; i < lines; i++) {
            List<String> words = words(line());
            count(all, words);
            Map<String, Integer> own = new HashMap<>();
            count(own, words);
            for (Map.Entry<String, Integer> entry : own.entrySet())
                sum += entry.getKey().hashCode() * (long) entry.getValue();
        }
        System.out.println(sum + " " + all.size());
    }
}
