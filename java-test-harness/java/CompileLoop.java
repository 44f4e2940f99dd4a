import java.io.File;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * A real job: runs the Java compiler over all programs of a folder again and again.
 *
 * Arguments: the folder, the folder for the classes, seconds (default 10). Needs a JDK with a
 * compiler. Prints how many rounds it made; status 1 when the programs do not compile.
 */
public class CompileLoop {
    public static void main(String[] args) throws Exception {
        File[] sources = new File(args[0]).listFiles((folder, name) -> name.endsWith(".java"));
        // Programs of the folder use classes of folders in it.
        List<String> options = List.of("-d", args[1], "-sourcepath", args[0], "-nowarn", "-proc:none");
        long end = System.nanoTime() + (args.length > 2 ? Long.parseLong(args[2]) : 10) * 1_000_000_000L;
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        int rounds = 0;
        do {
            try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
                if (!compiler.getTask(nowhere, files, null, options, null, files.getJavaFileObjects(sources)).call()) {
                    System.err.println("the programs do not compile");
                    System.exit(1);
                }
            }
            rounds++;
        } while (System.nanoTime() < end);
        System.out.println("compiled " + sources.length + " files " + rounds + " times");
    }
}
