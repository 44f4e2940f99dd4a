//! Views of profiles.

use hprof_server::views::ViewError;
use hprof_server::views::page::TableQuery;
use hprof_server::views::profile::{
    Flame, FlameNode, FlameQuery, ProfileFile, ProfileQuery, TreeQuery, compare, flame, methods,
    tree,
};
use hprof_server::views::table::Cell;

use super::known::{all, number, row, text};
use super::opening::data;

/// Two threads: in `main` A.main calls A.work and B.parse, in `pool` C.run.
const PROFILE: &str = "\
JAVA PROFILE 1.0.1, created Mon Jan  1 00:00:00 2024

THREAD START (obj=50000001, id = 200001, name=\"main\", group=\"main\")
THREAD START (obj=50000002, id = 200002, name=\"pool\", group=\"main\")
TRACE 300001: (thread=200001)
\tA.work(A.java:10)
\tA.main(A.java:3)
TRACE 300002: (thread=200001)
\tB.parse(B.java:7)
\tA.main(A.java:4)
TRACE 300003: (thread=200002)
\tC.run(C.java:1)
CPU SAMPLES BEGIN (total = 100) Mon Jan  1 00:00:01 2024
rank   self  accum   count trace method
   1 60.00% 60.00%      60 300001 A.work
   2 30.00% 90.00%      30 300002 B.parse
   3 10.00% 100.00%      10 300003 C.run
CPU SAMPLES END
";

fn profile(text: &str) -> ProfileFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    ProfileFile::open(file.path(), "cpu.txt").unwrap()
}

fn draw(profile: &ProfileFile, query: &ProfileQuery, cut: &FlameQuery) -> Flame {
    flame(profile, query, cut).unwrap()
}

/// Names with values, each level indented.
fn lines(flame: &Flame) -> Vec<String> {
    fn add(flame: &Flame, nodes: &[FlameNode], level: usize, lines: &mut Vec<String>) {
        for node in nodes {
            let name = &flame.frames[node.f as usize];
            let d = node.d.map_or(String::new(), |d| format!(" {d:+}"));
            lines.push(format!("{}{name} {}{d}", " ".repeat(level), node.v));
            add(flame, &node.c, level + 1, lines);
        }
    }
    let mut lines = Vec::new();
    add(flame, &flame.root.c, 0, &mut lines);
    lines
}

#[test]
fn a_flame_graph_has_the_stacks_that_are_asked_for() {
    let profile = profile(PROFILE);
    let about = profile.about();
    assert_eq!(
        (about.kind, about.unit, about.total),
        ("cpu", "samples", 100)
    );
    let threads: Vec<_> = about
        .threads
        .iter()
        .map(|it| (it.name.as_str(), it.total))
        .collect();
    assert_eq!(threads, [("main", 90), ("pool", 10)]);
    let query = ProfileQuery::default();
    let whole = draw(&profile, &query, &FlameQuery::default());
    assert_eq!(
        (whole.total, whole.root.v, whole.frames[0].as_str()),
        (100, 100, "all")
    );
    assert_eq!(
        lines(&whole),
        ["A.main 90", " A.work 60", " B.parse 30", "C.run 10"]
    );
    let inverted = ProfileQuery {
        invert: true,
        ..query.clone()
    };
    let found = lines(&draw(&profile, &inverted, &FlameQuery::default()));
    assert_eq!(
        found,
        [
            "A.work 60",
            " A.main 60",
            "B.parse 30",
            " A.main 30",
            "C.run 10"
        ]
    );
    let of_thread = ProfileQuery {
        thread: Some(about.threads[1].key.clone()),
        ..query.clone()
    };
    assert_eq!(
        lines(&draw(&profile, &of_thread, &FlameQuery::default())),
        ["C.run 10"]
    );
    let filtered = FlameQuery {
        filter: Some("b.PARSE".to_owned()),
        ..FlameQuery::default()
    };
    let found = draw(&profile, &query, &filtered);
    assert_eq!(
        (lines(&found), found.total),
        (vec!["A.main 30".to_owned(), " B.parse 30".to_owned()], 30)
    );
    let large = FlameQuery {
        least: 0.5,
        ..FlameQuery::default()
    };
    assert_eq!(
        lines(&draw(&profile, &query, &large)),
        ["A.main 90", " A.work 60"]
    );
}

#[test]
fn two_profiles_are_compared_as_if_they_were_of_one_length() {
    let before = profile(PROFILE);
    let twice = PROFILE
        .replace("total = 100", "total = 200")
        .replace("     60 300001", "    160 300001")
        .replace("     10 300003", "     10 300002");
    let after = profile(&twice);
    let query = ProfileQuery::default();
    let found = compare(&before, &after, &query, &FlameQuery::default()).unwrap();
    assert_eq!(
        lines(&found),
        ["A.main 200 +20", " A.work 160 +40", " B.parse 40 -20"]
    );
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("scaled to 200"))
    );
}

#[test]
fn methods_and_the_call_tree_are_tables() {
    let profile = profile(PROFILE);
    let which = ProfileQuery::default();
    let found = methods(&profile, &which, &all()).unwrap();
    let main = row(&found, "A.main");
    assert_eq!((number(main, "self"), number(main, "total")), (0, 90));
    assert_eq!(text(&found.rows[0], "name"), "A.work");
    let one = TableQuery {
        filter: Some("^c".to_owned()),
        ..all()
    };
    assert_eq!(methods(&profile, &which, &one).unwrap().total, 1);
    let top = tree(&profile, &which, &TreeQuery::default(), &all()).unwrap();
    let main = row(&top, "A.main");
    assert_eq!(main.cell("percent"), Some(&Cell::Real(90.0)));
    let of = TreeQuery {
        node: main.links.node.clone(),
    };
    let below = tree(&profile, &which, &of, &all()).unwrap();
    let names: Vec<&str> = below.rows.iter().map(|row| text(row, "name")).collect();
    assert_eq!(names, ["A.work", "B.parse"]);
    assert!(!below.rows[0].links.children);
    let below = |node: &str| {
        let of = TreeQuery {
            node: Some(node.to_owned()),
        };
        tree(&profile, &which, &of, &all()).unwrap_err()
    };
    assert!(matches!(below("7"), ViewError::Missing(_)));
    assert!(matches!(below("0.0.0.0"), ViewError::Missing(_)));
    assert!(matches!(below("x"), ViewError::Invalid(_)));
}

#[test]
fn a_question_for_another_profile_is_refused() {
    let profile = profile(PROFILE);
    let refused = |query: ProfileQuery, cut: FlameQuery| {
        matches!(flame(&profile, &query, &cut), Err(ViewError::Invalid(_)))
    };
    let query = ProfileQuery::default();
    let dimension = ProfileQuery {
        dimension: Some("calls".to_owned()),
        ..query.clone()
    };
    assert!(refused(dimension, FlameQuery::default()));
    let thread = ProfileQuery {
        thread: Some("main".to_owned()),
        ..query.clone()
    };
    assert!(refused(thread, FlameQuery::default()));
    let filter = FlameQuery {
        filter: Some("(".to_owned()),
        ..FlameQuery::default()
    };
    assert!(refused(query.clone(), filter));
    for least in [-0.1, 1.1, f64::NAN] {
        assert!(refused(
            query.clone(),
            FlameQuery {
                least,
                ..FlameQuery::default()
            }
        ));
    }
}

#[test]
fn real_profiles_of_each_mode_have_their_kind() {
    for (name, kind) in [
        ("cpu-samples-b.hprof", "cpu"),
        ("cpu-samples-thread.txt", "cpu"),
        ("cpu-times-thread.txt", "times"),
        ("heap-sites-b.hprof", "allocation"),
        ("monitor-time.txt", "contention"),
    ] {
        let profile = ProfileFile::open(&data(name), name).unwrap();
        let about = profile.about();
        assert_eq!(about.kind, kind, "{name}");
        let whole = FlameQuery {
            least: 0.0,
            ..FlameQuery::default()
        };
        let graph = draw(&profile, &ProfileQuery::default(), &whole);
        let sum: u64 = graph.root.c.iter().map(|node| node.v).sum();
        assert_eq!((sum, graph.total), (about.total, about.total), "{name}");
    }
}

/// Samples of the wall clock: `main` works, two threads of a pool wait for a task, and one of them works, too.
const WALL: &str = "\
JAVA PROFILE 1.0.1, created Mon Jan  1 00:00:00 2024

THREAD START (obj=50000001, id = 200001, name=\"main\", group=\"main\")
THREAD START (obj=50000002, id = 200002, name=\"http-nio-8080-exec-1\", group=\"main\")
THREAD START (obj=50000003, id = 200003, name=\"http-nio-8080-exec-2\", group=\"main\")
TRACE 300001: (thread=200001)
\tA.work(A.java:10)
TRACE 300002: (thread=200002)
\tjava.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1)
TRACE 300003: (thread=200003)
\tjava.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1)
TRACE 300004: (thread=200003)
\tB.parse(B.java:7)
CPU SAMPLES BEGIN (total = 300) Mon Jan  1 00:00:01 2024
rank   self  accum   count trace method
   1 33.33% 33.33%     100 300001 A.work
   2 33.33% 66.67%     100 300002 java.util.concurrent.ThreadPoolExecutor.getTask
   3 30.00% 96.67%      90 300003 java.util.concurrent.ThreadPoolExecutor.getTask
   4 3.33% 100.00%      10 300004 B.parse
CPU SAMPLES END
# hprof-rs: clock=wall
";

#[test]
fn threads_that_wait_for_work_are_hidden_and_threads_of_a_pool_are_one_group() {
    let profile = profile(WALL);
    let about = profile.about();
    let first = &about.dimensions[0];
    assert_eq!(
        (first.key, first.label, first.total, first.waits),
        ("samples", "Wall-clock samples", 300, 190)
    );
    let pool = &about.groups[0];
    assert_eq!(about.groups.len(), 1, "main is alone");
    assert_eq!(
        (pool.name.as_str(), pool.threads, pool.total, pool.waits),
        ("http-nio-8080-exec-*", 2, 200, 190)
    );
    let of = |name: &str| about.threads.iter().find(|it| it.name == name).unwrap();
    assert_eq!((of("main").waits, of("main").group.as_ref()), (0, None));
    let second = of("http-nio-8080-exec-2");
    assert_eq!((second.total, second.waits), (100, 90));
    assert_eq!(second.group.as_ref(), Some(&pool.key));

    let busy = ProfileQuery {
        busy: true,
        ..ProfileQuery::default()
    };
    let drawn = draw(&profile, &busy, &FlameQuery::default());
    assert_eq!(
        (drawn.total, lines(&drawn)),
        (110, vec!["A.work 100".to_owned(), "B.parse 10".to_owned()])
    );
    let of_pool = ProfileQuery {
        thread: Some(pool.key.clone()),
        ..ProfileQuery::default()
    };
    let drawn = draw(&profile, &of_pool, &FlameQuery::default());
    assert_eq!(drawn.total, 200);
    let both = ProfileQuery {
        busy: true,
        ..of_pool
    };
    assert_eq!(
        lines(&draw(&profile, &both, &FlameQuery::default())),
        ["B.parse 10"]
    );
    let unknown = ProfileQuery {
        thread: Some("main".to_owned()),
        ..ProfileQuery::default()
    };
    let refused = flame(&profile, &unknown, &FlameQuery::default());
    assert!(matches!(refused, Err(ViewError::Invalid(_))), "{refused:?}");
}
