package java.lang;

/**
 * Called by code of JDK 8 with each object that it has made, for heap=sites. The native methods are in the agent's module
 * heap_sites.
 */
public final class HprofSites {
    private HprofSites() {}

    /** The constructor of Object has this object, or code has made this array. */
    public static native void made(Object object);

    /** Code has made this array with the arrays in it. */
    public static native void nested(Object array);

    /** java.lang.reflect.Array has made this array, or Object.clone this object; a caller may call the next one with it. */
    public static native void reflected(Object object);

    /** A method that may have called the last one has returned this copy. */
    public static native void copied(Object object);
}
