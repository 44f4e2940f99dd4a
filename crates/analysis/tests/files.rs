//! Real files of several producers.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

use common::{contents, data, shared, stream};
use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_analysis::contents::{Contents, ReadError, ReadOptions, read};
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::input::{Input, OpenError};
use hprof_analysis::stacks::{CallTree, Measure, Weights, by_method};

fn objects(contents: &Contents) -> Vec<u64> {
    contents
        .dumps
        .iter()
        .map(|dump| dump.census.objects())
        .collect()
}

fn class_objects(contents: &Contents, class: &str) -> u64 {
    let histogram = histogram(contents, contents.dumps.last().unwrap(), Group::Class);
    let mut rows = histogram.rows.iter();
    rows.find(|row| row.name == class)
        .map_or(0, |row| row.objects)
}

#[test]
fn a_dump_of_the_jdks_agent() {
    let contents = contents(&data("hprof-32.bin"));
    assert!(contents.damage.is_empty(), "{:?}", contents.damage);
    assert_eq!(contents.dumps.len(), 1);
    let dump = &contents.dumps[0];
    assert_eq!(dump.census.roots["thread object"], 8);
    assert!(class_objects(&contents, "java.lang.String") > 100);
    assert!(class_objects(&contents, "char[]") > 100);
    assert!(
        contents
            .threads
            .iter()
            .any(|t| t.name.as_deref() == Some("main"))
    );
    let total: u64 = contents.records.values().map(|count| count.bytes).sum();
    // All bytes belong to a record, but for the header.
    assert_eq!(total + 31, contents.bytes);
}

#[test]
fn all_shared_files_lose_nothing_and_read_alike_in_both_ways() {
    for name in [
        "hprof-32.bin",
        "hprof-64.bin",
        "hprof-android.bin",
        "heap-dump-b.hprof",
        "heap-all-b.hprof",
        "heap-sites-b.hprof",
        "cpu-samples-b.hprof",
    ] {
        let Some(path) = shared(name) else { continue };
        let mapped = contents(&path);
        let streamed = stream(fs::read(&path).unwrap());
        for contents in [&mapped, &streamed] {
            assert!(contents.damage.is_empty(), "{name}: {:?}", contents.damage);
        }
        assert_eq!(mapped.records, streamed.records, "{name}");
        assert_eq!(objects(&mapped), objects(&streamed), "{name}");
        assert_eq!(mapped.cpu, streamed.cpu, "{name}");
        assert_eq!(mapped.sites, streamed.sites, "{name}");
        assert_eq!(mapped.threads, streamed.threads, "{name}");
        for (a, b) in mapped.dumps.iter().zip(&streamed.dumps) {
            for group in [Group::Class, Group::Family, Group::Package, Group::Loader] {
                let (a, b) = (histogram(&mapped, a, group), histogram(&streamed, b, group));
                assert_eq!(a, b, "{name}");
                assert_eq!(
                    a.total.objects,
                    a.rows.iter().map(|row| row.objects).sum::<u64>()
                );
                assert_eq!(a.without_class, 0, "{name}");
            }
        }
    }
}

#[test]
fn android_heaps_have_names() {
    let Some(path) = shared("hprof-android.bin") else {
        return;
    };
    let contents = contents(&path);
    let heaps = &contents.dumps[0].census.heaps;
    let names: Vec<_> = heaps
        .iter()
        .filter_map(|heap| Some(contents.names.string(heap.name)?.into_owned()))
        .collect();
    assert!(names.contains(&"app".to_owned()), "{names:?}");
    assert!(names.contains(&"zygote".to_owned()), "{names:?}");
}

#[test]
fn samples_of_text_and_binary_are_alike() {
    for (name, measure) in [
        ("cpu-samples.txt", Measure::Samples),
        ("cpu-samples-b.hprof", Measure::Samples),
        ("cpu-times-thread.txt", Measure::Time),
        ("cpu-times-thread.txt", Measure::Calls),
        ("heap-sites-thread.txt", Measure::AllocatedBytes),
        ("heap-sites-b.hprof", Measure::LiveObjects),
    ] {
        let contents = contents(&data(name));
        let weights = Weights::of(&contents, measure).unwrap_or_else(|| panic!("{name}"));
        assert!(weights.total > 0, "{name}");
        let tree = CallTree::new(&contents.stacks, &weights);
        let roots: u64 = tree.roots.iter().map(|node| node.total).sum();
        assert_eq!(roots, weights.total, "{name}");
        let methods = by_method(&contents.stacks, &weights);
        assert_eq!(
            methods.iter().map(|m| m.own).sum::<u64>(),
            weights.total,
            "{name}"
        );
    }
    let contents = contents(&data("cpu-samples.txt"));
    let weights = Weights::first_of(&contents).unwrap();
    let methods = by_method(&contents.stacks, &weights);
    assert!(methods[0].name.starts_with("Spin."), "{:?}", methods[0]);
}

/// Writes a file anew. The thread that decompresses the one before may still have that mapped, so it must not become shorter.
fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
    let next = path.with_extension("next");
    fs::write(&next, bytes)?;
    fs::rename(next, path)
}

#[test]
fn compressed_files_read_as_plain_ones() {
    let plain = fs::read(data("hprof-32.bin")).unwrap();
    let expected = objects(&contents(&data("hprof-32.bin")));
    let folder = tempfile::tempdir().unwrap();
    // Many members, as HotSpot writes them, under a name that does not tell.
    let mut file = Vec::new();
    for block in plain.chunks(100_000) {
        let mut encoder = GzEncoder::new(&mut file, Compression::fast());
        encoder.write_all(block).unwrap();
        encoder.finish().unwrap();
    }
    let path = folder.path().join("dump");
    replace(&path, &file).unwrap();
    let found = contents(&path);
    assert_eq!(objects(&found), expected);
    assert_eq!(found.bytes, plain.len() as u64);

    // Cut short, what came before is there.
    replace(&path, &file[..file.len() / 2]).unwrap();
    let cut = contents(&path);
    assert!(!cut.damage.is_empty());
    assert!(objects(&cut)[0] > 0 && objects(&cut)[0] < expected[0]);

    let mut streams = Vec::new();
    for half in [&plain[..90_000], &plain[90_000..]] {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = ruzstd::encoding::compress_to_vec(half, level);
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        xz.write_all(half).unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(half).unwrap();
        streams.push([zstd, xz.finish().unwrap(), bzip2.finish().unwrap()]);
    }
    for (kind, name) in ["zstd", "xz", "bzip2"].into_iter().enumerate() {
        let file = [&streams[0][kind][..], &streams[1][kind]].concat();
        replace(&path, &file).unwrap();
        assert_eq!(Input::open(&path).unwrap().compression.name(), name);
        let found = contents(&path);
        assert!(found.damage.is_empty(), "{name}: {:?}", found.damage);
        assert_eq!(objects(&found), expected, "{name}");
        replace(&path, &file[..file.len() * 3 / 4]).unwrap();
        let cut = contents(&path);
        assert!(!cut.damage.is_empty(), "{name}");
        assert!(cut.bytes >= 60_000, "{name}: {}", cut.bytes);
    }

    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file("dump.hprof", options).unwrap();
    archive.write_all(&plain).unwrap();
    replace(&path, archive.finish().unwrap().into_inner()).unwrap();
    assert_eq!(objects(&contents(&path)), expected);
}

/// Matrix sends the dump with a text of its own.
#[test]
fn the_only_dump_of_an_archive_is_read() {
    let plain = fs::read(data("hprof-32.bin")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.zip");
    let archive_of = |names: &[&str]| {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for name in names {
            archive.start_file(*name, options).unwrap();
            archive.write_all(&plain).unwrap();
        }
        replace(&path, archive.finish().unwrap().into_inner()).unwrap();
        Input::open(&path).err().map(|error| error.to_string())
    };
    assert_eq!(archive_of(&["result.info", "a_shrink.hprof"]), None);
    assert_eq!(objects(&contents(&path)), objects(&stream(plain.clone())));
    for names in [&["a.hprof", "b.HPROF"][..], &["a", "b"]] {
        let refused = archive_of(names).unwrap();
        assert!(refused.contains("several files"), "{refused}");
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let open = |bytes: &[u8]| {
        replace(&path, bytes).unwrap();
        Input::open(&path)
    };
    assert!(matches!(
        Input::open(folder.path()),
        Err(OpenError::Folder(_))
    ));
    assert!(matches!(open(b""), Err(OpenError::Empty(_))));
    let lz4 = open(&[4, 0x22, 0x4d, 0x18, 0]).err().unwrap().to_string();
    assert!(lz4.contains("lz4 -dc"), "{lz4}");
    let error = read(open(b"PNG or so").unwrap(), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, ReadError::Header(_)), "{error}");
    let missing = Input::open(&folder.path().join("none")).err().unwrap();
    assert!(matches!(missing, OpenError::Io { .. }));
}
