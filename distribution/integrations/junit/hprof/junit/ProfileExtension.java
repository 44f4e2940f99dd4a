package hprof.junit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Records what {@link Profile} marks: starts {@code hprof-rs record} for this JVM, and ends it after the test.
 *
 * Files are {@code CLASS.html} and {@code CLASS.METHOD.html} in the folder that the system property
 * {@code hprof.output} names: without it {@code build/hprof-rs} in a Gradle project, else {@code target/hprof-rs}.
 */
public final class ProfileExtension
        implements BeforeAllCallback, AfterAllCallback, BeforeTestExecutionCallback, AfterTestExecutionCallback {

    /** How long the command may take to begin, and to write its file, in seconds. */
    private static final long PATIENCE = 60;

    private static final ExtensionContext.Namespace SPACE = ExtensionContext.Namespace.create(ProfileExtension.class);

    /** The recording that runs: a JVM has one at a time. */
    private static final AtomicReference<Object> RUNNING = new AtomicReference<>();

    @Override
    public void beforeAll(ExtensionContext context) {
        // Of a nested class, the annotation of the class around it is not its own.
        context.getTestClass()
                .filter(type -> type.isAnnotationPresent(Profile.class))
                .ifPresent(type -> begin(context, type.getAnnotation(Profile.class), type.getName()));
    }

    @Override
    public void afterAll(ExtensionContext context) {
        end(context);
    }

    @Override
    public void beforeTestExecution(ExtensionContext context) {
        Optional<Profile> profile =
                context.getTestMethod().flatMap(it -> AnnotationSupport.findAnnotation(it, Profile.class));
        profile.ifPresent(it -> begin(context, it, name(context)));
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        end(context);
    }

    private static String name(ExtensionContext context) {
        String name = context.getRequiredTestClass().getName() + "." + context.getRequiredTestMethod().getName();
        // Repeated and parameterized tests run a method several times: [test-template-invocation:#3].
        String id = context.getUniqueId();
        int number = id.lastIndexOf(":#");
        return number < 0 ? name : name + "-" + id.substring(number + 2).replaceAll("[^0-9].*", "");
    }

    private static void begin(ExtensionContext context, Profile profile, String name) {
        Object mine = new Object();
        if (!RUNNING.compareAndSet(null, mine)) {
            say(name + " is not recorded by itself: another recording of this JVM runs");
            return;
        }
        Recording recording = null;
        try {
            recording = Recording.begin(profile, name);
            context.getStore(SPACE).put(Recording.class, recording);
        } catch (IOException | UncheckedIOException error) {
            say(name + " is not recorded: " + error.getMessage());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } finally {
            if (recording == null) {
                RUNNING.set(null);
            }
        }
    }

    private static void end(ExtensionContext context) {
        Recording recording = context.getStore(SPACE).remove(Recording.class, Recording.class);
        if (recording == null) {
            return;
        }
        try {
            recording.end();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } finally {
            RUNNING.set(null);
        }
    }

    private static void say(String text) {
        System.err.println("hprof-rs: " + text);
    }

    /** A running {@code hprof-rs record}. */
    private static final class Recording {
        private final Process process;
        private final Path file;
        private final List<String> said = new ArrayList<>();
        private final CountDownLatch begun = new CountDownLatch(1);
        private final Thread reader = new Thread(this::read, "hprof-rs record");
        private volatile boolean records;

        private Recording(Process process, Path file) {
            this.process = process;
            this.file = file;
            reader.setDaemon(true);
            reader.start();
        }

        static Recording begin(Profile profile, String name) throws IOException, InterruptedException {
            Path folder = folder();
            Files.createDirectories(folder);
            String ending = profile.format();
            Path file = folder.resolve(name.replaceAll("[^A-Za-z0-9._$-]", "_") + "." + ending).toAbsolutePath();
            List<String> command = new ArrayList<>();
            command.add(command());
            command.add("record");
            command.add(Long.toString(ProcessHandle.current().pid()));
            command.add("--output");
            command.add(file.toString());
            for (Profile.Mode mode : profile.value()) {
                command.add(mode.flag);
            }
            if (!profile.options().isEmpty()) {
                command.add("--options=" + profile.options());
            }
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
            // It is no JVM, but looks like one to a program that reads these variables.
            builder.environment().remove("JAVA_TOOL_OPTIONS");
            Process process = builder.start();
            process.getOutputStream().close();
            Recording recording = new Recording(process, file);
            boolean came = recording.begun.await(PATIENCE, TimeUnit.SECONDS);
            if (recording.records) {
                return recording;
            }
            process.destroyForcibly();
            throw new IOException(came ? recording.words() : "hprof-rs did not begin within " + PATIENCE + " s");
        }

        private static Path folder() {
            String named = System.getProperty("hprof.output");
            if (named != null) {
                return Paths.get(named);
            }
            boolean isGradle = Files.exists(Paths.get("build.gradle")) || Files.exists(Paths.get("build.gradle.kts"));
            return Paths.get(isGradle ? "build" : "target", "hprof-rs");
        }

        private static String command() {
            String named = System.getProperty("hprof.command", System.getenv("HPROF_RS"));
            return named == null || named.isEmpty() ? "hprof-rs" : named;
        }

        /** Reads what the command says: it records once it has said so. */
        private void read() {
            try (BufferedReader lines =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (line.startsWith("hprof-rs: recording ")) {
                        records = true;
                        begun.countDown();
                    } else {
                        synchronized (said) {
                            if (said.size() < 100) {
                                said.add(line);
                            }
                        }
                    }
                }
            } catch (IOException error) {
                // The process has gone, and its exit status tells why.
            } finally {
                begun.countDown();
            }
        }

        private String words() {
            synchronized (said) {
                return String.join(" ", said).replaceFirst("^hprof-rs: ", "");
            }
        }

        void end() throws InterruptedException {
            // SIGTERM: it writes the file, and takes the agent out.
            process.destroy();
            if (!process.waitFor(PATIENCE, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                say(file + " was not written within " + PATIENCE + " s");
                return;
            }
            reader.join(TimeUnit.SECONDS.toMillis(1));
            if (process.exitValue() == 0 && Files.exists(file)) {
                say("wrote " + file);
            } else {
                say(file + " was not written: " + words());
            }
        }
    }
}
