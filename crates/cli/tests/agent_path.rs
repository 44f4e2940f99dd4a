//! `hprof-rs agent-path` and the smaller sub-commands.

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use support::{Scene, burn, java, run, start, stderr, stdout};

fn agent_path(scene: &Scene) -> PathBuf {
    let output = run(&mut scene.hprof_rs(&["agent-path"]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    PathBuf::from(text.strip_suffix('\n').expect("one line"))
}

#[test]
fn the_library_is_unpacked_once_and_repaired() {
    let scene = Scene::new();
    let path = agent_path(&scene);
    assert!(path.starts_with(scene.cache()));
    let library = fs::read(&path).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    assert_eq!(agent_path(&scene), path);
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    fs::write(&path, &library[..library.len() / 2]).unwrap();
    assert_eq!(agent_path(&scene), path);
    assert!(fs::read(&path).unwrap() == library);
}

#[test]
fn processes_that_start_together_agree() {
    let scene = Scene::new();
    for _ in 0..5 {
        let children: Vec<_> = (0..4)
            .map(|_| start(&mut scene.hprof_rs(&["agent-path"]), ""))
            .collect();
        let outputs: Vec<_> = children
            .into_iter()
            .map(|child| child.wait_with_output().unwrap())
            .collect();
        for output in &outputs {
            assert!(output.status.success(), "{}", stderr(output));
            assert_eq!(output.stdout, outputs[0].stdout);
        }
        let text = stdout(&outputs[0]);
        let path = PathBuf::from(text.trim_end());
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "temporary files are gone");
        fs::remove_dir_all(scene.cache()).unwrap();
    }
}

#[test]
fn a_place_open_to_others_is_passed_over_with_a_word() {
    let scene = Scene::new();
    let open = scene.cache().join("hprof-rs");
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let (runtime, temporary) = (scene.path("runtime"), scene.path("tmp"));
    fs::create_dir(&temporary).unwrap();
    let mut command = scene.hprof_rs(&["agent-path"]);
    command
        .env("XDG_RUNTIME_DIR", &runtime)
        .env("TMPDIR", &temporary);
    let output = run(&mut command, "");
    assert!(output.status.success());
    let text = stderr(&output);
    assert!(
        text.contains(&format!("{} is open to other users", open.display())),
        "{text}"
    );
    // There is no folder of a login session, so the temporary one serves.
    assert!(stdout(&output).starts_with(temporary.to_str().unwrap()));
    fs::remove_dir_all(&temporary).unwrap();
    let output = run(&mut command, "");
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    for part in [
        "there is no place for the agent library",
        open.to_str().unwrap(),
        runtime.to_str().unwrap(),
        temporary.to_str().unwrap(),
        "set XDG_CACHE_HOME",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_copy_in_a_named_folder_profiles() {
    let scene = Scene::new();
    let output = run(
        &mut scene.hprof_rs(&["agent-path", "--dir", "opt/agent"]),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let path = scene.path("opt/agent/libhprof_rs.so");
    assert_eq!(stdout(&output), format!("{}\n", path.display()));
    let mut command = std::process::Command::new(java());
    command
        .current_dir(scene.path(""))
        .arg(format!("-agentpath:{}=cpu=samples", path.display()))
        .args([&burn(), "200", "0"]);
    let output = run(&mut command, "hello");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(scene.profile("java.hprof.txt").contains("CPU SAMPLES END"));
}

#[test]
fn options_are_listed() {
    let scene = Scene::new();
    let output = run(&mut scene.hprof_rs(&["options"]), "");
    let text = stdout(&output);
    assert!(text.contains("engine=auto|signal|walker|safepoint") && !text.contains("precrash"));
    let output = run(&mut scene.hprof_rs(&["options", "--all"]), "");
    assert!(stdout(&output).contains("precrash"));
}

#[test]
fn completion_scripts_name_the_sub_commands() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&mut scene.hprof_rs(&["completions", shell]), "");
        let text = stdout(&output);
        assert!(
            text.contains("agent-path") && text.contains("completions"),
            "{shell}"
        );
    }
}

/// The script of bash, with JVMs that a program in place of the command lists.
#[test]
fn process_ids_are_completed_with_the_names_of_programs() {
    let scene = Scene::new();
    let script = stdout(&run(&mut scene.hprof_rs(&["completions", "bash"]), ""));
    let list = "#!/bin/sh\nprintf '4242\\tOrderService\\n4711\\tShop\\n'\n";
    fs::write(scene.path("list"), list).unwrap();
    fs::set_permissions(scene.path("list"), fs::Permissions::from_mode(0o755)).unwrap();
    let completed = |command: &str, word: &str| {
        let list = scene.path("list");
        let call = format!(
            "COMP_WORDS=({} {command} '{word}'); COMP_CWORD=2; _hprof__rs_jvms hprof-rs '{word}' {command}; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            list.display()
        );
        // An argument has 128 KiB at most.
        fs::write(scene.path("script"), format!("{script}\n{call}")).unwrap();
        let mut bash = std::process::Command::new("bash");
        let output = bash.arg(scene.path("script")).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(
        completed("record", ""),
        "4242  (OrderService)\n4711  (Shop)\n"
    );
    assert_eq!(completed("stacks", "42"), "4242\n");
    assert_eq!(completed("attach", "Sh"), "Shop\n");
    // Other commands take no process ids.
    assert!(!completed("report", "").contains("4242"));
    let none = stdout(&run(&mut scene.hprof_rs(&["completions", "fish"]), ""));
    assert!(none.contains("hprof-rs ps --complete"), "{none}");
}
