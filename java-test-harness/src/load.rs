//! Loads the agent into a running JVM.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::{Running, Signal, agent_library};

/// The first release whose `jcmd` loads agents.
const LOADS_BY_JCMD: u32 = 9;

impl Running {
    /// Loads the agent under test into this JVM, and returns what the JVM answered.
    ///
    /// # Panics
    ///
    /// When the JVM does not answer.
    pub fn load_agent(&self, options: &str) -> String {
        let library = agent_library();
        let library = library.to_str().expect("a path");
        match self.jdk().feature() {
            LOADS_BY_JCMD.. => self.jcmd(&["JVMTI.agent_load", library, &format!("\"{options}\"")]),
            _ => self.ask_listener(&["1", "load", library, "true", options]),
        }
    }

    /// Asks the attach listener by the protocol that the JDK's tools speak: the version, a command, and its arguments.
    fn ask_listener(&self, words: &[&str]) -> String {
        let pid = self.pid();
        let socket = format!("/tmp/.java_pid{pid}");
        let is_there = || Path::new(&socket).exists();
        if !is_there() {
            fs::write(self.path(&format!(".attach_pid{pid}")), "").expect("a file");
            self.signal(Signal::Quit);
            self.wait_until("the attach listener", |_| is_there());
        }
        let mut stream = UnixStream::connect(&socket).expect("the attach listener");
        for word in words {
            stream.write_all(word.as_bytes()).expect("a request");
            stream.write_all(&[0]).expect("a request");
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}
