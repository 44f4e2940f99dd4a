//! The text format.

use super::Cut;

/// The bytes of a line that are looked at.
const KEPT: usize = 1024;

/// A section with a beginning and an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// `CPU SAMPLES`.
    CpuSamples,
    /// `CPU TIME (ms)`.
    CpuTime,
    /// `SITES`.
    Sites,
    /// `HEAP DUMP`.
    HeapDump,
    /// `MONITOR DUMP`.
    MonitorDump,
    /// `MONITOR TIME`.
    MonitorTime,
}

impl Section {
    const ALL: [Self; 6] = [
        Self::CpuSamples,
        Self::CpuTime,
        Self::Sites,
        Self::HeapDump,
        Self::MonitorDump,
        Self::MonitorTime,
    ];

    /// Its title in the profile.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::CpuSamples => "CPU SAMPLES",
            Self::CpuTime => "CPU TIME (ms)",
            Self::Sites => "SITES",
            Self::HeapDump => "HEAP DUMP",
            Self::MonitorDump => "MONITOR DUMP",
            Self::MonitorTime => "MONITOR TIME",
        }
    }
}

/// A part of a text profile that has come in as a whole.
#[derive(Debug, PartialEq, Eq)]
pub enum TextPart<'a> {
    /// A remark, without the `# ` before it.
    Remark(&'a [u8]),
    /// The first line of a section.
    Begin(Section, &'a [u8]),
    /// The end of a section.
    End(Section),
    /// The first line of a trace.
    Trace,
    /// A thread started.
    ThreadStart,
}

/// Splits a text profile into lines.
#[derive(Debug, Default)]
pub struct TextSplitter {
    /// The beginning of a line that came in part.
    line: Vec<u8>,
    /// The bytes that were pushed.
    offset: u64,
    /// The bytes up to the end of the last whole line.
    whole: u64,
    open: Option<Section>,
    lines: u64,
}

impl TextSplitter {
    /// At the start of a file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes that were pushed.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes up to the end of the last whole line.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// The lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Takes the next bytes, and shows what they complete.
    pub fn push(&mut self, mut bytes: &[u8], mut show: impl FnMut(TextPart<'_>)) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.line.is_empty() {
                self.take(&line[..line.len().min(KEPT)], &mut show);
            } else {
                self.keep(line);
                let mut line = std::mem::take(&mut self.line);
                self.take(&line, &mut show);
                line.clear();
                self.line = line;
            }
            self.offset += end as u64 + 1;
            self.whole = self.offset;
            self.lines += 1;
            bytes = rest;
        }
        self.keep(bytes);
        self.offset += bytes.len() as u64;
    }

    /// The repair if the stream ends here; `None` if the file is complete.
    #[must_use]
    pub fn end(&self) -> Option<Cut> {
        if self.whole == self.offset && self.open.is_none() {
            return None;
        }
        let mut append = Vec::new();
        if let Some(section) = self.open {
            append.extend(section.title().as_bytes());
            append.extend(b" END\n");
        }
        Some(Cut {
            keep: self.whole,
            patch: None,
            append,
        })
    }

    fn keep(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(KEPT - self.line.len().min(KEPT));
        self.line.extend_from_slice(&bytes[..kept]);
    }

    fn take(&mut self, line: &[u8], show: &mut impl FnMut(TextPart<'_>)) {
        match line.first() {
            Some(b'#') => {
                let text = line.strip_prefix(b"# ").unwrap_or(&line[1..]);
                show(TextPart::Remark(text));
            }
            Some(b'T') if line.starts_with(b"TRACE ") => show(TextPart::Trace),
            Some(b'T') if line.starts_with(b"THREAD START") => show(TextPart::ThreadStart),
            Some(b'C' | b'S' | b'H' | b'M') => {
                let found = Section::ALL.into_iter().find_map(|section| {
                    let rest = line.strip_prefix(section.title().as_bytes())?;
                    Some((section, rest))
                });
                match found {
                    Some((section, rest)) if rest.starts_with(b" BEGIN") => {
                        self.open = Some(section);
                        show(TextPart::Begin(section, line));
                    }
                    Some((section, b" END")) => {
                        self.open = None;
                        show(TextPart::End(section));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
