import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads and links classes without initializing them, and tells how each went.
 *
 * <p>HotSpot verifies a class when it links it, and links it before it lists its constructors or
 * fields. Run with -XX:+BytecodeVerificationLocal -XX:+BytecodeVerificationRemote, without which it trusts the
 * boot classes.
 *
 * <p>Arguments: {@code modules DIR}, where DIR has a folder of classes for each module of the
 * image, or {@code path DIR}, where DIR has the classes and is on the class path; then a file for
 * the results. A line is {@code ok NAME} or {@code ERROR-CLASS NAME: MESSAGE}.
 */
public final class VerifyClasses {
    public static void main(String[] arguments) throws IOException {
        Path root = Path.of(arguments[1]);
        TreeMap<String, Integer> counts = new TreeMap<>();
        try (PrintStream out = new PrintStream(arguments[2], "UTF-8")) {
            if (arguments[0].equals("modules")) {
                for (Path folder : list(root)) {
                    String name = folder.getFileName().toString();
                    Module module = ModuleLayer.boot().findModule(name).orElse(null);
                    if (module == null) {
                        out.println("no-module " + name);
                        continue;
                    }
                    for (String type : classes(folder)) {
                        counts.merge(link(module, type, out), 1, Integer::sum);
                    }
                }
            } else {
                for (String type : classes(root)) {
                    counts.merge(link(null, type, out), 1, Integer::sum);
                }
            }
        }
        System.out.println(counts);
    }

    private static List<Path> list(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.sorted().collect(Collectors.toList());
        }
    }

    private static List<String> classes(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.map(file -> folder.relativize(file).toString())
                    .filter(name -> name.endsWith(".class"))
                    .filter(name -> !name.endsWith("module-info.class") && !name.startsWith("META-INF"))
                    .map(name -> name.substring(0, name.length() - 6).replace('/', '.'))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private static String link(Module module, String name, PrintStream out) {
        try {
            Class<?> type;
            if (module != null) {
                type = Class.forName(module, name);
            } else {
                type = Class.forName(name, false, ClassLoader.getSystemClassLoader());
            }
            if (type == null) {
                out.println("not-found " + name);
                return "not-found";
            }
            if (type.isInterface()) {
                // No constructors, for which Java code does not even ask the VM.
                type.getDeclaredFields();
            } else {
                type.getDeclaredConstructors();
            }
            out.println("ok " + name);
            return "ok";
        } catch (Throwable problem) {
            String kind = problem.getClass().getName();
            String message = String.valueOf(problem.getMessage()).replace('\n', ' ');
            out.println(kind + " " + name + ": " + message);
            return kind;
        }
    }
}
