//! The page of a heap report in a browser: each link, button and table.

mod support;

use java_test_harness::{Jdk, Run, each_jdk};
use support::browser::{Browser, keys};
use support::{Scene, data, run, stderr, stdout};

/// A browser that shows the report on a dump.
fn show(dump: &str) -> Option<(Scene, Browser)> {
    let browser = Browser::open(1280, 800)?;
    let scene = Scene::new();
    let output = run(&mut scene.hprof_rs(&["report", dump, "-o", "out.html"]), "");
    assert!(output.status.success(), "{}", stderr(&output));
    browser.go(&scene.path("out.html"), "");
    Some((scene, browser))
}

fn assert_clean(browser: &Browser) {
    assert_eq!(browser.inaccessible(), [] as [String; 0]);
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

fn column(browser: &Browser, table: &str, index: usize) -> Vec<String> {
    let cells = browser.value(&format!(
        "[...document.querySelectorAll('#{table} tbody tr')].map(row => row.children[{index}].textContent)"
    ));
    let cells = cells.as_array().unwrap().iter();
    cells.map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn tables_sort_filter_and_show_more() {
    let Some((_scene, browser)) = show(&data("hprof-32.bin")) else {
        return;
    };
    browser.click("#class-table th:nth-child(5) button");
    let names = column(&browser, "class-table", 4);
    assert!(names[0] < names[names.len() - 1], "{names:?}");
    browser.click("#class-table th:nth-child(4) button");
    let number = |text: &String| text.replace(',', "").parse::<u64>().unwrap();
    let objects: Vec<u64> = column(&browser, "class-table", 3)
        .iter()
        .map(number)
        .collect();
    assert!(
        objects.is_sorted_by(|a, b| a >= b) && objects[0] > objects[40],
        "{objects:?}"
    );
    let before = objects.len();
    browser.click("#class-table .more");
    assert!(column(&browser, "class-table", 3).len() > before);
    browser.type_into("#class-table input", "hashmap");
    let names = column(&browser, "class-table", 4);
    assert!(
        !names.is_empty()
            && names
                .iter()
                .all(|name| name.to_lowercase().contains("hashmap")),
        "{names:?}"
    );
    assert_clean(&browser);
}

#[test]
fn every_identifier_and_class_leads_to_its_details() {
    let Some((_scene, browser)) = show(&data("hprof-32.bin")) else {
        return;
    };
    // No identifier stands there that is no link.
    let bare = "[...document.querySelectorAll('main *')].filter(it => it.children.length === 0 && \
        it.tagName !== 'A' && it.tagName !== 'CODE' && /^0x[0-9a-f]+$/.test(it.textContent)).length";
    assert_eq!(browser.value(bare), 0);
    browser.click(".suspect .path a[href^='#object']");
    browser.wait_for("document.querySelector('dialog').open");
    let id = browser.text("document.querySelector('dialog h2').firstChild.textContent");
    assert!(id.starts_with("0x"), "{id}");
    let text = browser.text("document.querySelector('dialog').textContent");
    for part in [
        "on the path to the largest object",
        "keeps",
        "hprof-rs object ",
        "hprof-rs referrers ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_clean(&browser);
    // To the class of the object, back, and out.
    browser.click("dialog a[href^='#class']");
    browser.wait_for("location.hash.startsWith('#class')");
    let title = browser.text("document.querySelector('dialog h2').firstChild.textContent");
    assert!(!title.starts_with("0x"), "{title}");
    browser.back();
    browser.wait_for("document.querySelector('dialog h2').firstChild.textContent.startsWith('0x')");
    browser.back();
    browser.wait_for("!document.querySelector('dialog').open");
    browser.click("#class-table tbody a");
    browser.wait_for("document.querySelector('dialog').open");
    browser.press(&[keys::ESCAPE]);
    browser.wait_for("!document.querySelector('dialog').open && location.hash === ''");
    browser.click("#object-table tbody a[href^='#object']");
    browser.wait_for("document.querySelector('dialog').open");
    browser.click("dialog .close");
    browser.wait_for("!document.querySelector('dialog').open");
    assert_clean(&browser);
}

#[test]
fn identifiers_and_commands_are_copied_by_one_click() {
    let Some((_scene, browser)) = show(&data("hprof-32.bin")) else {
        return;
    };
    browser.click(".suspect .command .copy");
    browser.wait_for("document.querySelector('.suspect .command .copy').textContent === 'copied'");
    browser.click("#class-table input");
    browser.press(&[keys::CONTROL, "v"]);
    let pasted = "document.querySelector('#class-table input').value";
    let text = browser.text(pasted);
    assert!(
        text.starts_with("hprof-rs paths ") && text.contains("hprof-32.bin 0x"),
        "{text}"
    );
    browser.value("document.querySelector('#class-table input').value = ''");
    browser.click("#object-table .copy");
    browser.wait_for("document.querySelector('#object-table .copy').textContent === 'copied'");
    browser.click("#class-table input");
    browser.press(&[keys::CONTROL, "v"]);
    assert!(browser.text(pasted).starts_with("0x"));
    assert_clean(&browser);
}

#[test]
fn the_map_zooms_and_groups_small_objects_by_class() {
    let Some((_scene, browser)) = show(&data("hprof-32.bin")) else {
        return;
    };
    assert!(
        browser
            .value("document.querySelectorAll('.map div').length")
            .as_u64()
            > Some(5)
    );
    let titles =
        browser.text("[...document.querySelectorAll('.map div')].map(it => it.title).join('|')");
    let is_group = |title: &str| {
        title
            .lines()
            .next()
            .is_some_and(|it| it.ends_with(" objects") && it.contains(": "))
    };
    assert!(titles.split('|').any(is_group), "{titles}");
    browser.value("[...document.querySelectorAll('.map div')].find(it => it.nextElementSibling && parseFloat(it.nextElementSibling.style.left) > parseFloat(it.style.left) && it.title.includes('0x')).click()");
    let way = "document.querySelectorAll('#map .crumbs button:not(.copy)').length";
    if browser.value(way) == 2 {
        browser.click("#map .crumbs button");
        assert_eq!(browser.value(way), 1);
    }
    assert_clean(&browser);
}

#[test]
fn contents_that_are_no_text_are_hexadecimal() {
    let Some((scene, browser)) = show(&data("hprof-32.bin")) else {
        return;
    };
    let page = scene.profile("out.html");
    let (head, rest) = page
        .split_once("\"groups\":[")
        .expect("groups of equal arrays");
    // As if the dump held these two first.
    let group = |preview: &str| {
        format!(
            "{{\"count\":3,\"bytes\":99999999,\"wasted_bytes\":199999999,\"object\":1,\"element\":\"char\",\
             \"is_string\":true,\"preview\":{preview}}},"
        )
    };
    let binary = group("\"\\u0001\\u0002\\ue000\\ufffd\\u0378ab\"");
    let text = group("\"one\\u0007two\\u202ethree\"");
    std::fs::write(
        scene.path("binary.html"),
        format!("{head}\"groups\":[{binary}{text}{rest}"),
    )
    .unwrap();
    browser.go(&scene.path("binary.html"), "");
    let shown = column(&browser, "string-table", 4);
    assert_eq!(
        shown[0],
        "no text, in hexadecimal: 01 02 e000 fffd 378 61 62"
    );
    assert_eq!(shown[1], "one\u{b7}two\u{b7}three");
    assert_clean(&browser);
}

#[test]
fn laptops_and_phones_see_it_in_light_and_dark() {
    let Some((scene, browser)) = show(&data("hprof-32.bin")) else {
        return;
    };
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for (name, width, height, is_phone) in
            [("laptop", 1280, 800, false), ("phone", 390, 844, true)]
        {
            browser.metrics(width, height, is_phone);
            browser.go(&scene.path("out.html"), &format!("?{name}-{scheme}"));
            let wide = browser.value("document.documentElement.scrollWidth");
            assert!(wide.as_u64() <= Some(u64::from(width)), "{wide}");
            for part in ["summary", "suspects", "map", "objects", "threads"] {
                browser.value(&format!(
                    "document.getElementById('{part}').scrollIntoView()"
                ));
                browser.screenshot(&format!("report-{part}-{name}-{scheme}.png"));
            }
            assert_clean(&browser);
        }
    }
}

#[test]
fn what_keeps_a_suspect_alive_starts_with_what_a_person_wrote() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .class("LeakStaticMap")
            .args(["leak.hprof"])
            .run()
            .expect_status(0);
        let dump = outcome.path("leak.hprof").display().to_string();
        let output = run(&mut Scene::new().hprof_rs(&["leaks", &dump]), "");
        let text = stdout(&output);
        assert!(!text.contains("LauncherHelper"), "{text}");
        let (_, way) = text.split_once("Kept alive by\n").expect("a path");
        let mut lines = way.lines();
        assert!(
            lines.next().unwrap().contains("class of the program"),
            "{text}"
        );
        assert!(
            lines.next().unwrap().contains("class LeakStaticMap"),
            "{text}"
        );
    });
}

#[test]
fn strings_that_are_everywhere_are_no_suspect() {
    let jdk = Jdk::feature_release(17);
    let outcome = Run::new(jdk)
        .agent("heap=dump,format=b,file=hello.hprof")
        .class("Hello")
        .run()
        .expect_status(0);
    let dump = outcome.path("hello.hprof").display().to_string();
    let output = run(&mut Scene::new().hprof_rs(&["leaks", &dump]), "");
    let text = stdout(&output);
    assert!(
        text.contains("keeps") && !text.contains("objects of class java.lang.String keep"),
        "{text}"
    );
}
