//! Generates records and sub-records of every kind from seeds.

use super::*;

/// Numbers and bytes from which records of any kind are made.
#[derive(Debug, Clone)]
pub(super) struct Seed {
    pub(super) kind: u8,
    pub(super) numbers: [u64; 6],
    pub(super) micros: u32,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn seeds(kinds: u8) -> impl Strategy<Value = Vec<Seed>> {
    let number = prop_oneof![0u64..4, any::<u32>().prop_map(u64::from), any::<u64>()];
    let bytes = prop::collection::vec(any::<u8>(), 0..100);
    let seed = (0..kinds, prop::array::uniform6(number), any::<u32>(), bytes).prop_map(
        |(kind, numbers, micros, bytes)| Seed {
            kind,
            numbers,
            micros,
            bytes,
        },
    );
    prop::collection::vec(seed, 0..12)
}

/// Hands out the numbers of a seed as fields.
pub(super) struct Fields<'a> {
    seed: &'a Seed,
    id_size: IdSize,
    next: usize,
}

impl Fields<'_> {
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.seed.numbers[(self.next - 1) % 6].rotate_left(self.next as u32 / 6)
    }

    pub(super) fn u4(&mut self) -> u32 {
        self.number() as u32
    }

    pub(super) fn id(&mut self) -> u64 {
        match self.id_size {
            IdSize::Four => self.number() & 0xffff_ffff,
            IdSize::Eight => self.number(),
        }
    }

    pub(super) fn object(&mut self) -> ObjectId {
        ObjectId::new(self.id())
    }

    pub(super) fn string(&mut self) -> StringId {
        StringId::new(self.id())
    }

    pub(super) fn thread(&mut self) -> ThreadSerial {
        ThreadSerial::new(self.u4())
    }

    pub(super) fn trace(&mut self) -> TraceSerial {
        TraceSerial::new(self.u4())
    }

    pub(super) fn class(&mut self) -> ClassSerial {
        ClassSerial::new(self.u4())
    }

    pub(super) fn basic_type(&mut self) -> BasicType {
        BasicType::ALL[self.number() as usize % 9]
    }

    pub(super) fn value(&mut self) -> Value {
        let basic_type = self.basic_type();
        let mut body = Body::new(self.id_size);
        let number = self.number();
        body.u8(if basic_type == BasicType::Boolean {
            number >> 63 << 56
        } else {
            number
        });
        Value::read(basic_type, body.bytes(), self.id_size).unwrap()
    }
}

pub(super) const RECORDS: u8 = 14;

pub(super) fn record<'a>(seed: &'a Seed, id_size: IdSize) -> Record<'a> {
    let f = &mut Fields {
        seed,
        id_size,
        next: 0,
    };
    let bytes = &seed.bytes[..];
    match seed.kind {
        0 => Record::Utf8 {
            id: f.string(),
            bytes,
        },
        1 => Record::LoadClass {
            serial: f.class(),
            class: f.object(),
            trace: f.trace(),
            name: f.string(),
        },
        2 => Record::UnloadClass { serial: f.class() },
        3 => Record::Frame {
            id: FrameId::new(f.id()),
            method: f.string(),
            signature: f.string(),
            source_file: f.string(),
            class: f.class(),
            line: f.u4() as i32,
        },
        4 => {
            let frames = Ids::new(bytes, id_size);
            Record::Trace {
                serial: f.trace(),
                thread: f.thread(),
                frames,
            }
        }
        5 => Record::AllocSites {
            flags: f.u4() as u16,
            cutoff: 0.25,
            live_bytes: f.u4(),
            live_instances: f.u4(),
            allocated_bytes: f.number(),
            allocated_instances: f.number(),
            sites: AllocSiteRows::new(bytes),
        },
        6 => Record::HeapSummary {
            live_bytes: f.u4(),
            live_instances: f.u4(),
            allocated_bytes: f.number(),
            allocated_instances: f.number(),
        },
        7 => Record::StartThread {
            serial: f.thread(),
            object: f.object(),
            trace: f.trace(),
            name: f.string(),
            group: f.string(),
            parent_group: f.string(),
        },
        8 => Record::EndThread { serial: f.thread() },
        9 => Record::HeapDumpEnd,
        10 => Record::CpuSamples {
            total: f.u4(),
            samples: CpuSamples::new(bytes),
        },
        11 => Record::ControlSettings {
            flags: f.u4(),
            depth: f.u4() as u16,
        },
        12 => Record::Unknown {
            tag: 0xde,
            body: bytes,
        },
        _ => Record::Unknown {
            tag: 0x10,
            body: bytes,
        },
    }
}

pub(super) const SUB_RECORDS: u8 = 22;

pub(super) fn sub_record<'a>(
    seed: &'a Seed,
    id_size: IdSize,
    lists: &'a [Vec<u8>; 3],
) -> SubRecord<'a> {
    let f = &mut Fields {
        seed,
        id_size,
        next: 0,
    };
    let bytes = &seed.bytes[..];
    let object = f.object();
    let root = |kind| SubRecord::Root(Root { object, kind });
    let whole = |element: BasicType| &bytes[..bytes.len() - bytes.len() % element.width(id_size)];
    match seed.kind {
        0 => root(RootKind::Unknown),
        1 => root(RootKind::JniGlobal { reference: f.id() }),
        2 => root(RootKind::JniLocal {
            thread: f.thread(),
            frame: None,
        }),
        3 => root(RootKind::JavaFrame {
            thread: f.thread(),
            frame: Some(f.u4() / 2),
        }),
        4 => root(RootKind::NativeStack { thread: f.thread() }),
        5 => root(RootKind::StickyClass),
        6 => root(RootKind::ThreadBlock { thread: f.thread() }),
        7 => root(RootKind::MonitorUsed),
        8 => root(RootKind::ThreadObject {
            thread: f.thread(),
            trace: f.trace(),
        }),
        9 => root(RootKind::InternedString),
        10 => root(RootKind::Finalizing),
        11 => root(RootKind::Debugger),
        12 => root(RootKind::ReferenceCleanup),
        13 => root(RootKind::VmInternal),
        14 => root(RootKind::JniMonitor {
            thread: f.thread(),
            frame: None,
        }),
        15 => SubRecord::Unreachable { object },
        16 => SubRecord::HeapInfo {
            heap: f.u4(),
            name: f.string(),
        },
        17 => SubRecord::Instance {
            object,
            trace: f.trace(),
            class: f.object(),
            values: bytes,
        },
        18 => {
            let elements = Ids::new(bytes, id_size);
            SubRecord::ObjectArray {
                array: object,
                trace: f.trace(),
                class: f.object(),
                elements,
            }
        }
        19 => {
            let (trace, element) = (f.trace(), f.basic_type());
            let values = whole(element);
            SubRecord::PrimitiveArray {
                array: object,
                trace,
                element,
                values,
            }
        }
        20 => {
            let (trace, element, length) = (f.trace(), f.basic_type(), f.u4());
            SubRecord::PrimitiveArrayNoData {
                array: object,
                trace,
                element,
                length,
            }
        }
        _ => SubRecord::Class(ClassDump {
            class: object,
            trace: f.trace(),
            super_class: f.object(),
            loader: f.object(),
            signers: f.object(),
            domain: f.object(),
            instance_size: f.u4(),
            constants: Constants::new(&lists[0], id_size).unwrap(),
            statics: StaticFields::new(&lists[1], id_size).unwrap(),
            fields: InstanceFields::new(&lists[2], id_size).unwrap(),
        }),
    }
}

/// Constants, static fields and instance fields as bytes.
pub(super) fn class_lists(seed: &Seed, id_size: IdSize) -> [Vec<u8>; 3] {
    let f = &mut Fields {
        seed,
        id_size,
        next: 7,
    };
    let [mut constants, mut statics, mut fields] = [(); 3].map(|()| Body::new(id_size));
    for _ in 0..seed.bytes.len() % 5 {
        Constant {
            index: f.u4() as u16,
            value: f.value(),
        }
        .write(&mut constants);
        StaticField {
            name: f.string(),
            value: f.value(),
        }
        .write(&mut statics);
        StaticField {
            name: f.string(),
            value: f.value(),
        }
        .write(&mut statics);
        InstanceField {
            name: f.string(),
            basic_type: f.basic_type(),
        }
        .write(&mut fields);
    }
    [constants, statics, fields].map(|body| body.bytes().to_vec())
}
