import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.Queue;
import java.util.ResourceBundle;
import java.util.ServiceLoader;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** Heaps of {@link LeakCorpus} in which caches, queues and buffers of a program grow. */
final class LeakCaches {
    private LeakCaches() {}

    static final class Screen {
        final int[] pixels = new int[1000];

        /** Each listener has its screen, by the hidden field of the inner class. */
        final class OnClick implements Runnable {
            @Override
            public void run() {
                pixels[0]++;
            }
        }
    }

    static final class Toolbar {
        private final List<Runnable> clicks = new ArrayList<>();
        private static final Toolbar MAIN = new Toolbar();
    }

    @LeakCorpus.Answer(
        says = {"The field LeakCaches$Toolbar.clicks", "2,000 objects of class LeakCaches$Screen$OnClick", "LeakCaches$Toolbar.MAIN"},
        holder = "LeakCaches$Toolbar.MAIN.clicks")
    static void innerClassesOfScreens(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2000; i++) Toolbar.MAIN.clicks.add(new Screen().new OnClick());
    }

    enum Region { NORTH, EAST, SOUTH, WEST }

    static final class Prices {
        static final Map<Region, List<long[]>> BY_REGION = new EnumMap<>(Region.class);
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Prices.BY_REGION", "4,000 objects of class long[]"})
    static void cacheByEnum(LeakCorpus.Dump dump) {
        for (Region region : Region.values()) {
            List<long[]> days = new ArrayList<>();
            for (int i = 0; i < 1000; i++) days.add(new long[200]);
            Prices.BY_REGION.put(region, days);
        }
    }

    static final class Visited {
        private final BitSet seen = new BitSet();
        static final Visited PAGES = new Visited();
    }

    @LeakCorpus.Answer(
        says = {"The field LeakCaches$Visited.seen", "java.util.BitSet", "LeakCaches$Visited.PAGES"},
        holder = "LeakCaches$Visited.PAGES.seen")
    static void bitsOfPages(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1 << 26; i += 1 << 12) Visited.PAGES.seen.set(i);
    }

    static final class Trace {
        private static final StringBuilder TEXT = new StringBuilder();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Trace.TEXT", "java.lang.StringBuilder"}, holder = "LeakCaches$Trace.TEXT")
    static void traceInABuilder(LeakCorpus.Dump dump) {
        for (int i = 0; i < 300_000; i++) Trace.TEXT.append("entered method ").append(i).append('\n');
    }

    static final class Slot {
        Object event;
    }

    static final class Ring {
        final Slot[] slots = new Slot[4096];
        static final Ring EVENTS = new Ring();
    }

    static final class Message {
        final byte[] body = new byte[2000];
    }

    @LeakCorpus.Answer(
        says = {"The field LeakCaches$Ring.slots", "4,096 objects of class LeakCaches$Slot"},
        holder = "LeakCaches$Ring.EVENTS.slots")
    static void ringThatKeepsOldEvents(LeakCorpus.Dump dump) {
        for (int i = 0; i < 4096; i++) {
            Ring.EVENTS.slots[i] = new Slot();
            Ring.EVENTS.slots[i].event = new Message();
        }
    }

    /** As languages with lazy properties have it: the function is dropped when the value is there. */
    static final class Lazy<T> {
        private Supplier<T> initializer;
        private Object value;

        Lazy(Supplier<T> initializer) {
            this.initializer = initializer;
        }

        void get() {
            value = initializer.get();
            initializer = null;
        }
    }

    static final class Modules {
        static final List<Lazy<byte[]>> LOADED = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Modules.LOADED", "1,500 objects of class LeakCaches$Lazy"},
        tells = "byte[]",
        holder = "LeakCaches$Modules.LOADED")
    static void lazyValues(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1500; i++) {
            Lazy<byte[]> lazy = new Lazy<>(() -> new byte[3000]);
            lazy.get();
            Modules.LOADED.add(lazy);
        }
    }

    static final class Answers {
        static final Map<Integer, Optional<Message>> KNOWN = new ConcurrentHashMap<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Answers.KNOWN", "2,000 objects of class java.util.Optional", "LeakCaches$Message"},
        holder = "LeakCaches$Answers.KNOWN")
    static void optionalAnswers(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2000; i++) Answers.KNOWN.put(i, Optional.of(new Message()));
    }

    static final class Plugins {
        static final List<ServiceLoader<?>> LOADERS = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Plugins.LOADERS", "1,000 objects of class java.util.ServiceLoader"},
        holder = "LeakCaches$Plugins.LOADERS")
    static void loadersOfServices(LeakCorpus.Dump dump) {
        for (int i = 0; i < 1000; i++) {
            ServiceLoader<java.nio.file.spi.FileSystemProvider> loader =
                ServiceLoader.load(java.nio.file.spi.FileSystemProvider.class);
            Iterator<?> all = loader.iterator();
            while (all.hasNext()) all.next();
            Plugins.LOADERS.add(loader);
        }
    }

    static final class Index {
        static final NavigableMap<Long, Message> BY_TIME = new ConcurrentSkipListMap<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Index.BY_TIME", "java.util.concurrent.ConcurrentSkipListMap with 3,000 entries", "3,000 objects of class LeakCaches$Message"},
        holder = "LeakCaches$Index.BY_TIME")
    static void indexByTime(LeakCorpus.Dump dump) {
        for (long i = 0; i < 3000; i++) Index.BY_TIME.put(i * 7919 % 3001, new Message());
    }

    static final class Deadline implements Comparable<Deadline> {
        final long at;
        final Consumer<Message> then;

        Deadline(long at, Consumer<Message> then) {
            this.at = at;
            this.then = then;
        }

        @Override
        public int compareTo(Deadline other) {
            return Long.compare(at, other.at);
        }
    }

    static final class Agenda {
        private final Queue<Deadline> due = new PriorityQueue<>();
        static final Agenda TODAY = new Agenda();
    }

    @LeakCorpus.Answer(
        says = {"The field LeakCaches$Agenda.due", "java.util.PriorityQueue", "2,000 objects of class LeakCaches$Deadline"},
        holder = "LeakCaches$Agenda.TODAY.due")
    static void deadlinesThatNeverCome(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2000; i++) {
            byte[] text = new byte[2000];
            Agenda.TODAY.due.add(new Deadline(i, message -> message.body[0] = text[0]));
        }
    }

    static final class Inbox {
        static final BlockingQueue<Runnable> TASKS = new ArrayBlockingQueue<>(5000);
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Inbox.TASKS", "java.util.concurrent.ArrayBlockingQueue", "3,000 objects of class LeakCaches$$Lambda"},
        holder = "LeakCaches$Inbox.TASKS")
    static void lambdasInAnInbox(LeakCorpus.Dump dump) {
        for (int i = 0; i < 3000; i++) {
            Message message = new Message();
            Inbox.TASKS.add(() -> message.body[0]++);
        }
    }

    static final class Handles {
        static final Map<String, MethodHandle> BY_NAME = new ConcurrentHashMap<>();
    }

    @LeakCorpus.Answer(says = {"The static field LeakCaches$Handles.BY_NAME", "ConcurrentHashMap with 3,000 entries"})
    static void methodHandles(LeakCorpus.Dump dump) throws Exception {
        MethodHandle print = MethodHandles.lookup().findVirtual(String.class, "concat",
            MethodType.methodType(String.class, String.class));
        for (int i = 0; i < 3000; i++) {
            Handles.BY_NAME.put("concat" + i, print.bindTo(String.format("%0500d", i)));
        }
    }

    static final class Filters {
        static final Map<String, Pattern> COMPILED = new ConcurrentHashMap<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Filters.COMPILED", "2,000 entries", "2,000 objects of class java.util.regex.Pattern"},
        holder = "LeakCaches$Filters.COMPILED")
    static void patterns(LeakCorpus.Dump dump) {
        for (int i = 0; i < 2000; i++) {
            String text = "user-" + i + "-([a-z]+)\\d{3,5}(?:x|y|z)*[^abc]+";
            Filters.COMPILED.put(text, Pattern.compile(text));
        }
    }

    static final class Words extends ResourceBundle {
        private final Map<String, String> texts = new LinkedHashMap<>();

        Words(int of) {
            for (int i = 0; i < 50; i++) texts.put("key" + i, "text " + i + " of " + of);
        }

        @Override
        protected Object handleGetObject(String key) {
            return texts.get(key);
        }

        @Override
        public java.util.Enumeration<String> getKeys() {
            return java.util.Collections.enumeration(texts.keySet());
        }
    }

    static final class Translations {
        static final Function<Integer, ResourceBundle> BUNDLES = new Function<Integer, ResourceBundle>() {
            private final Map<Integer, ResourceBundle> byTenant = new ConcurrentHashMap<>();

            @Override
            public ResourceBundle apply(Integer tenant) {
                return byTenant.computeIfAbsent(tenant, Words::new);
            }
        };
    }

    @LeakCorpus.Answer(
        says = {"LeakCaches$Translations$1.byTenant", "500 objects of class LeakCaches$Words", "LeakCaches$Translations.BUNDLES"},
        holder = "LeakCaches$Translations.BUNDLES.byTenant")
    static void bundlesByTenant(LeakCorpus.Dump dump) {
        for (int i = 0; i < 500; i++) Translations.BUNDLES.apply(i);
    }

    static final class Uploads {
        static final List<ByteBuffer> CHUNKS = new ArrayList<>();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Uploads.CHUNKS", "java.util.ArrayList with 20,000 elements", "20,000 objects of class java.nio.DirectByteBuffer"},
        tells = {"20,000 direct buffers", "20.5 MB"},
        never = {"objects of class java.lang.ref", "Cleaners"})
    static void smallDirectBuffers(LeakCorpus.Dump dump) {
        for (int i = 0; i < 20_000; i++) Uploads.CHUNKS.add(ByteBuffer.allocateDirect(1024));
    }

    @LeakCorpus.Answer(
        says = {"The System properties (java.lang.System.props)", "java.util.Properties"},
        tells = {"\"LeakCaches.session.", "System.setProperty"})
    static void systemProperties(LeakCorpus.Dump dump) {
        for (int i = 0; i < 3000; i++) {
            System.setProperty("LeakCaches.session." + i, String.format("%01000d", i));
        }
    }

    static final class Settings {
        static final Properties CURRENT = new Properties();
    }

    @LeakCorpus.Answer(
        says = {"The static field LeakCaches$Settings.CURRENT", "java.util.Properties with 3,000 entries"},
        holder = "LeakCaches$Settings.CURRENT")
    static void properties(LeakCorpus.Dump dump) {
        for (int i = 0; i < 3000; i++) Settings.CURRENT.setProperty("setting." + i, String.format("%01000d", i));
    }
}
