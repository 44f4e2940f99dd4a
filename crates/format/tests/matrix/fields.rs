//! The fields that a reader shows, in the order of the file.

use hprof_format::binary::{Body, IdSize, Record, SubRecord, Value};
use hprof_format::model::RootKind;

fn bits(value: Value, id_size: IdSize) -> u64 {
    let mut body = Body::new(id_size);
    value.write(&mut body);
    let bytes = body.bytes().iter();
    bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn each(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.iter().map(|&byte| byte.into())
}

fn frame(frame: Option<u32>) -> u64 {
    frame.unwrap_or(u32::MAX).into()
}

/// The fields of a record other than a heap dump; numbers of entries are not among them.
pub fn of_record(record: &Record<'_>) -> Vec<u64> {
    match *record {
        Record::Utf8 { id, bytes } => [id.get()].into_iter().chain(each(bytes)).collect(),
        Record::LoadClass {
            serial,
            class,
            trace,
            name,
        } => {
            vec![
                serial.get().into(),
                class.get(),
                trace.get().into(),
                name.get(),
            ]
        }
        Record::UnloadClass { serial } => vec![serial.get().into()],
        Record::Frame {
            id,
            method,
            signature,
            source_file,
            class,
            line,
        } => vec![
            id.get(),
            method.get(),
            signature.get(),
            source_file.get(),
            class.get().into(),
            (line as u32).into(),
        ],
        Record::Trace {
            serial,
            thread,
            frames,
        } => {
            let mut fields = vec![serial.get().into(), thread.get().into()];
            fields.extend(frames.iter());
            fields
        }
        Record::AllocSites {
            flags,
            cutoff,
            live_bytes,
            live_instances,
            allocated_bytes,
            allocated_instances,
            sites,
        } => {
            let mut fields = vec![
                flags.into(),
                cutoff.to_bits().into(),
                live_bytes.into(),
                live_instances.into(),
                allocated_bytes,
                allocated_instances,
            ];
            for site in sites.iter() {
                fields.extend([
                    u64::from(site.array_kind),
                    site.class.get().into(),
                    site.trace.get().into(),
                    site.live_bytes.into(),
                    site.live_instances.into(),
                    site.allocated_bytes.into(),
                    site.allocated_instances.into(),
                ]);
            }
            fields
        }
        Record::HeapSummary {
            live_bytes,
            live_instances,
            allocated_bytes,
            allocated_instances,
        } => vec![
            live_bytes.into(),
            live_instances.into(),
            allocated_bytes,
            allocated_instances,
        ],
        Record::StartThread {
            serial,
            object,
            trace,
            name,
            group,
            parent_group,
        } => vec![
            serial.get().into(),
            object.get(),
            trace.get().into(),
            name.get(),
            group.get(),
            parent_group.get(),
        ],
        Record::EndThread { serial } => vec![serial.get().into()],
        Record::HeapDump(heap) | Record::HeapDumpSegment(heap) => heap
            .flat_map(|sub| of_sub_record(&sub.expect("sound"), IdSize::Eight))
            .collect(),
        Record::HeapDumpEnd => Vec::new(),
        Record::CpuSamples { total, samples } => {
            let mut fields = vec![total.into()];
            for sample in samples.iter() {
                fields.extend([u64::from(sample.cost), sample.trace.get().into()]);
            }
            fields
        }
        Record::ControlSettings { flags, depth } => vec![flags.into(), depth.into()],
        Record::Unknown { tag, .. } => panic!("{tag:#x} is not known"),
    }
}

/// The fields of a sub-record; numbers of entries and reserved fields are not among them.
pub fn of_sub_record(sub: &SubRecord<'_>, id_size: IdSize) -> Vec<u64> {
    match *sub {
        SubRecord::Root(root) => {
            let mut fields = vec![root.object.get()];
            match root.kind {
                RootKind::JniGlobal { reference } => fields.push(reference),
                RootKind::JniLocal { thread, frame: at }
                | RootKind::JavaFrame { thread, frame: at }
                | RootKind::JniMonitor { thread, frame: at } => {
                    fields.extend([thread.get().into(), frame(at)]);
                }
                RootKind::NativeStack { thread } | RootKind::ThreadBlock { thread } => {
                    fields.push(thread.get().into());
                }
                RootKind::ThreadObject { thread, trace } => {
                    fields.extend([u64::from(thread.get()), trace.get().into()]);
                }
                _ => {}
            }
            fields
        }
        SubRecord::Unreachable { object } => vec![object.get()],
        SubRecord::HeapInfo { heap, name } => vec![heap.into(), name.get()],
        SubRecord::Class(class) => {
            let mut fields = vec![
                class.class.get(),
                class.trace.get().into(),
                class.super_class.get(),
                class.loader.get(),
                class.signers.get(),
                class.domain.get(),
                class.instance_size.into(),
            ];
            let typed = |value: Value| [value.basic_type().code().into(), bits(value, id_size)];
            for constant in class.constants.iter() {
                fields.push(constant.index.into());
                fields.extend(typed(constant.value));
            }
            for field in class.statics.iter() {
                fields.push(field.name.get());
                fields.extend(typed(field.value));
            }
            for field in class.fields.iter() {
                fields.extend([field.name.get(), field.basic_type.code().into()]);
            }
            fields
        }
        SubRecord::Instance {
            object,
            trace,
            class,
            values,
        } => {
            let mut fields = vec![object.get(), trace.get().into(), class.get()];
            fields.extend(each(values));
            fields
        }
        SubRecord::ObjectArray {
            array,
            trace,
            class,
            elements,
        } => {
            let mut fields = vec![array.get(), trace.get().into(), class.get()];
            fields.extend(elements.iter());
            fields
        }
        SubRecord::PrimitiveArray {
            array,
            trace,
            element,
            values,
        } => {
            let mut fields = vec![array.get(), trace.get().into(), element.code().into()];
            fields.extend(each(values));
            fields
        }
        SubRecord::PrimitiveArrayNoData {
            array,
            trace,
            element,
            length,
        } => vec![
            array.get(),
            trace.get().into(),
            length.into(),
            element.code().into(),
        ],
    }
}
