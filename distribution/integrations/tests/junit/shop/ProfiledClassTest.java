package shop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import hprof.junit.Profile;
import org.junit.jupiter.api.Test;

@Profile(format = "collapsed")
class ProfiledClassTest {
    @Test
    void one() {
        assertTrue(Work.spin(300) != 0);
    }

    @Test
    @Profile
    void two() {
        assertTrue(Work.spin(300) != 0);
    }
}
