package shop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import hprof.junit.Profile;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

@TestMethodOrder(MethodOrderer.MethodName.class)
class ProfiledTest {
    @Profile(format = "collapsed")
    @Test
    void one() {
        assertTrue(Work.spin(600) != 0);
    }

    @Profile(format = "html", options = "interval=1,depth=200")
    @RepeatedTest(2)
    void two() {
        assertTrue(Work.spin(300) != 0);
    }

    @Test
    void three() {
        assertTrue(Work.spin(10) != 0);
    }

    @Profile(options = "interval=banana")
    @Test
    void wrong() {
        assertTrue(Work.spin(10) != 0);
    }
}
