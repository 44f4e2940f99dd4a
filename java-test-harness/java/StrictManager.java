import java.security.Permission;

/**
 * A security manager of a program's own, and a program that runs under it if it is named by
 * -Djava.security.manager. It allows everything, with methods of its own and of another class.
 */
public class StrictManager extends SecurityManager {
    private static int asked;

    @Override
    public void checkPackageAccess(String name) {
        if (Names.isOwn(name)) {
            asked++;
        }
    }

    @Override
    public void checkPermission(Permission permission) {
        allow(permission.getName());
    }

    private static void allow(String name) {
        if (name == null) {
            throw new SecurityException("no name");
        }
    }

    /** Loaded when the manager is first asked. */
    static class Names {
        static boolean isOwn(String name) {
            return name.equals("java.lang");
        }
    }

    /** Loaded under the hooks. */
    static class Late {
        static int twice(int n) {
            return 2 * n;
        }
    }

    public static void main(String[] args) {
        int sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += Late.twice(i);
        }
        System.out.println("sum=" + sum);
        System.out.println("managed=" + (System.getSecurityManager() != null));
    }
}
