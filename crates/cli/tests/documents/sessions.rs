//! Console blocks of documents, and the place in which they run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use java_test_harness::{Jdk, Run};

use crate::root;
use crate::support::Scene;

/// A block of a console session.
#[derive(Debug, Clone, Default)]
pub struct Session {
    pub line: usize,
    /// The comment before it.
    pub mark: String,
    /// Commands that a reader has run already.
    pub before: Vec<String>,
    /// Commands and what they print.
    pub steps: Vec<(String, Vec<String>)>,
}

/// The console blocks of a document.
pub fn sessions(text: &str) -> Vec<Session> {
    let mut found: Vec<Session> = Vec::new();
    let mut comment = String::new();
    let mut is_comment = false;
    let mut is_session = false;
    for (at, line) in text.lines().enumerate() {
        if is_session {
            let session = found.last_mut().expect("begun");
            if line.starts_with("```") {
                is_session = false;
            } else if let Some(command) = line.strip_prefix("$ ") {
                session.steps.push((command.to_owned(), Vec::new()));
            } else {
                let step = session.steps.last_mut().expect("a command first");
                step.1.push(line.to_owned());
            }
        } else if line.starts_with("<!--") || is_comment {
            is_comment = !line.contains("-->");
            comment.push_str(line);
            comment.push('\n');
        } else if line == "```console" {
            let inner = comment.replace("<!--", "").replace("-->", "");
            let lines: Vec<&str> = inner.trim().lines().collect();
            let before = lines
                .iter()
                .filter_map(|line| line.strip_prefix("before: "));
            found.push(Session {
                line: at + 1,
                mark: lines
                    .first()
                    .map_or_else(String::new, |line| line.trim().to_owned()),
                before: before.map(str::to_owned).collect(),
                steps: Vec::new(),
            });
            is_session = true;
            comment.clear();
        } else if !line.is_empty() {
            comment.clear();
        }
    }
    found
}

/// A program that runs until this is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The place in which the sessions of a page run, one after the other.
pub struct Place {
    scene: Scene,
    shop: Option<Program>,
    classes: PathBuf,
}

impl Place {
    pub fn new(classes: &Path) -> Self {
        let scene = Scene::new();
        fs::create_dir(scene.path("bin")).expect("a folder");
        let command = env!("CARGO_BIN_EXE_hprof-rs");
        symlink(command, scene.path("bin/hprof-rs")).expect("a link");
        symlink(classes, scene.path("classes")).expect("a link");
        Self {
            scene,
            shop: None,
            classes: classes.to_owned(),
        }
    }

    fn java(&self) -> PathBuf {
        Jdk::compiler().home().join("bin")
    }

    /// The process id of a shop that is open.
    fn shop(&mut self) -> u32 {
        let (java, jcmd) = (self.java().join("java"), self.java().join("jcmd"));
        let (scene, classes) = (&self.scene, &self.classes);
        let shop = self.shop.get_or_insert_with(|| {
            let child = Command::new(java)
                .arg("-cp")
                .arg(classes)
                .args(["shop.Shop", "300"])
                .current_dir(scene.path(""))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn();
            let child = child.expect("java");
            await_sessions(&jcmd, child.id());
            Program(child)
        });
        shop.0.id()
    }

    /// A heap dump of the program whose contents are known.
    fn known_heap(&self, name: &str) {
        if self.scene.path(name).exists() {
            return;
        }
        let run = Run::new(Jdk::compiler())
            .class("KnownHeap")
            .args(["known.hprof"]);
        let outcome = run.run().expect_status(0);
        fs::copy(outcome.path("known.hprof"), self.scene.path(name)).expect("a copy");
    }

    /// Runs the commands of a session, and gives what each prints with its exit status.
    pub fn run(&mut self, session: &Session) -> Vec<(String, i32)> {
        let pid = match session.mark.as_str() {
            "run: shop" => self.shop().to_string(),
            mark => {
                if let Some(name) = mark.strip_prefix("run: KnownHeap ") {
                    self.known_heap(name);
                }
                String::new()
            }
        };
        let folder = format!(
            "{}/",
            self.scene
                .path("")
                .display()
                .to_string()
                .trim_end_matches('/')
        );
        let here = |command: &str| {
            let command = command.replace("26114", &pid).replace("27648", &pid);
            let command = command.replace("/tmp/", &folder);
            // What takes a minute in a service takes a moment here.
            let command = command
                .replace("-d 1m", "-d 2s")
                .replace("shop.Shop 6", "shop.Shop 3");
            command
                .replace("sleep 600", "sleep 3")
                .replace("sleep 60", "sleep 3")
        };
        let mut script =
            String::from("step() { local s=$?; printf '\\n<<<%s>>>\\n' $s; return $s; }\n");
        for command in &session.before {
            script += &format!("{{ {}; }} >/dev/null || exit 99\n", here(command));
        }
        script += "printf '<<<begin>>>\\n'\n";
        for (command, _) in &session.steps {
            script += &format!("{}\nstep\n", here(command));
        }
        let log = tempfile::NamedTempFile::new().expect("a file");
        // Both write to one place in the file.
        let output = log.reopen().expect("a file");
        let errors = output.try_clone().expect("a file");
        let path = std::env::var("PATH").expect("a path");
        let path = format!(
            "{}:{}:{path}",
            self.scene.path("bin").display(),
            self.java().display()
        );
        let mut shell = Command::new("bash");
        shell
            .args(["-c", &script])
            .current_dir(self.scene.path(""))
            .env("PATH", path)
            .env("COLUMNS", "160")
            .env("DATA", root().join("crates/format/tests/data"))
            .env("XDG_CACHE_HOME", self.scene.cache())
            .env_remove("JAVA_TOOL_OPTIONS")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let mut child = shell.spawn().expect("bash");
        let begun = Instant::now();
        while child.try_wait().expect("a status").is_none() {
            if begun.elapsed() > Duration::from_secs(180) {
                child.kill().expect("it runs");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let text = fs::read_to_string(log.path()).expect("text");
        let (before, said) = text.split_once("<<<begin>>>").unwrap_or((&text, ""));
        assert!(!said.is_empty(), "line {}: {before}", session.line);
        let mut printed = Vec::new();
        let mut rest = said;
        while let Some((output, after)) = rest.split_once("<<<") {
            let (status, after) = after.split_once(">>>").expect("a status");
            printed.push((output.to_owned(), status.parse().expect("a number")));
            rest = after;
        }
        printed
    }
}

/// Waits until 2,000 sessions have leaked in a shop, some 2 kB each, which are most of its heap.
fn await_sessions(jcmd: &Path, pid: u32) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(120) {
        let asked = Command::new(jcmd)
            .args([&pid.to_string(), "GC.class_histogram"])
            .output();
        let answer = String::from_utf8_lossy(&asked.expect("jcmd").stdout).into_owned();
        let sessions = answer.lines().find(|line| line.ends_with(" shop.Session"));
        let count = sessions.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        if count.is_some_and(|count| count >= 2_000) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the shop has no 2,000 sessions after two minutes");
}
