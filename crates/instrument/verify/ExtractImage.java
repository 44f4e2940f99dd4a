import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.stream.Stream;

/**
 * Copies the classes of the run-time image it runs on to a directory, one folder for each module.
 *
 * <p>Unlike the jimage command it is there in every runtime, and it reads compressed images.
 * Arguments: the directory, then names of modules; without names, all modules.
 */
public final class ExtractImage {
    public static void main(String[] arguments) throws IOException {
        Path output = Path.of(arguments[0]);
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        if (arguments.length == 1) {
            extract(modules, modules, output);
        }
        for (int at = 1; at < arguments.length; at++) {
            extract(modules, modules.resolve(arguments[at]), output);
        }
    }

    private static void extract(Path modules, Path from, Path output) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Iterator<Path> each = files.iterator(); each.hasNext(); ) {
                Path file = each.next();
                if (file.toString().endsWith(".class")) {
                    Path to = output.resolve(modules.relativize(file).toString());
                    Files.createDirectories(to.getParent());
                    Files.write(to, Files.readAllBytes(file));
                }
            }
        }
    }
}
