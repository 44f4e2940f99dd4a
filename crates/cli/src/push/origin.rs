//! The attributes of a running program, by the names of OpenTelemetry's semantic conventions.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hprof_server::live::JvmFacts;
use hprof_stacks::pictures::otlp::{container_of_groups, container_of_mounts, service_of};

use crate::export::Resource;
use crate::jvm::process::Pid;
use crate::jvm::root::Root;

/// Longer files of the kernel about a process are read up to here, in bytes.
const MAX_FILE: u64 = 1 << 20;

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
    if let Some(service) = service_of(&facts.name) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_by_their_whole_name() {
        let all = "XHOSTNAME=a\0HOSTNAME=b\0EMPTY=\0";
        assert_eq!(variable(all, "HOSTNAME"), Some("b"));
        assert_eq!(variable(all, "HOST"), None);
        assert_eq!(variable(all, "EMPTY"), None);
    }
}
