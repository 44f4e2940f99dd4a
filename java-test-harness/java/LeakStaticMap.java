import java.util.HashMap;
import java.util.Map;

/** A static map of sessions from which nothing is ever removed. */
public class LeakStaticMap {
    static final class Session {
        final String user;
        final byte[] state = new byte[2000];

        Session(String user) {
            this.user = user;
        }
    }

    static final Map<String, Session> SESSIONS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 5000; i++) {
            SESSIONS.put("session-" + i, new Session("user " + i));
        }
        HeapDump.write(args[0]);
    }
}
