import java.util.ArrayList;
import java.util.List;

/** Makes 64 MB of garbage in one method, and keeps 20 MB from another. */
public class Garbage {
    static volatile Object sink;
    static final List<Object> kept = new ArrayList<>();

    static void churn() {
        for (int i = 0; i < 64; i++) sink = new byte[1 << 20];
        sink = null;
    }

    static void keep() {
        for (int i = 0; i < 20; i++) kept.add(new byte[1 << 20]);
    }

    public static void main(String[] args) {
        keep();
        churn();
        System.out.println(kept.size());
    }
}
