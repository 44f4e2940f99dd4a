import java.util.ArrayList;
import java.util.List;

/** Windows that register themselves as listeners and are never taken off the list. */
public class LeakListeners {
    interface Listener {
        void changed();
    }

    static final class EventBus {
        final List<Listener> listeners = new ArrayList<>();
    }

    static final class Window implements Listener {
        final int[] pixels = new int[1000];

        @Override
        public void changed() {
            pixels[0]++;
        }
    }

    public static void main(String[] args) throws Exception {
        EventBus bus = new EventBus();
        for (int i = 0; i < 3000; i++) {
            bus.listeners.add(new Window());
        }
        HeapDump.write(args[0]);
        bus.listeners.get(0).changed();
    }
}
