/**
 * Work for the program, the collector and the compilers: AllocPressure, with the same arguments. Exact: "start=" and
 * "process=", CPU seconds of all threads until main began and until its end.
 */
public class WholeProcess {
    public static void main(String[] args) throws Exception {
        Cpu.print("start", Cpu.ofProcess());
        AllocPressure.main(args);
        Cpu.print("process", Cpu.ofProcess());
    }
}
