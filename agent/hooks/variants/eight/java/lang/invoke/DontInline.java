package java.lang.invoke;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Stands for the annotation of JDK 8 while the hook classes are compiled; it is not part of the library. */
@Retention(RetentionPolicy.RUNTIME)
public @interface DontInline {}
