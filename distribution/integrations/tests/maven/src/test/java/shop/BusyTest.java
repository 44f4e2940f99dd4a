package shop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class BusyTest {
    @Test
    void sortsALot() {
        assertTrue(Work.spin(700) != 0);
    }
}
