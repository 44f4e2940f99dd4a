//! The program's own methods and their lines, in a profile of a real program.

use java_test_harness::{Jdk, Run, classes};
use serde_json::Value;

use super::support::browser::Browser;
use super::support::{Scene, run, stderr};
use super::{assert_clean, click_frame, details};

/// The line of `Prices` that calls the regular expression.
const FIND: u64 = 11;

fn stdout(scene: &Scene, arguments: &[&str]) -> String {
    let output = run(&mut scene.hprof_rs(arguments), "");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_program_pays_for_the_libraries_that_it_calls() {
    let outcome = Run::new(Jdk::feature_release(17))
        .agent("cpu=samples,interval=1,depth=64,file=java.hprof.txt")
        .class("Prices")
        .args(["1"])
        .run();
    let file = outcome.path("java.hprof.txt");
    let file = file.to_str().unwrap();
    let scene = Scene::new();
    let found = stdout(&scene, &["samples", "--json", "--top", "0", file]);
    let found: Value = serde_json::from_str(&found).unwrap();
    let first = &found["own_methods"][0];
    assert_eq!(first["name"], "Prices.parse", "{found}");
    let number = |value: &Value| value.as_u64().unwrap();
    let (cost, own) = (number(&first["cost"]), number(&first["self"]));
    // The matcher does all of it, but for what is inlined in single samples.
    assert!(own < cost / 2, "{first}");
    assert_eq!(first["called"][0], "java.util.regex");
    let headline = found["headline"].as_str().unwrap();
    let end = format!(" % in Prices.parse (Prices.java:{FIND}), of it ");
    assert!(headline.contains(&end), "{headline}");
    assert!(headline.ends_with(" % in java.util.regex"), "{headline}");
    let table = stdout(&scene, &["samples", file]);
    let mut lines = table.lines();
    assert_eq!(lines.nth(1), Some(headline), "{table}");
    let first = lines.find(|line| line.contains("Prices.")).unwrap();
    assert!(first.ends_with("Prices.parse"), "{table}");

    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    stdout(&scene, &["convert", file, "-o", "page.html"]);
    let page = scene.path("page.html");
    browser.go(&page, "");
    let shown = "document.getElementById('headline').textContent";
    let own = format!("{headline}Own code: Prices");
    assert_eq!(browser.text(shown), own);
    let row = "[...document.querySelectorAll('tbody tr:first-child td')].map(it => it.textContent)";
    let row = browser.value(row);
    let row: Vec<&str> = row
        .as_array()
        .unwrap()
        .iter()
        .flat_map(Value::as_str)
        .collect();
    let [.., method, hottest] = row[..] else {
        panic!("{row:?}");
    };
    assert_eq!(method, "Prices.parse");
    assert!(
        hottest.starts_with(&format!("Prices.java:{FIND} ")),
        "{row:?}"
    );
    click_frame(&browser, "Prices.parse");
    let told = details(&browser);
    assert!(
        told.contains(&format!("hottest lines: {hottest}")),
        "{told}"
    );
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.metrics(1280, 800, false);
        browser.go(&page, "?laptop");
        browser.screenshot(&format!("own-laptop-{scheme}.png"));
        browser.metrics(390, 844, true);
        browser.go(&page, &format!("?{scheme}"));
        browser.screenshot(&format!("own-phone-{scheme}.png"));
        assert_eq!(browser.value("document.documentElement.scrollWidth"), 390);
        assert_clean(&browser);
    }
}

#[test]
fn a_pattern_names_the_program() {
    let scene = Scene::new();
    let java = Jdk::feature_release(17).home().join("bin/java");
    let record = [
        "record",
        "--own",
        "java.util.regex",
        "--options",
        "interval=1",
        "-o",
        "page.html",
        "--",
    ];
    let program = [
        java.to_str().unwrap(),
        "-cp",
        classes().to_str().unwrap(),
        "Prices",
        "0.5",
    ];
    stdout(&scene, &[&record[..], &program].concat());
    let page = std::fs::read_to_string(scene.path("page.html")).unwrap();
    assert!(page.contains("\"packages\":[\"java.util.regex\"]"));
    assert!(page.contains(" % in java.util.regex."));
}
