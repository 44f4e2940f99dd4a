package shop;

public final class Main {
    public static void main(String[] args) {
        System.out.println(Work.spin(500) != 0);
    }
}
