/**
 * Work for the program, the collector and the compilers: AllocPressure, with the same arguments. Exact: "process=", CPU
 * seconds of all threads until the end of main.
 */
public class WholeProcess {
    public static void main(String[] args) throws Exception {
        AllocPressure.main(args);
        Cpu.print("process", Cpu.ofProcess());
    }
}
