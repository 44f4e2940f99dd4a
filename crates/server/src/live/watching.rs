//! Agents that stream to the server, watched while they do.

use std::sync::Arc;
use std::time::Duration;

use super::link::{JvmId, SenderLink};
use super::machine::{JvmFacts, Pid, Refused, RefusedKind};
use super::modes::Mode;
use super::network::{Ask, Sender};
use super::recorder::Recorder;
use super::recording::Recording;
use super::{Live, Reserved};

/// How long an agent may take to write a heap dump into its stream.
const DUMP: Duration = Duration::from_secs(60 * 60);

impl Sender {
    /// The modes that its stream can show while it grows.
    pub fn modes(&self) -> Vec<Mode> {
        let has = |word: &str| self.options.split(',').any(|option| option == word);
        let all = [
            (Mode::Cpu, has("cpu=samples")),
            (Mode::Wall, has("cpu=wall")),
            (Mode::Alloc, has("heap=sites")),
            (Mode::Lock, has("monitor=y")),
        ];
        all.into_iter()
            .filter_map(|(mode, on)| on.then_some(mode))
            .collect()
    }

    /// Why it cannot be watched, if so.
    pub fn refusal(&self) -> Option<String> {
        let why = if !self.is_ours {
            "its agent is of another maker, and takes no requests".to_owned()
        } else if self.is_binary {
            "its profile is binary (format=b), and shows when the stream ends or is dumped; start \
             the program with format=a to watch it"
                .to_owned()
        } else if self.modes().is_empty() {
            "it records none of cpu=samples, cpu=wall, heap=sites and monitor=y; start the program with one \
             of them to watch it"
                .to_owned()
        } else {
            return None;
        };
        Some(why)
    }

    fn facts(&self) -> JvmFacts {
        JvmFacts {
            pid: Pid(self.pid.unwrap_or(0)),
            began: 0,
            name: self.name.clone(),
            version: None,
            user: String::new(),
            uptime: Some(self.seconds),
            resident: 0,
            refusal: None,
            apart: None,
            has_agent: true,
            in_container: false,
        }
    }
}

impl Live {
    /// An agent that is connected.
    ///
    /// # Errors
    /// If there is none of that number.
    pub fn sender(&self, number: u32) -> Result<Sender, Refused> {
        let senders = self.network.iter().flat_map(|network| network.senders());
        let mut found = senders.filter(|sender| sender.number == number);
        found.next().ok_or_else(|| {
            Refused::new(
                RefusedKind::Missing,
                format!("the agent n{number} is not connected any more"),
            )
        })
    }

    /// Watches an agent: shows what it records while it streams it. Blocks.
    pub(super) fn watch(&self, number: u32, modes: &[Mode], options: &str) -> Result<(), Refused> {
        let id = JvmId::Sender(number);
        let sender = self.sender(number)?;
        let refused = |text: String| Refused::new(RefusedKind::Refused, text);
        if let Some(why) = sender.refusal() {
            return Err(refused(why));
        }
        if !options.is_empty() {
            return Err(refused(
                "options of this agent come from its program's command line".to_owned(),
            ));
        }
        let has = sender.modes();
        if let Some(mode) = modes.iter().find(|mode| !has.contains(mode)) {
            return Err(refused(format!(
                "the agent was started without {}; there is: {}",
                mode.options().split(',').next().unwrap_or_default(),
                has.iter()
                    .map(|it| it.word())
                    .collect::<Vec<_>>()
                    .join(", ")
            )));
        }
        if let Some(recording) = self.recording(id)
            && recording.is_live()
        {
            return self.start(&recording, modes);
        }
        let _attaching: Reserved<'_> = self.reserve(id)?;
        let Some(network) = self.network.clone() else {
            return Err(refused("the server takes no streams of agents".to_owned()));
        };
        let mut link = SenderLink {
            number,
            network,
            read: 0,
        };
        let recording = Arc::new(Recording::new(id, sender.facts(), &has));
        // Names and stacks that the stream has already.
        match link.take() {
            Ok(text) => recording.begin(&text),
            Err(_) => {
                return Err(refused(
                    "its stream is too long to begin to watch it now; see it when it ends"
                        .to_owned(),
                ));
            }
        }
        self.record(
            &recording,
            Recorder::new(&recording, Box::new(link), &self.events),
        )
    }

    /// Has an agent write a heap dump into its stream. Blocks.
    pub(super) fn dump_sender(&self, number: u32) -> Result<(), Refused> {
        let Some(network) = &self.network else {
            return Err(Refused::new(RefusedKind::Missing, "there are no agents"));
        };
        network.ask(number, &Ask::Heap, DUMP).map(drop)
    }
}
