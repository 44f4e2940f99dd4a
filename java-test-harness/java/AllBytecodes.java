/**
 * Code that compiles to nearly every instruction of the JVM (those for subroutines excepted, which
 * compilers no longer make), for tools that rewrite class files or map code indexes to lines. run()
 * returns the same number always.
 */
final class AllBytecodes {
    private interface Shape {
        double area(double scale);
    }

    private static final class Square implements Shape {
        private final double side;
        private static int made;

        Square(double side) {
            super();
            this.side = side;
            made++;
        }

        @Override
        public double area(double scale) {
            return side * side * scale;
        }
    }

    private AllBytecodes() {}

    static long run() {
        long sum = 0;
        sum = sum * 31 + integers(7, -3);
        sum = sum * 31 + longs(1L << 40, 13);
        sum = sum * 31 + (long) floats(1.5f, 0.25f);
        sum = sum * 31 + (long) doubles(1.5, 0.25);
        sum = sum * 31 + arrays(5);
        sum = sum * 31 + switches(3) + switches(1000) + switches(77);
        sum = sum * 31 + conversions(300.75);
        sum = sum * 31 + references("text");
        sum = sum * 31 + branches(4, null);
        sum = sum * 31 + manyConstants().length;
        sum = sum * 31 + manyLocals(2);
        return sum;
    }

    private static int integers(int a, int b) {
        int c = a + b - a * b / 3 % 5;
        c = (c & 0xff | 0x100 ^ 0x33) << 2 >> 1 >>> 1;
        c += -1 + 0 + 1 + 2 + 3 + 4 + 5 + 100 + 1000 + 100_000;
        c = -c;
        int before = c++;
        return before + ~c + --c;
    }

    private static long longs(long a, long b) {
        long c = a + b - a * b / 3L % 5L;
        c = (c & 0xffL | 0x100L ^ 0x33L) << 2 >> 1 >>> 1;
        return a > b && c != 0L ? -c + 1L : 1L << 62;
    }

    private static float floats(float a, float b) {
        float c = a + b - a * b / 2f % 5f + 0f + 1f + 3.25f;
        return a < b || c >= a ? -c : c;
    }

    private static double doubles(double a, double b) {
        double c = a + b - a * b / 2.0 % 5.0 + 0.0 + 1.0 + 3.25;
        return a > b || c <= a ? -c : c;
    }

    private static long arrays(int size) {
        boolean[] booleans = new boolean[size];
        byte[] bytes = new byte[size];
        char[] chars = new char[size];
        short[] shorts = new short[size];
        int[] ints = new int[size];
        long[] longs = new long[size];
        float[] floats = new float[size];
        double[] doubles = new double[size];
        Object[] objects = new Object[size];
        int[][][] cubes = new int[size][2][];
        booleans[1] = true;
        bytes[1] = 1;
        chars[1] = 'c';
        shorts[1] = 2;
        ints[1]++;
        longs[1]--;
        floats[1] += 2;
        doubles[1] *= 3;
        objects[1] = ints;
        cubes[1][1] = (int[]) objects[1];
        ints[2] = ints[1] += 5;
        longs[2] = longs[1] += 6;
        return (booleans[1] ? 1 : 0) + bytes[1] + chars[1] + shorts[1] + cubes[1][1][2] + longs[2]
                + (long) floats[1] + (long) doubles[1] + objects.length;
    }

    private static int switches(int key) {
        int dense;
        switch (key) {
            case 1: dense = 10; break;
            case 2: dense = 20; break;
            case 3: dense = 30; break;
            default: dense = 0;
        }
        switch (key) {
            case -1000: return dense + 1;
            case 1000: return dense + 2;
            case 1_000_000: return dense + 3;
            default: return dense;
        }
    }

    private static long conversions(double value) {
        int i = (int) value;
        long l = (long) value;
        float f = (float) value;
        return (byte) i + (char) i + (short) i + (int) l + (long) f + (int) f + (long) (float) l
                + (long) (double) l + (long) (float) i + (long) (double) i + (long) i + (long) (double) f;
    }

    private static long references(Object object) {
        Shape shape = new Square(2);
        Shape lambda = scale -> shape.area(scale) + Square.made;
        synchronized (shape) {
            String text = (String) object;
            Class<?> type = int[].class;
            return (long) lambda.area(3) + text.length() + (text + type + 1L).length()
                    + (object instanceof Integer ? 1 : 0) + (object == text ? 1 : 2) + (object != null ? 4 : 8);
        }
    }

    private static int branches(int number, Object nothing) {
        int result = 0;
        if (number == 0) result |= 1;
        if (number != 0) result |= 2;
        if (number < 0) result |= 4;
        if (number >= 0) result |= 8;
        if (number > 0) result |= 16;
        if (number <= 0) result |= 32;
        if (number == result) result |= 64;
        if (number != result) result |= 128;
        if (number < result) result |= 256;
        if (number > result) result |= 512;
        if (nothing == null) result |= 1024;
        try {
            if (nothing != null) return 0;
            throw new UnsupportedOperationException();
        } catch (UnsupportedOperationException expected) {
            result |= 2048;
        } finally {
            result |= 4096;
        }
        return result;
    }

    /** More constants than an index of one byte can distinguish. */
    private static String[] manyConstants() {
        return new String[] {
            "constant 0", "constant 1", "constant 2", "constant 3", "constant 4", "constant 5",
            "constant 6", "constant 7", "constant 8", "constant 9", "constant 10", "constant 11",
            "constant 12", "constant 13", "constant 14", "constant 15", "constant 16",
            "constant 17", "constant 18", "constant 19", "constant 20", "constant 21",
            "constant 22", "constant 23", "constant 24", "constant 25", "constant 26",
            "constant 27", "constant 28", "constant 29", "constant 30", "constant 31",
            "constant 32", "constant 33", "constant 34", "constant 35", "constant 36",
            "constant 37", "constant 38", "constant 39", "constant 40", "constant 41",
            "constant 42", "constant 43", "constant 44", "constant 45", "constant 46",
            "constant 47", "constant 48", "constant 49", "constant 50", "constant 51",
            "constant 52", "constant 53", "constant 54", "constant 55", "constant 56",
            "constant 57", "constant 58", "constant 59", "constant 60", "constant 61",
            "constant 62", "constant 63", "constant 64", "constant 65", "constant 66",
            "constant 67", "constant 68", "constant 69", "constant 70", "constant 71",
            "constant 72", "constant 73", "constant 74", "constant 75", "constant 76",
            "constant 77", "constant 78", "constant 79", "constant 80", "constant 81",
            "constant 82", "constant 83", "constant 84", "constant 85", "constant 86",
            "constant 87", "constant 88", "constant 89", "constant 90", "constant 91",
            "constant 92", "constant 93", "constant 94", "constant 95", "constant 96",
            "constant 97", "constant 98", "constant 99", "constant 100", "constant 101",
            "constant 102", "constant 103", "constant 104", "constant 105", "constant 106",
            "constant 107", "constant 108", "constant 109", "constant 110", "constant 111",
            "constant 112", "constant 113", "constant 114", "constant 115", "constant 116",
            "constant 117", "constant 118", "constant 119", "constant 120", "constant 121",
            "constant 122", "constant 123", "constant 124", "constant 125", "constant 126",
            "constant 127", "constant 128", "constant 129", "constant 130", "constant 131",
            "constant 132", "constant 133", "constant 134", "constant 135", "constant 136",
            "constant 137", "constant 138", "constant 139", "constant 140", "constant 141",
            "constant 142", "constant 143", "constant 144", "constant 145", "constant 146",
            "constant 147", "constant 148", "constant 149", "constant 150", "constant 151",
            "constant 152", "constant 153", "constant 154", "constant 155", "constant 156",
            "constant 157", "constant 158", "constant 159", "constant 160", "constant 161",
            "constant 162", "constant 163", "constant 164", "constant 165", "constant 166",
            "constant 167", "constant 168", "constant 169", "constant 170", "constant 171",
            "constant 172", "constant 173", "constant 174", "constant 175", "constant 176",
            "constant 177", "constant 178", "constant 179", "constant 180", "constant 181",
            "constant 182", "constant 183", "constant 184", "constant 185", "constant 186",
            "constant 187", "constant 188", "constant 189", "constant 190", "constant 191",
            "constant 192", "constant 193", "constant 194", "constant 195", "constant 196",
            "constant 197", "constant 198", "constant 199", "constant 200", "constant 201",
            "constant 202", "constant 203", "constant 204", "constant 205", "constant 206",
            "constant 207", "constant 208", "constant 209", "constant 210", "constant 211",
            "constant 212", "constant 213", "constant 214", "constant 215", "constant 216",
            "constant 217", "constant 218", "constant 219", "constant 220", "constant 221",
            "constant 222", "constant 223", "constant 224", "constant 225", "constant 226",
            "constant 227", "constant 228", "constant 229", "constant 230", "constant 231",
            "constant 232", "constant 233", "constant 234", "constant 235", "constant 236",
            "constant 237", "constant 238", "constant 239", "constant 240", "constant 241",
            "constant 242", "constant 243", "constant 244", "constant 245", "constant 246",
            "constant 247", "constant 248", "constant 249", "constant 250", "constant 251",
            "constant 252", "constant 253", "constant 254", "constant 255", "constant 256",
            "constant 257", "constant 258", "constant 259",
        };
    }

    /** More local variables than an index of one byte can distinguish. */
    private static long manyLocals(int seed) {
        long l0 = seed + 0, l1 = seed + 1, l2 = seed + 2, l3 = seed + 3, l4 = seed + 4;
        long l5 = seed + 5, l6 = seed + 6, l7 = seed + 7, l8 = seed + 8, l9 = seed + 9;
        long l10 = seed + 10, l11 = seed + 11, l12 = seed + 12, l13 = seed + 13, l14 = seed + 14;
        long l15 = seed + 15, l16 = seed + 16, l17 = seed + 17, l18 = seed + 18, l19 = seed + 19;
        long l20 = seed + 20, l21 = seed + 21, l22 = seed + 22, l23 = seed + 23, l24 = seed + 24;
        long l25 = seed + 25, l26 = seed + 26, l27 = seed + 27, l28 = seed + 28, l29 = seed + 29;
        long l30 = seed + 30, l31 = seed + 31, l32 = seed + 32, l33 = seed + 33, l34 = seed + 34;
        long l35 = seed + 35, l36 = seed + 36, l37 = seed + 37, l38 = seed + 38, l39 = seed + 39;
        long l40 = seed + 40, l41 = seed + 41, l42 = seed + 42, l43 = seed + 43, l44 = seed + 44;
        long l45 = seed + 45, l46 = seed + 46, l47 = seed + 47, l48 = seed + 48, l49 = seed + 49;
        long l50 = seed + 50, l51 = seed + 51, l52 = seed + 52, l53 = seed + 53, l54 = seed + 54;
        long l55 = seed + 55, l56 = seed + 56, l57 = seed + 57, l58 = seed + 58, l59 = seed + 59;
        long l60 = seed + 60, l61 = seed + 61, l62 = seed + 62, l63 = seed + 63, l64 = seed + 64;
        long l65 = seed + 65, l66 = seed + 66, l67 = seed + 67, l68 = seed + 68, l69 = seed + 69;
        long l70 = seed + 70, l71 = seed + 71, l72 = seed + 72, l73 = seed + 73, l74 = seed + 74;
        long l75 = seed + 75, l76 = seed + 76, l77 = seed + 77, l78 = seed + 78, l79 = seed + 79;
        long l80 = seed + 80, l81 = seed + 81, l82 = seed + 82, l83 = seed + 83, l84 = seed + 84;
        long l85 = seed + 85, l86 = seed + 86, l87 = seed + 87, l88 = seed + 88, l89 = seed + 89;
        long l90 = seed + 90, l91 = seed + 91, l92 = seed + 92, l93 = seed + 93, l94 = seed + 94;
        long l95 = seed + 95, l96 = seed + 96, l97 = seed + 97, l98 = seed + 98, l99 = seed + 99;
        long l100 = seed + 100, l101 = seed + 101, l102 = seed + 102, l103 = seed + 103, l104 = seed + 104;
        long l105 = seed + 105, l106 = seed + 106, l107 = seed + 107, l108 = seed + 108, l109 = seed + 109;
        long l110 = seed + 110, l111 = seed + 111, l112 = seed + 112, l113 = seed + 113, l114 = seed + 114;
        long l115 = seed + 115, l116 = seed + 116, l117 = seed + 117, l118 = seed + 118, l119 = seed + 119;
        long l120 = seed + 120, l121 = seed + 121, l122 = seed + 122, l123 = seed + 123, l124 = seed + 124;
        long l125 = seed + 125, l126 = seed + 126, l127 = seed + 127, l128 = seed + 128, l129 = seed + 129;
        int wide = seed;
        return l0 + l1 + l2 + l3 + l4 + l5 + l6 + l7 + l8 + l9 + l10 + l11 + l12 + l13 + l14 + l15
                + l16 + l17 + l18 + l19 + l20 + l21 + l22 + l23 + l24 + l25 + l26 + l27 + l28
                + l29 + l30 + l31 + l32 + l33 + l34 + l35 + l36 + l37 + l38 + l39 + l40 + l41
                + l42 + l43 + l44 + l45 + l46 + l47 + l48 + l49 + l50 + l51 + l52 + l53 + l54
                + l55 + l56 + l57 + l58 + l59 + l60 + l61 + l62 + l63 + l64 + l65 + l66 + l67
                + l68 + l69 + l70 + l71 + l72 + l73 + l74 + l75 + l76 + l77 + l78 + l79 + l80
                + l81 + l82 + l83 + l84 + l85 + l86 + l87 + l88 + l89 + l90 + l91 + l92 + l93
                + l94 + l95 + l96 + l97 + l98 + l99 + l100 + l101 + l102 + l103 + l104 + l105
                + l106 + l107 + l108 + l109 + l110 + l111 + l112 + l113 + l114 + l115 + l116
                + l117 + l118 + l119 + l120 + l121 + l122 + l123 + l124 + l125 + l126 + l127
                + l128 + l129 + (wide += 1000);
    }
}
