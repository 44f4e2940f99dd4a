package test;

/** Follows all calls: each exit and repair must find the stack of methods as it should be. */
public final class Hooks {
    private static final int[] stack = new int[100_000];
    private static final int[] counts = new int[10_000];
    private static int depth;
    private static String problem;

    private Hooks() {}

    public static long enter(int method) {
        counts[method]++;
        stack[++depth] = method;
        return depth;
    }

    public static void exit(long entered) {
        if (depth != entered && problem == null) {
            problem = "exit of " + stack[(int) entered] + " at depth " + depth + ", not " + entered;
        }
        depth = (int) entered - 1;
    }

    public static void repair(long entered, int method) {
        if ((depth < entered || stack[(int) entered] != method) && problem == null) {
            problem = "repair of " + method + " at depth " + depth + ", not " + entered;
        }
        depth = (int) entered;
    }

    public static void count(int method) {
        counts[method]++;
    }

    /** Prints how often each method was called, one line each. */
    public static void report() {
        for (int method = 0; method < counts.length; method++) {
            if (counts[method] != 0) {
                System.out.println("#" + method + " " + counts[method]);
            }
        }
        System.out.println("#depth " + depth);
        System.out.println("#problem " + problem);
    }
}
