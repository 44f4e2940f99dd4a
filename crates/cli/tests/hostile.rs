//! Attacks by another user of the machine, or by the root of a container, on attaching commands and on
//! JVMs with the agent. All of this takes root, to become another user and to make containers.

#![allow(clippy::disallowed_macros)]

mod support;

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use java_test_harness::{Jdk, agent_library, classes, each_jdk, rights};
use serde_json::Value;
use support::{Scene, run, stderr, stdout};

/// More than any of this takes on a busy machine, and less than for ever.
const LONG: Duration = Duration::from_secs(90);
const NOBODY: u32 = 65534;

/// Returns true if containers, and other users in them, can be had here.
fn can_make_containers() -> bool {
    rights::may_make_containers() && rights::may_act_for_others()
}

/// Runs `work` on a thread of another user.
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let uid = rustix::process::Uid::from_raw(NOBODY);
            rustix::thread::set_thread_res_uid(None, uid, None).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

/// A socket of another user whose queue is full: a process that connects and waits, waits for ever.
struct Trap {
    listener: UnixListener,
    _waiting: Vec<UnixStream>,
}

impl Trap {
    fn at(path: &Path) -> Self {
        as_nobody(|| {
            let listener = UnixListener::bind(path).unwrap();
            rustix::net::listen(&listener, 0).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
            let address = rustix::net::SocketAddrUnix::new(path).unwrap();
            let mut waiting = Vec::new();
            loop {
                let socket = rustix::net::socket_with(
                    rustix::net::AddressFamily::UNIX,
                    rustix::net::SocketType::STREAM,
                    rustix::net::SocketFlags::NONBLOCK | rustix::net::SocketFlags::CLOEXEC,
                    None,
                )
                .unwrap();
                match rustix::net::connect(&socket, &address) {
                    Ok(()) => waiting.push(UnixStream::from(socket)),
                    Err(_) => break,
                }
            }
            Self {
                listener,
                _waiting: waiting,
            }
        })
    }

    /// Returns true if a process other than the trap itself has connected.
    fn has_caught(&self) -> bool {
        self.listener.set_nonblocking(true).unwrap();
        let caught = std::iter::from_fn(|| self.listener.accept().ok()).count();
        caught > self._waiting.len()
    }
}

/// A container with this folder as its `/tmp`, to which every user may write.
struct Container {
    folder: tempfile::TempDir,
}

/// A JVM in it, killed in the end.
struct Jvm(Child);

impl Drop for Jvm {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Container {
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in("/var/tmp")
            .unwrap();
        let here = Self { folder };
        fs::create_dir(here.tmp()).unwrap();
        fs::set_permissions(here.tmp(), Permissions::from_mode(0o1777)).unwrap();
        here
    }

    fn tmp(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.tmp().join(name)
    }

    /// `java`, as process 1.
    fn java(&self, jdk: &Jdk) -> Command {
        let script = "mount --bind \"$0\" /tmp && cd / && exec \"$@\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", script])
            .arg(self.tmp())
            .arg(jdk.home().join("bin/java"))
            .args(["-Xmx64m", "-cp"])
            .arg(self.visible(classes()));
        command
    }

    /// A file, or a folder of files, where processes inside see it too: their `/tmp` is another one.
    fn visible(&self, path: &Path) -> PathBuf {
        if !path.starts_with("/tmp") {
            return path.to_owned();
        }
        let copy = self.folder.path().join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir_all(&copy).unwrap();
            for file in fs::read_dir(path).unwrap().map(Result::unwrap) {
                if file.path().is_file() {
                    fs::copy(file.path(), copy.join(file.file_name())).unwrap();
                }
            }
        } else {
            fs::copy(path, &copy).unwrap();
        }
        copy
    }

    fn agent(&self, options: &str) -> String {
        let library = self.visible(&agent_library());
        format!("-agentpath:{}={options}", library.display())
    }

    /// An idle JVM with these options, and its number outside.
    fn idle(&self, scene: &Scene, jdk: &Jdk, options: &[String]) -> (Jvm, u32) {
        let word = self.folder.path().display().to_string();
        let mut command = Command::new("unshare");
        command
            .args(self.java(jdk).get_args())
            .args(options)
            .args(["Idle", &word])
            .stdout(File::create(self.folder.path().join("stdout")).unwrap())
            .stderr(File::create(self.folder.path().join("stderr")).unwrap());
        let jvm = Jvm(command.spawn().unwrap());
        let pid = wait_for(scene, &word);
        // A JVM that starts removes what it takes for its own old socket.
        wait_until_ready(&self.folder.path().join("stdout"));
        (jvm, pid)
    }

    fn said(&self) -> String {
        self.read("stderr")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

fn wait_for(scene: &Scene, word: &str) -> u32 {
    let start = Instant::now();
    loop {
        let output = run(&mut scene.hprof_rs(&["ps", "--json", word]), "");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut rows = all.as_array().expect("a list").iter();
        if let Some(row) = rows.find(|row| row["program"] == "Idle") {
            return u32::try_from(row["pid"].as_u64().expect("a number")).expect("a pid");
        }
        assert!(start.elapsed() < LONG, "{}", stdout(&output));
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn wait_until_ready(stdout: &Path) {
    let start = Instant::now();
    while fs::read_to_string(stdout).unwrap() != "ready\n" {
        assert!(start.elapsed() < LONG, "the program does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The command, which has to end within its own limit and some time on a busy machine.
fn timed(scene: &Scene, arguments: &[&str]) -> Output {
    let start = Instant::now();
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(start.elapsed() < LONG, "{arguments:?}");
    output
}

/// Repeats until the agent is running.
fn status(scene: &Scene, pid: u32) -> Output {
    let start = Instant::now();
    loop {
        let pid = pid.to_string();
        let output = timed(scene, &["control", &pid, "status", "--timeout", "20"]);
        if output.status.success() || start.elapsed() > LONG {
            return output;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_taken_name_costs_the_agent_one_line_and_clients_find_it_all_the_same() {
    if !can_make_containers() {
        return;
    }
    type Take = fn(&Path) -> Option<Trap>;
    let takes: [(&str, Take); 4] = [
        ("socket", |path| Some(Trap::at(path))),
        ("hard link", |path| {
            let first = path.with_file_name("first");
            let trap = Trap::at(&first);
            as_nobody(|| fs::hard_link(&first, path).unwrap());
            Some(trap)
        }),
        ("folder", |path| {
            as_nobody(|| fs::create_dir(path).unwrap());
            None
        }),
        ("link", |path| {
            as_nobody(|| symlink("/etc", path).unwrap());
            None
        }),
    ];
    each_jdk(|jdk| {
        for (name, take) in takes {
            let scene = Scene::new();
            let container = Container::new();
            let _trap = take(&container.at(".hprof_rs_0"));
            let file = container.agent("cpu=samples,file=/tmp/profile.txt");
            let (_jvm, pid) = container.idle(&scene, jdk, &[file]);
            let output = status(&scene, pid);
            let said = container.said();
            let answer = format!("{name}: {} {said}", stderr(&output));
            assert!(output.status.success(), "{answer}");
            assert!(stdout(&output).contains("cpu=samples"), "{answer}");
            let lines: Vec<&str> = said.lines().filter(|it| it.contains("HPROF")).collect();
            assert_eq!(lines.len(), 1, "{answer}");
            assert!(lines[0].contains("/tmp/.hprof_rs_0"), "{answer}");
        }
    });
}

#[test]
fn names_of_older_versions_hold_nobody_up() {
    if !can_make_containers() {
        return;
    }
    each_jdk(|jdk| {
        let container = Container::new();
        let trap = Trap::at(&container.at(".hprof_rs_pid1"));
        let start = Instant::now();
        let mut java = container.java(jdk);
        let arguments: Vec<_> = java.get_args().map(ToOwned::to_owned).collect();
        let (before, class_path) = arguments.split_at(arguments.len() - 2);
        java = Command::new("timeout");
        java.args(["60", "unshare"])
            .args(before)
            .arg(container.agent("cpu=samples,file=/tmp/profile.txt"))
            .args(class_path)
            .arg("Hello");
        let output = java.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(start.elapsed() < LONG);
        assert!(container.at("profile.txt").exists() && !trap.has_caught());
    });
}

#[test]
fn attach_asks_no_foreign_socket_and_keeps_its_time() {
    if !can_make_containers() {
        return;
    }
    each_jdk(|jdk| {
        let scene = Scene::new();
        let container = Container::new();
        let (mut jvm, pid) = container.idle(&scene, jdk, &[]);
        let trap = Trap::at(&container.at(".java_pid1"));
        for arguments in [&["--jcmd", "VM.version"][..], &["cpu=samples"]] {
            let pid = pid.to_string();
            let arguments = [&["attach", &pid, "--timeout", "3"], arguments].concat();
            let output = timed(&scene, &arguments);
            assert_eq!(output.status.code(), Some(1));
            let text = stderr(&output);
            let words = "belongs to another user (id 65534)";
            assert!(
                text.contains(words) && text.contains("/tmp/.java_pid1"),
                "{text}"
            );
            assert_eq!(stdout(&output), "");
        }
        assert!(!trap.has_caught(), "nobody has connected");
        assert!(jvm.0.try_wait().unwrap().is_none(), "the JVM runs on");
    });
}

#[test]
fn a_foreign_answer_is_never_read() {
    if !can_make_containers() {
        return;
    }
    let jdk = Jdk::tested()[0];
    let scene = Scene::new();
    let container = Container::new();
    let (_jvm, pid) = container.idle(&scene, jdk, &[]);
    let path = container.at(".java_pid1");
    let listener = as_nobody(|| {
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        listener
    });
    // As an unwary root would hand it over: the node is ours, the listener is not.
    std::os::unix::fs::lchown(&path, Some(0), None).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let answering = std::thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else {
            return Vec::new();
        };
        let _ = stream.write_all(b"0\n\x1b]0;owned\x07all is well\n");
        let mut got = Vec::new();
        let _ = stream.read_to_end(&mut got);
        got
    });
    let pid = pid.to_string();
    let output = timed(
        &scene,
        &["attach", &pid, "--jcmd", "VM.version", "--timeout", "5"],
    );
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output) + &stderr(&output);
    assert!(text.contains("is not the socket of its JVM"), "{text}");
    assert!(
        !text.contains('\x1b') && !text.contains("all is well"),
        "{text}"
    );
    assert_eq!(answering.join().unwrap(), b"", "nothing was sent to it");
}

/// A container with a root folder of its own in which `/tmp` is a link that leads, for those who
/// follow it outside, into a folder of the host.
fn with_a_root_of_its_own(jdk: &Jdk, root: &Path, victim: &Path, word: &str) -> Jvm {
    let script = r#"
        set -e
        root=$0 victim=$1 classes=$2 home=$3; shift 3
        mount -t tmpfs tmpfs "$root"
        for name in usr lib lib64 bin sbin etc root opt dev; do
            [ -e "/$name" ] || continue
            if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
            else mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"; fi
        done
        mkdir "$root/proc" "$root/classes"; mount -t proc proc "$root/proc"
        mount --bind "$classes" "$root/classes"
        # The runtime may be in any folder: HPROF_RS_CACHE.
        [ -e "$root/$home" ] || { mkdir -p "$root/$home"; mount --bind "$home" "$root/$home"; }
        mkdir -p "$root/$victim"; chmod 1777 "$root/$victim"
        ln -s "$victim" "$root/tmp"
        mkdir -p "$root/var/tmp"
        exec chroot "$root" "$@"
    "#;
    let child = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["sh", "-c", script])
        .args([root, victim, classes()])
        .arg(jdk.home())
        .arg(jdk.home().join("bin/java"))
        .args([
            "-Xmx64m",
            "-XX:-UsePerfData",
            "-cp",
            "/classes",
            "Idle",
            word,
        ])
        .stdout(File::create(root.with_file_name("stdout")).unwrap())
        .spawn()
        .unwrap();
    Jvm(child)
}

#[test]
fn links_in_a_container_do_not_lead_root_out_of_it() {
    if !can_make_containers() {
        return;
    }
    each_jdk(|jdk| {
        let scene = Scene::new();
        let outside = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in("/var/tmp")
            .unwrap();
        let (root, victim) = (outside.path().join("root"), outside.path().join("victim"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&victim).unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o1777)).unwrap();
        let word = outside.path().display().to_string();
        let _jvm = with_a_root_of_its_own(jdk, &root, &victim, &word);
        let pid = wait_for(&scene, &word);
        wait_until_ready(&outside.path().join("stdout"));
        let text = pid.to_string();
        let output = timed(&scene, &["attach", &text, "cpu=samples,file=/tmp/p.txt"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let output = timed(&scene, &["control", &text, "status", "--timeout", "20"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let output = timed(&scene, &["memory", &text, "--json"]);
        let account: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let rows = account["table"]["rows"].as_array().unwrap();
        for kind in ["java_heap", "agent", "thread_stacks"] {
            assert!(rows.iter().any(|row| row["kind"] == kind), "{account:#}");
        }
        let written: Vec<_> = fs::read_dir(&victim).unwrap().collect();
        assert!(
            written.is_empty(),
            "nothing of the host was touched: {written:?}"
        );
        let inside = format!("/proc/{pid}/root{}", victim.display());
        let left: Vec<String> = fs::read_dir(&inside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(left.contains(&".hprof-rs-0".to_owned()), "{left:?}");
        assert!(!left.contains(&".attach_pid1".to_owned()), "{left:?}");
        let library = PathBuf::from(inside).join(".hprof-rs-0");
        let found = fs::symlink_metadata(library).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o777), (0, 0o700));
    });
}
