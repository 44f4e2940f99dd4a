//! The second pass: copies records and empties what they hold.

use std::io::{self, Read, Write};

use hprof_format::binary::{BasicType, fixed_length, tags};
use hprof_format::ids::{ObjectId, StringId};
use hprof_format::reader::FileHeader;
use rustc_hash::FxHashMap;

use super::names::Fate;
use super::redact::blank::MARGIN;
use super::shapes::number;
use super::{StripError, StripPlan, Stripped};

/// How much is copied at once.
const CHUNK: usize = 64 << 10;
/// How much is searched for secrets at once, more than twice [`MARGIN`].
const REDACTED: u64 = 1 << 20;
/// The bytes of a record's head: tag, time, length.
const RECORD_HEAD: usize = 9;
/// The largest record of unknown kind, in bytes; longer ones are damage.
const MAX_UNKNOWN: u64 = 256 << 10;

/// Why copying ends before the end of the file.
enum Stop {
    Error(StripError),
    /// The file ends in the middle of something.
    Cut,
    /// The next bytes are no record.
    Damage,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut,
            _ => Self::Error(error.into()),
        }
    }
}

pub(super) struct Copy<'p, R, W> {
    plan: &'p StripPlan<'p>,
    input: R,
    output: W,
    id: usize,
    /// The byte of the file that is read next.
    at: u64,
    done: Stripped,
    chunk: Vec<u8>,
    /// The result of `plan.values` for each class of which instances were seen.
    values: FxHashMap<ObjectId, Vec<(usize, usize)>>,
}

impl<'p, R: Read, W: Write> Copy<'p, R, W> {
    pub fn new(plan: &'p StripPlan<'p>, input: R, output: W) -> Self {
        Self {
            plan,
            input,
            output,
            id: plan.id_size().bytes(),
            at: 0,
            done: Stripped::default(),
            chunk: vec![0; CHUNK],
            values: FxHashMap::default(),
        }
    }

    pub fn run(mut self) -> Result<Stripped, StripError> {
        let ended = self.file();
        self.output.flush()?;
        self.done.bytes = self.at;
        match ended {
            Ok(()) => Ok(self.done),
            Err(Stop::Error(error)) => Err(error),
            Err(stop) => {
                self.done.ends_at = Some(self.at);
                self.done.is_damaged = matches!(stop, Stop::Damage);
                Ok(self.done)
            }
        }
    }

    fn file(&mut self) -> Result<(), Stop> {
        self.copy(FileHeader::LENGTH as u64)?;
        let mut head = [0; RECORD_HEAD];
        loop {
            match self.input.read(&mut head[..1])? {
                0 => return Ok(()),
                _ => self.input.read_exact(&mut head[1..])?,
            }
            let (tag, length) = (head[0], number(&head[5..]));
            if head == [0; RECORD_HEAD] || !is_known(tag) && length > MAX_UNKNOWN {
                // No record begins like this.
                return Err(Stop::Damage);
            }
            if !is_known(tag) {
                self.unknown(head, length)?;
                continue;
            }
            if tag == tags::record::UTF8 {
                self.string(head, length)?;
                continue;
            }
            self.write(&head)?;
            match tag {
                tags::record::HEAP_DUMP | tags::record::HEAP_DUMP_SEGMENT => self.heap(length)?,
                _ => self.copy(length)?,
            }
        }
    }

    /// The contents of such a record are unknown, so its head is all that is copied.
    fn unknown(&mut self, mut head: [u8; RECORD_HEAD], length: u64) -> Result<(), Stop> {
        let passed = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
        if passed < length {
            return Err(Stop::Cut);
        }
        head[5..].fill(0);
        self.output.write_all(&head)?;
        self.at += RECORD_HEAD as u64 + length;
        self.done.unknown += 1;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.output.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn copy(&mut self, length: u64) -> Result<(), Stop> {
        self.transfer(length, false)
    }

    /// Writes zeros in place of what comes.
    fn empty(&mut self, length: u64) -> Result<(), Stop> {
        self.transfer(length, true)
    }

    fn transfer(&mut self, length: u64, empties: bool) -> Result<(), Stop> {
        let mut left = length;
        while left > 0 {
            let most = left.min(CHUNK as u64) as usize;
            let found = match self.input.read(&mut self.chunk[..most]) {
                Ok(0) => return Err(Stop::Cut),
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let chunk = &mut self.chunk[..found];
            if empties {
                self.done.emptied += chunk.iter().filter(|&&byte| byte != 0).count() as u64;
                chunk.fill(0);
            }
            self.output.write_all(chunk)?;
            self.at += found as u64;
            left -= found as u64;
        }
        Ok(())
    }

    /// Copies an array (`is_array`) or a string outside of the heap, without the secrets that are known.
    fn redacted(&mut self, is_array: bool, id: u64, length: u64) -> Result<(), Stop> {
        let plan = self.plan;
        let Some(secrets) = plan.secrets() else {
            return self.copy(length);
        };
        // Bytes are written when those that come after them, as far as they matter, are there too; those
        // that came before them are held for the same reason.
        let (mut held, mut held_at, mut written, mut left) = (Vec::new(), 0, 0, length);
        while left > 0 {
            let more = left.min(REDACTED) as usize;
            let start = held.len();
            held.resize(start + more, 0);
            self.input.read_exact(&mut held[start..])?;
            left -= more as u64;
            let mut clean = held.clone();
            secrets.redact(is_array, id, held_at, &mut clean);
            let end = held.len() - if left > 0 { MARGIN } else { 0 };
            let span = (written - held_at) as usize..end;
            let changed = held[span.clone()].iter().zip(&clean[span.clone()]);
            self.done.redacted += changed.filter(|(old, new)| old != new).count() as u64;
            self.write(&clean[span])?;
            written = held_at + end as u64;
            let passed = end.saturating_sub(MARGIN);
            held.drain(..passed);
            held_at += passed as u64;
        }
        Ok(())
    }

    /// A string: names stay, threads get numbers, of others every byte becomes an asterisk, since zeros are no text.
    fn string(&mut self, mut head: [u8; RECORD_HEAD], length: u64) -> Result<(), Stop> {
        let rest = length.checked_sub(self.id as u64);
        let Some(rest) = rest else {
            self.write(&head)?;
            return Err(Stop::Damage);
        };
        let mut id = [0; 8];
        if let Err(error) = self.input.read_exact(&mut id[..self.id]) {
            self.write(&head)?;
            return Err(error.into());
        }
        let id = id[..self.id].to_vec();
        let text = StringId::new(number(&id));
        let plan = self.plan;
        let fate = match plan.is_name(text) {
            true => None,
            false => Some(plan.fate(text)),
        };
        if let Some(Fate::Becomes(other)) = fate {
            let passed = io::copy(&mut self.input.by_ref().take(rest), &mut io::sink())?;
            let length = (self.id + other.len()) as u32;
            head[5..].copy_from_slice(&length.to_be_bytes());
            for bytes in [&head, &*id, other.as_bytes()] {
                self.output.write_all(bytes)?;
            }
            self.at += (RECORD_HEAD + self.id) as u64 + passed;
            self.done.numbered += 1;
            return if passed < rest {
                Err(Stop::Cut)
            } else {
                Ok(())
            };
        }
        self.write(&head)?;
        self.write(&id)?;
        match fate {
            None => return self.copy(rest),
            Some(Fate::Stays) => return self.redacted(false, text.get(), rest),
            Some(_) => {}
        }
        self.done.texts += u64::from(rest > 0);
        let mut left = rest;
        while left > 0 {
            let most = left.min(CHUNK as u64) as usize;
            self.input.read_exact(&mut self.chunk[..most])?;
            let text = vec![b'*'; most];
            self.write(&text)?;
            left -= most as u64;
        }
        Ok(())
    }

    fn heap(&mut self, length: u64) -> Result<(), Stop> {
        // A dump that states no length may reach to the end of the file, if its writer died.
        let end = self.at + length;
        while self.at < end {
            self.sub_record()?;
        }
        match self.at == end {
            true => Ok(()),
            false => Err(Stop::Damage),
        }
    }

    /// Reads the first bytes of something, which are written as they are.
    fn head<const N: usize>(&mut self, length: usize) -> Result<[u8; N], Stop> {
        let mut head = [0; N];
        self.input.read_exact(&mut head[..length])?;
        self.write(&head[..length])?;
        Ok(head)
    }

    fn sub_record(&mut self) -> Result<(), Stop> {
        use tags::heap as tag;
        let id = self.id;
        let offset = self.at;
        let mut kind = [0];
        self.input.read_exact(&mut kind)?;
        let rest = fixed_length(kind[0], self.plan.id_size()).ok_or(Stop::Damage)?;
        self.write(&kind)?;
        match kind[0] {
            tag::INSTANCE_DUMP => {
                let head = self.head::<24>(rest)?;
                let class = ObjectId::new(number(&head[id + 4..][..id]));
                let length = number(&head[2 * id + 4..][..4]);
                self.instance(offset, class, length)
            }
            tag::OBJECT_ARRAY_DUMP => {
                let head = self.head::<24>(rest)?;
                self.copy(number(&head[id + 4..][..4]) * id as u64)
            }
            tag::PRIMITIVE_ARRAY_DUMP => {
                let head = self.head::<24>(rest)?;
                let element = BasicType::from_code(head[id + 8]).ok_or(Stop::Damage)?;
                let width = element.width(self.plan.id_size()) as u64;
                let length = number(&head[id + 4..][..4]) * width;
                let array = number(&head[..id]);
                match self.plan.keeps_array(array) {
                    true => self.redacted(true, array, length),
                    false => self.empty(length),
                }
            }
            tag::CLASS_DUMP => self.class(),
            _ => self.copy(rest as u64),
        }
    }

    fn instance(&mut self, offset: u64, class: ObjectId, length: u64) -> Result<(), Stop> {
        if !self.plan.may_empty_fields() {
            return self.copy(length);
        }
        let values = match self.values.get(&class) {
            Some(values) => values.clone(),
            None => {
                let values = self.plan.values(class);
                let unknown = || Stop::Error(StripError::UnknownClass { offset });
                let values = values.ok_or_else(unknown)?;
                self.values.insert(class, values.clone());
                values
            }
        };
        let mut at = 0;
        for (start, width) in values {
            let (start, end) = (start as u64, (start + width) as u64);
            // An instance may be shorter than its class says only if one of them is damaged.
            if end > length {
                return Err(Stop::Damage);
            }
            self.copy(start - at)?;
            self.empty(end - start)?;
            at = end;
        }
        self.copy(length - at)
    }

    fn class(&mut self) -> Result<(), Stop> {
        let id = self.id;
        let head = self.head::<8>(id)?;
        let class = ObjectId::new(number(&head[..id]));
        self.copy((8 + 6 * id) as u64)?;
        for (start, has_value) in [(2, true), (id, true), (id, false)] {
            let count = self.head::<2>(2)?;
            for _ in 0..number(&count) {
                let head = self.head::<9>(start + 1)?;
                let kind = BasicType::from_code(head[start]).ok_or(Stop::Damage)?;
                if has_value {
                    let name = StringId::new(number(&head[..start]));
                    let is_emptied = match start == id {
                        true => self.plan.empties_static(class, name),
                        false => self.plan.empties_constants(),
                    };
                    self.value(kind, is_emptied)?;
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, kind: BasicType, is_emptied: bool) -> Result<(), Stop> {
        let width = kind.width(self.plan.id_size()) as u64;
        match is_emptied && kind != BasicType::Object {
            true => self.empty(width),
            false => self.copy(width),
        }
    }
}

/// True for the records that are known to hold nothing of the program's.
fn is_known(tag: u8) -> bool {
    use tags::record as known;
    matches!(
        tag,
        known::UTF8
            | known::LOAD_CLASS
            | known::UNLOAD_CLASS
            | known::FRAME
            | known::TRACE
            | known::ALLOC_SITES
            | known::HEAP_SUMMARY
            | known::START_THREAD
            | known::END_THREAD
            | known::HEAP_DUMP
            | known::CPU_SAMPLES
            | known::CONTROL_SETTINGS
            | known::HEAP_DUMP_SEGMENT
            | known::HEAP_DUMP_END
    )
}
