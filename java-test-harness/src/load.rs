//! Loads the agent into a running JVM.

use crate::{Jdk, Run, Running, agent_library};

/// The first release whose `jcmd` loads agents.
const LOADS_BY_JCMD: u32 = 9;

impl Running {
    /// Loads the agent under test into this JVM, by what a JDK has for that, and returns what it said: `jcmd`, and for
    /// JDK 8 the class `com.sun.tools.attach.VirtualMachine` of a later JDK, which says nothing.
    ///
    /// # Panics
    ///
    /// When that fails.
    pub fn load_agent(&self, options: &str) -> String {
        let library = agent_library();
        let library = library.to_str().expect("a path");
        if self.jdk().feature() >= LOADS_BY_JCMD {
            return self.jcmd(&["JVMTI.agent_load", library, &format!("\"{options}\"")]);
        }
        let run = Run::new(Jdk::compiler()).jvm_args(["--add-modules", "jdk.attach"]);
        let run = run.class("LoadAgent");
        let run = run.args([&self.pid().to_string(), library, options]);
        run.run().expect_status(0).stdout.clone()
    }
}
