//! Large dumps, and tables of sites.

use super::*;

#[test]
fn a_large_dump_comes_in_segments_with_names_before_use() {
    let mut writer = begun();
    let filler = vec![7i8; 300_000];
    let huge = vec![7i64; 400_000];
    for number in 0..30u64 {
        let values = if number == 9 {
            PrimitiveValues::Long(&huge)
        } else {
            PrimitiveValues::Byte(&filler)
        };
        let (array, size, trace) = (object(number), 300_016, SITE);
        writer
            .heap_primitive_array(&HeapPrimitiveArray {
                array,
                size,
                trace,
                values,
            })
            .unwrap();
        let name = format!("field{number}");
        let statics = [HeapField {
            name: &name,
            value: Value::Int(1),
        }];
        let class = HeapClass {
            class: object(100 + number),
            name: "A",
            trace: SITE,
            super_class: ObjectId::NULL,
            loader: ObjectId::NULL,
            signers: ObjectId::NULL,
            domain: ObjectId::NULL,
            instance: InstanceLayout::default(),
            constants: &[],
            statics: &statics,
            fields: &[],
        };
        writer.heap_class(&class).unwrap();
    }
    writer.heap_end().unwrap();
    let file = writer.into_inner();
    assert_eq!(sub_records(&file).len(), 60);
    let mut known = HashSet::new();
    let mut segments = 0;
    for found in records(&file) {
        match found.record {
            Record::Utf8 { id, .. } => assert!(known.insert(id)),
            Record::HeapDumpSegment(segment) => {
                segments += 1;
                let length = segment.rest().len();
                assert!(length < (1 << 20) + 8 * huge.len() + 64);
                for sub in segment.map(Result::unwrap) {
                    if let SubRecord::Class(class) = sub {
                        assert!(
                            class
                                .statics
                                .iter()
                                .all(|field| known.contains(&field.name))
                        );
                    }
                }
            }
            _ => {}
        }
    }
    assert!((8..=12).contains(&segments), "{segments}");
}

#[test]
fn sites_are_ranked_clamped_and_refer_to_loaded_classes() {
    let row = |class_name, live_bytes, trace, element| SiteRow {
        class_name,
        class_id: ObjectId::NULL,
        element,
        trace,
        live_bytes,
        live_objects: 1,
        allocated_bytes: live_bytes,
        allocated_objects: 2,
    };
    let rows = [
        row("A", 10, NOWHERE, None),
        row("int[]", 1 << 40, SITE, Some(BasicType::Int)),
        row("A", 20, SITE, None),
    ];
    let totals = HeapSummary {
        live_bytes: (1 << 40) + 30,
        live_objects: 3,
        allocated_bytes: (1 << 40) + 30,
        allocated_objects: 6,
    };
    let table = SiteTable {
        order: SiteOrder::AllocatedBytes,
        is_incremental: true,
        is_after_gc: true,
        totals,
        rows: &rows,
    };
    let mut writer = begun();
    writer
        .site_table(&RankedSiteTable::new(&table, 0.0), "")
        .unwrap();
    writer.heap_summary(&totals).unwrap();
    let file = writer.into_inner();
    let records = records(&file);
    let mut classes = HashMap::new();
    let strings = strings(&file);
    for found in &records {
        if let Record::LoadClass { serial, name, .. } = found.record {
            assert_eq!(classes.insert(serial, strings[&name].clone()), None);
        }
    }
    assert_eq!(classes.len(), 2);
    let [.., sites, summary] = &records[..] else {
        panic!("{records:?}")
    };
    let Record::AllocSites {
        flags,
        cutoff,
        live_bytes,
        allocated_bytes,
        sites,
        ..
    } = sites.record
    else {
        panic!("{sites:?}")
    };
    assert_eq!((flags, cutoff), (7, 0.0));
    assert_eq!(
        (live_bytes, allocated_bytes),
        (u32::MAX, totals.allocated_bytes)
    );
    let read: Vec<_> = sites
        .iter()
        .map(|site| {
            (
                site.array_kind,
                &classes[&site.class][..],
                site.trace,
                site.live_bytes,
            )
        })
        .collect();
    assert_eq!(
        read,
        [
            (10, "int[]", SITE, u32::MAX),
            (0, "A", SITE, 20),
            (0, "A", TraceSerial::SYSTEM, 10)
        ]
    );
    let Record::HeapSummary {
        live_bytes,
        live_instances,
        allocated_instances,
        ..
    } = summary.record
    else {
        panic!("{summary:?}")
    };
    assert_eq!(
        (live_bytes, live_instances, allocated_instances),
        (u32::MAX, 3, 6)
    );
}
