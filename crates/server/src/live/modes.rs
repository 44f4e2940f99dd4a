//! The modes of a live recording, and the agent's options for them.

use std::path::Path;

use hprof_wire::control;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest options that a running JVM takes (`AttachOperation::arg_length_max` of HotSpot).
const MAX_OPTIONS: usize = 1024;
/// The longest path of a Unix socket on Linux.
const MAX_SOCKET: usize = 107;
/// The agent's options that a request may add; the server sets the others.
const ALLOWED: [&str; 18] = [
    "interval",
    "depth",
    "thread",
    "lineno",
    "engine",
    "signal",
    "heapinterval",
    "live",
    "lockthreshold",
    "filter",
    "states",
    "cstack",
    "vmthreads",
    "timeline",
    "timelinemax",
    "event",
    "every",
    TIMED,
];
/// The option that times calls of methods.
const TIMED: &str = "slow";
/// The options that a request for calls may add too: they select the methods to count.
const ALLOWED_FOR_CALLS: [&str; 2] = ["include", "exclude"];
/// The option that a request for native memory may add too.
const ALLOWED_FOR_NATIVE: &str = "native";
/// The option that a request for native locks may add too.
const ALLOWED_FOR_NATIVE_LOCK: &str = "nativelock";
/// The option that samples on the wall clock instead of the CPU clock.
const WALL: &str = "cpu=wall";

/// Something that a live recording records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// CPU samples of running threads.
    Cpu,
    /// Samples of all threads on the wall clock, of those that wait too; instead of `cpu`.
    Wall,
    /// Allocations, sampled by bytes.
    Alloc,
    /// Contention for locks.
    Lock,
    /// Every call, with CPU time, instead of samples. The page does not offer it, as it makes the program slow.
    #[serde(skip)]
    Calls,
    /// Memory outside of the heap, sampled by bytes. The page does not offer it.
    #[serde(skip)]
    Native,
    /// Waits for locks of native code. The page does not offer it.
    #[serde(skip)]
    NativeLock,
}

impl Mode {
    /// The modes that requests name.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Wall, Self::Alloc, Self::Lock];

    /// The word in requests.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Alloc => "alloc",
            Self::Lock => "lock",
            Self::Calls => "calls",
            Self::Native => "native",
            Self::NativeLock => "nativelock",
        }
    }

    /// The agent's name for it.
    pub fn of_agent(self) -> control::Mode {
        match self {
            Self::Cpu | Self::Wall | Self::Calls => control::Mode::Cpu,
            Self::Alloc => control::Mode::Sites,
            Self::Lock => control::Mode::Monitor,
            Self::Native => control::Mode::Native,
            Self::NativeLock => control::Mode::NativeLock,
        }
    }

    /// The agent's options that turn it on. One allocation in 512 kB costs next to nothing.
    pub fn options(self) -> &'static str {
        match self {
            Self::Cpu => "cpu=samples",
            Self::Wall => WALL,
            Self::Alloc => "heap=sites,heapinterval=512k,live=estimate",
            Self::Lock => "monitor=y",
            Self::Calls => "cpu=times",
            Self::Native => "native=512k",
            Self::NativeLock => "nativelock=y",
        }
    }

    /// Returns true for modes of which a run of the agent has one at most.
    pub fn is_clock(self) -> bool {
        self.of_agent() == control::Mode::Cpu
    }

    /// The modes that words name, each once.
    ///
    /// # Errors
    /// If there is no such mode, none is named, or two exclude each other, as a sentence.
    pub fn of_words(words: &[String]) -> Result<Vec<Self>, String> {
        let mut modes = Vec::new();
        for word in words {
            let found = Self::ALL.into_iter().find(|mode| mode.word() == word);
            modes.push(found.ok_or("modes: each is one of cpu, wall, alloc, lock")?);
        }
        modes.sort_unstable();
        modes.dedup();
        match modes.iter().filter(|mode| mode.is_clock()).count() {
            _ if modes.is_empty() => {
                Err("modes: name at least one of cpu, wall, alloc, lock".to_owned())
            }
            0 | 1 => Ok(modes),
            _ => Err("modes: cpu and wall are two clocks; name one of them".to_owned()),
        }
    }
}

/// The modes and options of a request, with the wall clock as a mode where the options name it.
pub fn with_clock(modes: Vec<Mode>, options: &str) -> (Vec<Mode>, String) {
    let is_wall = |option: &&str| *option == WALL;
    if !options.split(',').any(|option| is_wall(&option)) {
        return (modes, options.to_owned());
    }
    let rest: Vec<&str> = options.split(',').filter(|it| !is_wall(it)).collect();
    let of_wall = |mode| match mode {
        Mode::Cpu => Mode::Wall,
        mode => mode,
    };
    (modes.into_iter().map(of_wall).collect(), rest.join(","))
}

/// Returns true if the agent's options name methods whose calls it times.
pub fn times_calls(options: &str) -> bool {
    options
        .split(',')
        .filter_map(|option| option.split_once('='))
        .any(|(name, methods)| name == TIMED && !methods.is_empty())
}

/// Refuses extra options that would change more than how is recorded.
///
/// # Errors
/// Then, as a sentence.
pub fn check_options(extra: &str, modes: &[Mode]) -> Result<(), String> {
    let mut allowed = ALLOWED.to_vec();
    if modes.contains(&Mode::Calls) {
        allowed.extend(ALLOWED_FOR_CALLS);
    }
    if modes.contains(&Mode::Native) {
        allowed.push(ALLOWED_FOR_NATIVE);
    }
    if modes.contains(&Mode::NativeLock) {
        allowed.push(ALLOWED_FOR_NATIVE_LOCK);
    }
    for option in extra.split(',').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        // Names of threads and of methods, too.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:*#$".contains(&byte);
        let is_known = allowed.contains(&name) || option == WALL;
        if !is_known || !value.bytes().all(is_plain) {
            return Err(format!(
                "options: a live recording takes {WALL}, {}, each with a plain value",
                allowed.join(", ")
            ));
        }
    }
    Ok(())
}

/// When the agent came into the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// While it runs. The server takes what was counted before it takes the agent out.
    Attached,
    /// With it. At the end of the program the agent writes what it has counted since the last look.
    Launched,
}

/// The agent's options for a recording into a socket. No folder of the program gets a file.
///
/// # Errors
/// If an extra option is not allowed, or all are too long, as a sentence.
pub fn agent_options(
    modes: &[Mode],
    extra: &str,
    socket: &Path,
    begin: Begin,
) -> Result<String, String> {
    let socket = socket.to_str().filter(|path| !path.contains(','));
    let socket = socket.ok_or("the server's folder must have a name in UTF-8 without commas")?;
    if socket.len() > MAX_SOCKET {
        return Err(format!(
            "{socket} is too long for the name of a socket; start the server with a shorter --folder"
        ));
    }
    check_options(extra, modes)?;
    let mut options: Vec<&str> = modes.iter().map(|mode| mode.options()).collect();
    options.push("thread=y,depth=64,cutoff=0");
    options.extend(extra.split(',').filter(|option| !option.is_empty()));
    let at_exit = match begin {
        Begin::Attached => "n",
        Begin::Launched => "y",
    };
    let net = format!("doe={at_exit},verbose=n,lost=detach,net=unix:{socket}");
    options.push(&net);
    let options = options.join(",");
    match options.len() > MAX_OPTIONS {
        true => Err(format!(
            "a running JVM takes at most {MAX_OPTIONS} bytes of options"
        )),
        false => Ok(options),
    }
}

/// The options with those by which samples keep their times, unless they say otherwise: a profile that is kept shows them.
pub fn with_times(modes: &[Mode], options: String) -> String {
    let samples = |mode: &Mode| matches!(mode, Mode::Cpu | Mode::Wall);
    let says = |option: &str| option.starts_with("timeline=");
    match !modes.iter().any(samples) || options.split(',').any(says) {
        true => options,
        false if options.is_empty() => "timeline=y".to_owned(),
        false => format!("{options},timeline=y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Result<Vec<Mode>, String> {
        Mode::of_words(&words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn samples_keep_their_times_unless_options_say_otherwise() {
        let of = |modes: &[Mode], options: &str| with_times(modes, options.to_owned());
        assert_eq!(of(&[Mode::Cpu, Mode::Lock], ""), "timeline=y");
        assert_eq!(of(&[Mode::Wall], "depth=9"), "depth=9,timeline=y");
        assert_eq!(of(&[Mode::Cpu], "timeline=n"), "timeline=n");
        assert_eq!(of(&[Mode::Alloc], ""), "");
    }

    #[test]
    fn modes_are_words() {
        assert_eq!(
            words(&["lock", "cpu", "cpu"]),
            Ok(vec![Mode::Cpu, Mode::Lock])
        );
        assert_eq!(words(&["wall"]), Ok(vec![Mode::Wall]));
        assert!(words(&["wall", "cpu"]).unwrap_err().contains("two clocks"));
        assert!(words(&[]).is_err() && words(&["heap"]).is_err());
    }

    #[test]
    fn the_wall_clock_is_a_mode_wherever_it_is_named() {
        let of = |options| with_clock(vec![Mode::Cpu, Mode::Lock], options);
        assert_eq!(
            of("depth=8"),
            (vec![Mode::Cpu, Mode::Lock], "depth=8".to_owned())
        );
        assert_eq!(
            of("cpu=wall,depth=8"),
            (vec![Mode::Wall, Mode::Lock], "depth=8".to_owned())
        );
        let socket = Path::new("/srv/live/1.sock");
        let options = agent_options(&[Mode::Wall], "", socket, Begin::Attached).unwrap();
        assert!(options.starts_with("cpu=wall,thread=y,"), "{options}");
    }

    #[test]
    fn a_request_cannot_change_where_the_profile_goes() {
        let socket = Path::new("/srv/live/1.sock");
        let options =
            agent_options(&[Mode::Cpu], "interval=1,depth=16", socket, Begin::Attached).unwrap();
        assert_eq!(
            options,
            "cpu=samples,thread=y,depth=64,cutoff=0,interval=1,depth=16,doe=n,verbose=n,\
             lost=detach,net=unix:/srv/live/1.sock"
        );
        for good in ["cpu=wall", "cpu=wall,filter=http-*:main,states=n", ""] {
            let options = agent_options(&[Mode::Cpu], good, socket, Begin::Attached);
            assert!(options.is_ok(), "{good}");
        }
        let options = agent_options(&[Mode::Cpu], "cpu=wall,", socket, Begin::Attached).unwrap();
        assert!(options.contains(",cpu=wall,doe=n,"), "{options}");
        let calls = [Mode::Calls, Mode::Lock];
        let options = agent_options(&calls, "include=shop.*", socket, Begin::Attached).unwrap();
        assert!(options.starts_with("cpu=times,monitor=y,"), "{options}");
        let native = agent_options(&[Mode::Native], "native=64k", socket, Begin::Attached).unwrap();
        assert!(native.starts_with("native=512k,"), "{native}");
        assert!(native.contains(",native=64k,"), "{native}");
        for bad in [
            "cpu=times",
            "native=64k",
            "include=shop",
            "filter=/x",
            "file=/etc/passwd",
            "net=evil:1",
            "doe=y",
            "depth=1 file=x",
            "heap=dump",
            "depth=a/b",
        ] {
            assert!(
                agent_options(&[Mode::Cpu], bad, socket, Begin::Attached).is_err(),
                "{bad}"
            );
        }
        let long = format!("/{}", "x".repeat(200));
        let refused =
            agent_options(&[Mode::Cpu], "", Path::new(&long), Begin::Attached).unwrap_err();
        assert!(refused.contains("--folder"), "{refused}");
    }
}
