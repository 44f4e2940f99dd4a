package java.lang;

/** Stands for the class of virtual threads, since JDK 19, while HprofHooks is compiled. */
final class VirtualThread extends Thread {}
