import java.io.File;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ListResourceBundle;
import java.util.Locale;
import java.util.ResourceBundle;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;
import java.util.prefs.Preferences;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** Heaps of {@link LeakCorpus} in which the JDK keeps what the program has registered. */
final class LeakJdk {
    private LeakJdk() {}

    static List<Logger> loggers;

    @LeakCorpus.Answer(
        says = {"loggers", "java.util.logging.Logger", "15,000", "\"request*\"", "LeakJdk.loggers"},
        tells = "Logger.getLogger",
        since = 9)
    static void loggersByRequest(LeakCorpus.Dump dump) {
        loggers = new ArrayList<>();
        for (int i = 0; i < 15_000; i++) loggers.add(Logger.getLogger("request" + i));
    }

    // On JDK 8 the list with the loggers is larger than what the manager has of them.
    @LeakCorpus.Answer(
        says = {"The static field LeakJdk.loggers", "15,000 elements", "15,000 objects of class java.util.logging.Logger"},
        holder = "LeakJdk.loggers",
        until = 8)
    static void loggersInAList(LeakCorpus.Dump dump) {
        loggersByRequest(dump);
    }

    @LeakCorpus.Answer(
        says = {"loggers", "java.util.logging", "\"order.*\""},
        tells = "Logger.getLogger",
        never = "LeakJdk.loggers")
    static void loggersThatAreGone(LeakCorpus.Dump dump) {
        for (int i = 0; i < 30_000; i++) Logger.getLogger("order." + i);
    }

    static final class Log {
        static final ConcurrentHashMap<String, Log> ALL = new ConcurrentHashMap<>();
        final Logger logger;

        Log(String name) {
            logger = Logger.getLogger(name);
        }
    }

    @LeakCorpus.Answer(
        says = {"loggers", "java.util.logging.Logger", "10,000", "\"com.example.session*.Handler\"", "LeakJdk$Log.ALL"},
        tells = "Logger.getLogger")
    static void loggersOfAFacade(LeakCorpus.Dump dump) {
        for (int i = 0; i < 10_000; i++) Log.ALL.computeIfAbsent("com.example.session" + i + ".Handler", Log::new);
    }

    @LeakCorpus.Answer(
        says = {"files to delete at exit", "java.io.DeleteOnExitHook.files", "java.util.LinkedHashSet with 20,000 elements",
            "\"/tmp/upload-of-a-customer-*.tmp\""},
        tells = "File.deleteOnExit")
    static void filesDeletedAtExit(LeakCorpus.Dump dump) {
        for (int i = 0; i < 20_000; i++) new File("/tmp/upload-of-a-customer-" + i + ".tmp").deleteOnExit();
    }

    @LeakCorpus.Answer(
        says = {"preferences", "java.util.prefs", "\"customer*\""},
        tells = "Preferences")
    static void preferencesByCustomer(LeakCorpus.Dump dump) throws Exception {
        System.setProperty("java.util.prefs.userRoot", Files.createTempDirectory("prefs").toString());
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 8000; i++) text.append((char) ('a' + i % 26));
        for (int i = 0; i < 600; i++) Preferences.userRoot().node("customer" + i).put("cart", text + "");
    }

    /** The texts of all tenants. */
    public static final class Words extends ListResourceBundle {
        @Override
        protected Object[][] getContents() {
            return new Object[][] {{"greeting", "hello"}};
        }
    }

    @LeakCorpus.Answer(
        says = {"resource bundles", "java.util.ResourceBundle.cacheList", "java.util.concurrent.ConcurrentHashMap with"},
        tells = "ResourceBundle.getBundle",
        since = 9)
    static void bundlesByLocale(LeakCorpus.Dump dump) {
        for (int i = 0; i < 6000; i++) {
            Locale locale = new Locale("en", "US", "tenant" + i);
            ResourceBundle.getBundle("LeakJdk$Words", locale).getString("greeting");
        }
    }

    // JDK 8 keeps more for the locales than for the bundles, in a cache of its own.
    @LeakCorpus.Answer(
        says = {"cached locales", "sun.util.locale.BaseLocale.CACHE", "java.util.concurrent.ConcurrentHashMap with 6,0"},
        tells = "new Locale",
        until = 8)
    static void localesByTenant(LeakCorpus.Dump dump) {
        bundlesByLocale(dump);
    }

    static List<ZipFile> archives;

    @LeakCorpus.Answer(
        says = {"The static field LeakJdk.archives", "30 objects of class java.util.zip.ZipFile$Source"},
        since = 11)
    static void archivesNeverClosed(LeakCorpus.Dump dump) throws Exception {
        archives = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            Path file = Files.createTempFile("archive" + i, ".zip");
            file.toFile().deleteOnExit();
            try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(file))) {
                for (int j = 0; j < 2000; j++) out.putNextEntry(new ZipEntry("folder/of/the/archive/file" + j));
            }
            archives.add(new ZipFile(file.toFile()));
            Files.delete(file);
        }
    }

    static final class Connection {
        final byte[] input = new byte[20_000];
    }

    static Selector selector;

    @LeakCorpus.Answer(
        says = {"The static field LeakJdk.selector", "300 objects of class sun.nio.ch.SelectionKeyImpl",
            "LeakJdk$Connection"})
    static void keysOfASelector(LeakCorpus.Dump dump) throws Exception {
        selector = Selector.open();
        for (int i = 0; i < 300; i++) {
            DatagramChannel channel = DatagramChannel.open();
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_READ, new Connection());
        }
    }
}
