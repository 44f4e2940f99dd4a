package sun.misc;

/**
 * Stands for the class of JDK 8 while the hook classes are compiled; it is not part of the library. The last three methods
 * are called in branches for later releases only.
 */
public final class Unsafe {
    public static native Unsafe getUnsafe();

    public native long objectFieldOffset(java.lang.reflect.Field field);

    public native long getLong(long address);

    public native void putLong(long address, long value);

    public native long getLong(Object object, long offset);

    public native void putLong(Object object, long offset, long value);

    public native void putObject(Object object, long offset, Object value);

    public native long getAndAddLong(Object object, long offset, long delta);

    public native Object allocateInstance(Class<?> of) throws InstantiationException;

    public native long objectFieldOffset(Class<?> of, String field);

    public native Object getReference(Object object, long offset);

    public native void putReference(Object object, long offset, Object value);
}
