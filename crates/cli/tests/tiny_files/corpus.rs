//! Files below 64 kB that ask for more than they give, the same in each run.

#[path = "recording.rs"]
mod recording;

use std::io::Write;

use hprof_format::reader::FileHeader;

use recording::recording;

/// The largest file.
const MAX_BYTES: usize = 64_000;
/// The largest size of a compressed file's contents, in bytes.
const UNPACKED: usize = 24 << 20;
/// The largest recording that is made for a file, in bytes.
const RECORDED: usize = 1 << 20;

/// A generator of numbers that are the same in each run (Marsaglia, "Xorshift RNGs").
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn id(&mut self) -> u64 {
        match self.below(4) {
            0 => 0,
            1 => 8 * self.below(500) as u64,
            2 => 0x7_0000_0000 + 8 * self.below(1 << 20) as u64,
            _ => self.0,
        }
    }
}

/// A file and whether it is compressed.
pub struct Hostile {
    pub name: String,
    pub bytes: Vec<u8>,
    pub is_packed: bool,
}

/// The file with a number.
pub fn file(number: usize) -> Hostile {
    let numbers = &mut Numbers::new(number as u64 + 1);
    let (kind, packing) = (number % 13, number / 13 % 8);
    // Half of all are as they are; the others hold far more.
    let is_packed = packing >= 4;
    let most = if is_packed {
        1 << (16 + numbers.below(9))
    } else {
        1000 + numbers.below(MAX_BYTES - 1000)
    };
    let plain = content(kind, most.min(UNPACKED), numbers);
    let (ending, bytes) = match packing {
        0..=3 => ("", plain),
        4 | 5 => (".gz", gzip(&plain)),
        6 => (".zip", zip(&plain)),
        _ => (".zst", zstd(&plain, numbers)),
    };
    Hostile {
        name: format!("{number}-{kind}{ending}"),
        // What does not fit is cut, as a hostile file may be, too.
        bytes: bytes[..bytes.len().min(MAX_BYTES)].to_vec(),
        is_packed,
    }
}

fn content(kind: usize, most: usize, numbers: &mut Numbers) -> Vec<u8> {
    match kind {
        0 => repeat(
            most,
            header(numbers),
            &mut |out, numbers| {
                // Dumps with nothing in them, or hardly anything.
                let root = [&[5][..], &numbers.id().to_be_bytes()].concat();
                let body = if numbers.below(2) == 0 {
                    &root[..]
                } else {
                    &[]
                };
                record(out, 0x1c, body);
                if numbers.below(3) > 0 {
                    record(out, 0x2c, &[]);
                }
            },
            numbers,
        ),
        1 => frames(most, numbers),
        2 => repeat(
            most,
            names(header(numbers)),
            &mut |out, numbers| {
                let frames = numbers.below(4) as u32;
                let mut body = words(&[
                    numbers.below(1 << 20) as u32,
                    numbers.below(9) as u32,
                    frames,
                ]);
                (0..frames).for_each(|_| body.extend(1u64.to_be_bytes()));
                record(out, 5, &body);
                record(out, 0x0d, &words(&[7, 1, 3, numbers.below(1 << 20) as u32]));
            },
            numbers,
        ),
        3 => repeat(
            most,
            names(header(numbers)),
            &mut |out, numbers| {
                let tag = [1, 2, 3, 4, 6, 7, 10, 11, 13, 14, 0x44][numbers.below(11)];
                let body: Vec<u8> = (0..numbers.below(60))
                    .map(|_| numbers.below(4) as u8)
                    .collect();
                record(out, tag, &body);
            },
            numbers,
        ),
        4 => heap(most, numbers, false),
        5 => heap(most, numbers, true),
        6 => mangled(most, numbers),
        7 => lines(most, numbers),
        8 => {
            // A table of which the file states nothing true.
            let mut out = names(header(numbers));
            let rows = (most / 8).saturating_sub(40) as u32;
            let mut body = words(&[u32::MAX, rows]);
            (0..rows).for_each(|row| body.extend(words(&[1, row])));
            record(&mut out, 0x0d, &body);
            out
        }
        9 => repeat(
            most,
            header(numbers),
            &mut |out, numbers| {
                // Arrays and instances longer than the file.
                let mut body = vec![[0x21, 0x22, 0x23][numbers.below(3)]];
                body.extend(numbers.id().to_be_bytes());
                body.extend(words(&[0, u32::MAX >> numbers.below(32)]));
                body.extend(numbers.id().to_be_bytes());
                record(out, 0x1c, &body);
            },
            numbers,
        ),
        10 => one_line(most, numbers),
        11 => recording(most.min(RECORDED), numbers),
        _ => repeat(
            most,
            header(numbers),
            &mut |out, numbers| {
                // Android's heaps without end, and threads.
                let mut body = vec![0xfe];
                body.extend(words(&[numbers.below(1 << 30) as u32]));
                body.extend(numbers.id().to_be_bytes());
                body.push(8);
                body.extend(numbers.id().to_be_bytes());
                body.extend(words(&[numbers.below(1 << 30) as u32, 1]));
                record(out, 0x1c, &body);
            },
            numbers,
        ),
    }
}

fn header(numbers: &mut Numbers) -> Vec<u8> {
    let version = [&b"1.0.1"[..], b"1.0.2", b"1.0.3"][numbers.below(3)];
    let mut out = [b"JAVA PROFILE ", version, &[0]].concat();
    out.extend(words(&[8, 0, 0]));
    assert_eq!(out.len(), FileHeader::LENGTH);
    out
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn record(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    out.extend(words(&[0, body.len() as u32]));
    out.extend(body);
}

/// A string, a class and a frame, of identifier 1.
fn names(mut out: Vec<u8>) -> Vec<u8> {
    let one = 1u64.to_be_bytes();
    record(&mut out, 1, &[&one[..], b"name"].concat());
    record(
        &mut out,
        2,
        &[&words(&[1])[..], &one, &words(&[0]), &one].concat(),
    );
    record(
        &mut out,
        4,
        &[&one[..], &one, &one, &one, &words(&[1, 7])].concat(),
    );
    out
}

fn repeat(
    most: usize,
    mut out: Vec<u8>,
    next: &mut dyn FnMut(&mut Vec<u8>, &mut Numbers),
    numbers: &mut Numbers,
) -> Vec<u8> {
    while out.len() < most {
        next(&mut out, numbers);
    }
    out
}

/// One trace of many frames: of one again and again, or of ones that are not there.
fn frames(most: usize, numbers: &mut Numbers) -> Vec<u8> {
    let mut out = names(header(numbers));
    let count = (most / 8).saturating_sub(30) as u32;
    let is_one = numbers.below(2) == 0;
    let mut body = words(&[1, 1, count]);
    for frame in 0..u64::from(count) {
        body.extend(if is_one { 1 } else { frame }.to_be_bytes());
    }
    record(&mut out, 5, &body);
    record(&mut out, 0x0d, &words(&[9, 1, 9, 1]));
    out
}

/// A heap: classes above classes, wide ones, objects of them, arrays, roots.
fn heap(most: usize, numbers: &mut Numbers, is_chain: bool) -> Vec<u8> {
    let mut out = names(header(numbers));
    let mut body = Vec::new();
    let classes = 1 + numbers.below(40) as u64;
    for class in 1..=classes {
        body.push(0x20);
        body.extend((8 * class).to_be_bytes());
        body.extend(words(&[0]));
        // Some go in circles.
        let above = if numbers.below(9) == 0 {
            classes
        } else {
            class - 1
        };
        body.extend((8 * above).to_be_bytes());
        body.extend([0; 40]);
        body.extend(words(&[16]));
        body.extend([0; 4]);
        let fields = numbers.below(most / 400 + 2).min(60_000) as u16;
        body.extend(fields.to_be_bytes());
        for _ in 0..fields {
            body.extend(1u64.to_be_bytes());
            body.push([2, 10, 8][numbers.below(3)]);
        }
    }
    let mut object = 0x1000_u64;
    while body.len() < most {
        body.push(0x22);
        body.extend(object.to_be_bytes());
        let elements = if is_chain {
            2
        } else {
            numbers.below(most / 100 + 1)
        };
        body.extend(words(&[0, elements as u32]));
        body.extend(8u64.to_be_bytes());
        for _ in 0..elements {
            let target = if is_chain {
                object + 16
            } else {
                0x1000 + 16 * numbers.below(5000) as u64
            };
            body.extend(target.to_be_bytes());
        }
        if object == 0x1000 {
            body.push(5);
            body.extend(object.to_be_bytes());
        }
        object += 16;
        body.push(0x21);
        body.extend(object.to_be_bytes());
        body.extend(words(&[0]));
        body.extend((8 * (1 + numbers.below(classes as usize) as u64)).to_be_bytes());
        body.extend(words(&[8]));
        body.extend((object + 16).to_be_bytes());
        object += 16;
    }
    record(&mut out, 0x1c, &body);
    record(&mut out, 0x2c, &[]);
    out
}

/// A part of a real file, with bytes that are not its own.
fn mangled(most: usize, numbers: &mut Numbers) -> Vec<u8> {
    let name = ["hprof-32.bin", "heap-sites-b.hprof", "cpu-samples-b.hprof"][numbers.below(3)];
    let mut whole = std::fs::read(crate::support::data(name)).expect("test data");
    whole.truncate(most.min(MAX_BYTES));
    for _ in 0..1 + numbers.below(20) {
        let at = numbers.below(whole.len());
        whole[at] = [0, 0x7f, 0xff, numbers.below(256) as u8][numbers.below(4)];
    }
    whole
}

const LINES: [&str; 24] = [
    "TRACE #:\n",
    "TRACE #: (thread=#)\n",
    "\tA.b(A.java:#)\n",
    "\tA#.b(<Unknown Source>:Unknown line)\n",
    "# x\n",
    "THREAD START (obj=#, id = #, name=\"\", group=\"\")\n",
    "THREAD END (id = #)\n",
    "CPU SAMPLES BEGIN (total = #) x\n",
    "CPU SAMPLES END\n",
    "# 1% 1% # # A.b\n",
    "SITES BEGIN (ordered by x) x\n",
    "SITES END\n",
    "1 1% 1% # # # # # A\n",
    "MONITOR TIME BEGIN (total = # ms) x\n",
    "1 1% 1% # # A (Java)\n",
    "MONITOR TIME END\n",
    "MONITOR DUMP BEGIN\n",
    "    MONITOR A unowned\n",
    "\twaiting to enter: thread #, thread #\n",
    "HEAP DUMP BEGIN (# objects, # bytes) x\n",
    "OBJ # (sz=1, class=A#@1)\n",
    "HEAP DUMP END\n",
    "count callee caller time\n",
    "# A.b()V A.c()V #\n",
];

fn text() -> Vec<u8> {
    b"JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:08 2026\n".to_vec()
}

fn line(out: &mut Vec<u8>, template: &str, number: usize) {
    out.extend(template.replace('#', &number.to_string()).bytes());
}

/// Text of any lines.
fn lines(most: usize, numbers: &mut Numbers) -> Vec<u8> {
    repeat(
        most,
        text(),
        &mut |out, numbers| {
            let at = numbers.below(LINES.len());
            line(out, LINES[at], numbers.below(1 << 20));
        },
        numbers,
    )
}

/// Text of one line again and again, below the title it belongs to.
fn one_line(most: usize, numbers: &mut Numbers) -> Vec<u8> {
    let at = numbers.below(LINES.len());
    let mut out = text();
    for title in LINES[..=at].iter().rev().take(4).rev() {
        line(&mut out, title, 1);
    }
    let mut number = 0;
    repeat(
        most,
        out,
        &mut |out, _| {
            number += 1;
            line(out, LINES[at], number);
        },
        numbers,
    )
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(plain).expect("memory");
    packer.finish().expect("memory")
}

/// A zip archive of one member (APPNOTE.TXT 4.3), deflated.
fn zip(plain: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(plain);
    let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(plain).expect("memory");
    let packed = packer.finish().expect("memory");
    let mut about = Vec::new();
    about.extend([20, 0, 0, 0, 8, 0, 0, 0, 0, 0]);
    for number in [crc.sum(), packed.len() as u32, plain.len() as u32] {
        about.extend(number.to_le_bytes());
    }
    about.extend([1, 0, 0, 0]);
    let mut out = [b"PK\x03\x04", &about[..], b"a"].concat();
    out.extend(&packed);
    let directory = out.len() as u32;
    out.extend([b"PK\x01\x02\x14\x00", &about[..], &[0; 10], &[0; 4], b"a"].concat());
    let length = out.len() as u32 - directory;
    out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend(length.to_le_bytes());
    out.extend(directory.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// A frame of Zstandard (RFC 8878): the start of the content as it is, then one byte repeated.
fn zstd(plain: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    const BLOCK: u32 = 128 << 10;
    let start = &plain[..plain.len().min(20_000)];
    // No checksum, no size of the content, a window of 8 MB.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3];
    let head = |kind: u32, length: u32, is_last: bool| {
        let head = length << 3 | kind << 1 | u32::from(is_last);
        head.to_le_bytes()[..3].to_vec()
    };
    out.extend(head(0, start.len() as u32, false));
    out.extend(start);
    let byte = [b'\n', 0, b'A', 5][numbers.below(4)];
    let blocks = numbers.below(800);
    for block in 0..blocks {
        out.extend(head(1, BLOCK, block + 1 == blocks));
        out.push(byte);
    }
    out
}
