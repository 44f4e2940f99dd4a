package shop;

import hprof.jmh.HprofProfiler;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.ExternalProfiler;
import org.openjdk.jmh.results.BenchmarkResult;

/** Calls a profiler in the order in which JMH does, with one fork. */
public final class Forks {
    public static void main(String[] args) throws Exception {
        ExternalProfiler profiler = new HprofProfiler(args[0]);
        BenchmarkParams params = new BenchmarkParams("shop.Bench.spin-Throughput-size-10");
        List<String> command = new ArrayList<>(profiler.addJVMInvokeOptions(params));
        command.add(System.getProperty("java.home") + "/bin/java");
        command.addAll(profiler.addJVMOptions(params));
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add("shop.Main");
        profiler.beforeTrial(params);
        File out = new File("out.txt");
        Process fork = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out).start();
        long pid = fork.pid();
        int status = fork.waitFor();
        System.out.println("status " + status + ", results "
                + profiler.afterTrial(new BenchmarkResult(), pid, out, out).size());
    }
}
