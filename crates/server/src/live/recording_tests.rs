use super::super::link::JvmId;
use super::super::machine::Pid;
use super::*;

fn recording() -> Recording {
    let facts = JvmFacts {
        pid: Pid(1),
        began: 1,
        name: "App".to_owned(),
        version: None,
        user: String::new(),
        uptime: None,
        resident: 0,
        refusal: None,
        apart: None,
        has_agent: true,
        in_container: false,
    };
    Recording::new(JvmId::Process(facts.pid), facts, &[Mode::Alloc])
}

/// A table of two classes of one name, of two loaders.
fn sites(first: u32, second: u32) -> String {
    format!(
        "TRACE 300001:\n\tA.b(A.java:1)\n\
         SITES BEGIN (ordered by live bytes) Wed Oct 07 13:30:10 1998\n\
         \u{20}         percent         live       alloc'ed  stack class\n\
         \u{20}rank   self  accum    bytes objs   bytes objs trace name\n\
         \u{20}   1 50.00% 50.00%    24  1    {first}   1  300001 App\n\
         \u{20}   2 50.00% 100.00%    24  1    {second}   1  300001 App\n\
         SITES END\n"
    )
}

#[test]
fn rows_of_one_name_and_stack_are_allocated_together() {
    let recording = recording();
    assert!(recording.profile(None).is_err());
    recording.add(&sites(100, 50));
    recording.add(&sites(130, 60));
    let profile = recording.profile(None).unwrap();
    let total = |key: &str| {
        let about = profile.about();
        about
            .dimensions
            .iter()
            .find(|it| it.key == key)
            .unwrap()
            .total
    };
    assert_eq!((total("allocated-bytes"), total("live-bytes")), (190, 48));
}

#[test]
fn costs_of_unknown_stacks_count_for_the_empty_one() {
    let recording = recording();
    let table = "CPU SAMPLES BEGIN (total = 7) Sat Nov 21 03:10:42 2026\n\
                 rank   self  accum   count trace method\n\
                 \u{20}  1 100.00% 100.00%       7 300009 A.b\n\
                 CPU SAMPLES END\n";
    recording.add(table);
    recording.add(table);
    let contents = recording.contents();
    assert_eq!(contents.cpu[0].total, 14);
    assert_eq!(contents.cpu[0].rows[0].trace, TraceSerial::SYSTEM);
}
