package shop;

import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class BusyTest {
    @Test
    public void sortsALot() {
        assertTrue(Work.spin(500) != 0);
    }
}
