//! The attributes of a running program, by the names of OpenTelemetry's semantic conventions.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hprof_server::live::JvmFacts;

use crate::export::Resource;
use crate::jvm::process::Pid;
use crate::jvm::root::Root;

/// Longer files of the kernel about a process are read up to here, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The digits of a container's id.
const ID_DIGITS: usize = 64;

/// Adds what is known of a program that runs, unless the user states it. What the program's own environment states about
/// its telemetry comes first.
pub fn add_program(resource: &mut Resource, facts: &JvmFacts) {
    let pid = Pid(facts.pid.0);
    let environment = read(pid, "environ");
    let variable = |name: &str| variable(&environment, name);
    // The program's own telemetry reports a mistake in it.
    let _ = resource.add_stated(
        variable("OTEL_RESOURCE_ATTRIBUTES"),
        variable("OTEL_SERVICE_NAME"),
    );
    if let Some(service) = service(&facts.name) {
        resource.add("service.name", service);
    }
    let own_host = || {
        rustix::system::uname()
            .nodename()
            .to_str()
            .map(str::to_owned)
    };
    let host = match facts.in_container {
        true => inner_host(pid).or_else(|| variable("HOSTNAME").map(str::to_owned)),
        false => own_host().ok(),
    };
    if let Some(host) = &host {
        resource.add("host.name", host);
    }
    let inner = pid.status().map_or(pid.0, |status| status.inner_pid);
    resource.add("process.pid", &inner.to_string());
    let group = container_of_groups(&read(pid, "cgroup")).map(str::to_owned);
    let container =
        group.or_else(|| container_of_mounts(&read(pid, "mountinfo")).map(str::to_owned));
    if let Some(container) = &container {
        resource.add("container.id", container);
    }
    // Kubernetes names a pod's host after the pod, and sets this variable in each container.
    if variable("KUBERNETES_SERVICE_HOST").is_some()
        && let Some(pod) = variable("HOSTNAME").or(host.as_deref())
    {
        resource.add("k8s.pod.name", pod);
    }
}

/// A file about a process, as far as this user may read it.
fn read(pid: Pid, name: &str) -> String {
    let mut bytes = Vec::new();
    let read = File::open(pid.path(name)).and_then(|it| it.take(MAX_FILE).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

/// The name of the host in a container.
fn inner_host(pid: Pid) -> Option<String> {
    let file = Root::of(pid)
        .ok()?
        .file(Path::new("/etc/hostname"), None)
        .ok()?;
    let mut name = String::new();
    file.take(256).read_to_string(&mut name).ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// A variable of an environment, as the kernel shows it.
fn variable<'a>(environment: &'a str, name: &str) -> Option<&'a str> {
    let mut all = environment.split('\0');
    let value = all.find_map(|it| it.strip_prefix(name)?.strip_prefix('='));
    value.filter(|value| !value.is_empty())
}

/// The service that a program is: its archive without the ending, or its main class.
fn service(program: &str) -> Option<&str> {
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name
        .strip_suffix(".jar")
        .or_else(|| name.strip_suffix(".war"))
        .unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

/// The container's id in a list as `/proc/PID/cgroup` has it, such as `0::/system.slice/docker-ID.scope`.
fn container_of_groups(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let last = line.rsplit('/').next()?;
        let last = last.strip_suffix(".scope").unwrap_or(last);
        let id = last.rsplit(['-', ':']).next()?;
        is_id(id).then_some(id)
    })
}

/// The container's id in a list of mounts (`proc_pid_mountinfo(5)`): container managers mount files of the container's own
/// folder. In a namespace of its own a process sees no groups above it.
fn container_of_mounts(mounts: &str) -> Option<&str> {
    let of_host = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(3);
        let (source, target) = (fields.next()?, fields.next()?);
        (target == "/etc/hostname").then_some(source)
    });
    of_host.into_iter().find_map(|source| {
        let mut parts = source.split('/');
        // containerd has the file in the folder of the pod, whose id is not that of the container.
        parts.find(|part| part.ends_with("containers"))?;
        parts.find(|part| is_id(part))
    })
}

fn is_id(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == ID_DIGITS && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_after_its_program() {
        assert_eq!(service("/opt/shop.jar"), Some("shop"));
        assert_eq!(service("com.acme.Main"), Some("com.acme.Main"));
        assert_eq!(service("acme/com.acme.Main"), Some("com.acme.Main"));
        assert_eq!(service(""), None);
    }

    #[test]
    fn containers_have_ids() {
        let id = "0123456789abcdef".repeat(4);
        for line in [
            format!("0::/system.slice/docker-{id}.scope"),
            format!("12:cpu:/docker/{id}"),
            format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{id}.scope"),
            format!("5:cpu:/kubepods/besteffort/pod1/{id}"),
        ] {
            let all = format!("1:name=systemd:/\n{line}\n");
            assert_eq!(container_of_groups(&all), Some(&*id), "{line}");
        }
        assert_eq!(
            container_of_groups("0::/user.slice/session-1.scope\n"),
            None
        );
        let mount =
            |folder: &str| format!("9 8 0:1 {folder} /etc/hostname rw - ext4 /dev/sda rw\n");
        let docker = mount(&format!("/var/lib/docker/containers/{id}/hostname"));
        assert_eq!(container_of_mounts(&docker), Some(&*id));
        let containerd = mount(&format!("/var/lib/containerd/sandboxes/{id}/hostname"));
        assert_eq!(container_of_mounts(&containerd), None);
    }

    #[test]
    fn variables_are_found_by_their_whole_name() {
        let all = "XHOSTNAME=a\0HOSTNAME=b\0EMPTY=\0";
        assert_eq!(variable(all, "HOSTNAME"), Some("b"));
        assert_eq!(variable(all, "HOST"), None);
        assert_eq!(variable(all, "EMPTY"), None);
    }
}
