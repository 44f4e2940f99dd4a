package hprof.jmh;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.ExternalProfiler;
import org.openjdk.jmh.profile.ProfilerException;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.Result;

/**
 * Profiles each fork of a JMH benchmark, and writes a page with a flame graph.
 *
 * <pre>{@code
 * java -cp benchmarks.jar:hprof-jmh.jar org.openjdk.jmh.Main -prof hprof.jmh.HprofProfiler
 * java -cp ... org.openjdk.jmh.Main -prof "hprof.jmh.HprofProfiler:dir=out;format=collapsed;options=cpu=samples,depth=200"
 * }</pre>
 *
 * Parts of the argument, with semicolons between them: {@code options}, the agent's options without {@code file=};
 * {@code dir}, the folder for the files; {@code format}, their ending; {@code command}, the command
 * {@code hprof-rs} if it is not on {@code PATH}. The files have samples of the warm-up too.
 */
public final class HprofProfiler implements ExternalProfiler {
    private final Map<String, String> parts = new LinkedHashMap<>();
    private final String library;
    private final Path folder;

    /** With the defaults: CPU samples, pages in the folder {@code hprof-rs}. */
    public HprofProfiler() throws ProfilerException {
        this("");
    }

    /** With an argument, as after {@code -prof hprof.jmh.HprofProfiler:}. */
    public HprofProfiler(String argument) throws ProfilerException {
        parts.put("options", "cpu=samples,interval=1,depth=64");
        parts.put("dir", "hprof-rs");
        parts.put("format", "html");
        String named = System.getenv("HPROF_RS");
        parts.put("command", named == null || named.isEmpty() ? "hprof-rs" : named);
        for (String part : argument == null ? new String[0] : argument.split(";")) {
            int sign = part.indexOf('=');
            String key = sign < 0 ? part.trim() : part.substring(0, sign).trim();
            if (key.isEmpty() && sign < 0) {
                continue;
            }
            if (sign < 0 || !parts.containsKey(key)) {
                throw new ProfilerException("hprof-rs has no argument " + key + "; it has " + parts.keySet());
            }
            parts.put(key, part.substring(sign + 1));
        }
        folder = Paths.get(parts.get("dir")).toAbsolutePath();
        if (folder.toString().indexOf(',') >= 0) {
            throw new ProfilerException("the agent cannot write to " + folder + ": its path has a comma");
        }
        library = library(parts.get("command"));
    }

    private static String library(String command) throws ProfilerException {
        String last = "";
        try {
            Process process = new ProcessBuilder(command, "agent-path").redirectErrorStream(true).start();
            process.getOutputStream().close();
            try (BufferedReader lines =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    last = line;
                }
            }
            if (process.waitFor() != 0) {
                throw new ProfilerException(command + " agent-path failed: " + last);
            }
        } catch (IOException error) {
            throw new ProfilerException("cannot run " + command + ": put hprof-rs on PATH, or name it by command=FILE");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new ProfilerException("interrupted");
        }
        return last;
    }

    @Override
    public Collection<String> addJVMInvokeOptions(BenchmarkParams params) {
        return Collections.emptyList();
    }

    @Override
    public Collection<String> addJVMOptions(BenchmarkParams params) {
        String name = params.id().replaceAll("[^A-Za-z0-9._-]", "_");
        try {
            Files.createDirectories(folder);
        } catch (IOException error) {
            throw new IllegalStateException("cannot make the folder " + folder, error);
        }
        String file = folder.toString().replace("%", "%%") + "/" + name + "-%p." + parts.get("format");
        return Collections.singletonList(
                "-agentpath:" + library + "=" + parts.get("options") + ",verbose=n,file=" + file);
    }

    @Override
    public void beforeTrial(BenchmarkParams params) {
        // The agent begins with its JVM.
    }

    @Override
    public Collection<? extends Result> afterTrial(BenchmarkResult result, long pid, File out, File err) {
        String ending = "-" + pid + "." + parts.get("format");
        List<Path> found = new ArrayList<>();
        try (java.util.stream.Stream<Path> files = Files.list(folder)) {
            files.filter(file -> file.getFileName().toString().endsWith(ending)).forEach(found::add);
        } catch (IOException error) {
            System.err.println("hprof-rs: cannot list " + folder + ": " + error.getMessage());
        }
        for (Path file : found) {
            System.out.println("hprof-rs: profile in " + file);
        }
        return Collections.emptyList();
    }

    @Override
    public boolean allowPrintOut() {
        return true;
    }

    @Override
    public boolean allowPrintErr() {
        return true;
    }

    @Override
    public String getDescription() {
        return "Flame graphs of each fork, by hprof-rs";
    }
}
