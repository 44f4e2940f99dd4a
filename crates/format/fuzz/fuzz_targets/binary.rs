//! Any bytes: both readers must end, agree on what they find, and what they find must be copied
//! to the same bytes.

#![no_main]

use hprof_format::binary::{Record, SubRecord};
use hprof_format::reader::{Event, Reader, StreamError, StreamReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let Ok(reader) = Reader::new(file) else {
        return;
    };
    let mut whole = Vec::new();
    for found in reader {
        match found.map(|found| found.record) {
            Ok(Record::HeapDump(heap) | Record::HeapDumpSegment(heap)) => {
                whole.push("heap".to_owned());
                for sub in heap {
                    if let Ok(SubRecord::Class(class)) = sub {
                        assert_eq!(class.constants.iter().count(), class.constants.len());
                        assert_eq!(class.statics.iter().count(), class.statics.len());
                        assert_eq!(class.fields.iter().count(), class.fields.len());
                    }
                    whole.push(format!("{sub:?}"));
                }
            }
            Ok(record) => whole.push(format!("{record:?}")),
            Err(damage) => whole.push(format!("Err({damage:?})")),
        }
    }
    let mut stream = StreamReader::new(file).expect("the same header");
    stream.set_file_length(file.len() as u64);
    let mut pieces = Vec::new();
    while let Some(event) = stream.next() {
        pieces.push(match event {
            Ok(Event::Record(found)) => format!("{:?}", found.record),
            Ok(Event::Heap { .. }) => "heap".to_owned(),
            Ok(Event::SubRecord { sub_record, .. }) => format!("Ok({sub_record:?})"),
            // The mapped file shows all of it, so that the two cannot be compared as text.
            Ok(Event::LongSubRecord { .. }) => return,
            Err(StreamError::Damage(damage)) => format!("Err({damage:?})"),
            Err(other) => panic!("{other}"),
        });
    }
    assert_eq!(whole, pieces);
});
