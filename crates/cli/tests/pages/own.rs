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

    annotates(&scene, file);

    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    stdout(&scene, &["convert", file, "-o", "page.html"]);
    let page = scene.path("page.html");
    browser.go(&page, "");
    let shown = "document.getElementById('headline').textContent";
    let own = format!("{headline}Own code: Prices");
    // Numbers stay beside their signs.
    assert_eq!(browser.text(shown).replace('\u{a0}', " "), own);
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
    shows_source(&scene, &browser, file);
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

/// The source of a method in pages, with links for an editor where they are asked for. The sources are in `shop`.
fn shows_source(scene: &Scene, browser: &Browser, file: &str) {
    let page = scene.path("source.html");
    let shown = |more: &[&str]| {
        let all = [&["convert", file, "-o", "source.html"][..], more].concat();
        let output = run(&mut scene.hprof_rs(&all), "");
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    shown(&[]);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(
        !text.contains("matcher.find()"),
        "a page has no source unasked"
    );
    shown(&["--sources", "shop"]);
    browser.metrics(1280, 800, false);
    browser.go(&page, "?source");
    click_frame(browser, "Prices.parse");
    let row = format!(
        "[...document.querySelectorAll('#source tr')].find(row => row.children[2].textContent === '{FIND}')"
    );
    let code = browser.text(&format!("{row}.children[3].textContent"));
    assert_eq!(code.trim(), "while (matcher.find()) {");
    let share = browser.text(&format!("{row}.children[0].textContent"));
    let share: f64 = share.trim_end_matches('%').parse().unwrap();
    assert!(share > 30.0, "{share}");
    let head = browser.text("document.querySelector('#source h2').textContent");
    let file_and_line = format!("src/main/java/Prices.java:{FIND}");
    assert!(head.starts_with(&file_and_line), "{head}");
    assert_eq!(
        browser.value("document.querySelectorAll('#source a').length"),
        0
    );
    browser.screenshot("own-source.png");
    // The editor's sources are those of the build tool's layout below the working folder.
    shown(&["--editor", "idea"]);
    browser.go(&page, "?idea");
    click_frame(browser, "Prices.parse");
    let link = browser.text("document.querySelector('#source h2 a').href");
    assert!(link.starts_with("idea://open?file=/"), "{link}");
    let end = format!("/shop/src/main/java/Prices.java&line={FIND}");
    assert!(link.ends_with(&end), "{link}");
    assert_clean(browser);
    std::fs::create_dir_all(scene.path("none")).unwrap();
    let told = shown(&["--sources", "none"]);
    assert!(
        told.contains("Prices.main") && told.contains("no such file in none"),
        "{told}"
    );
    let refused = scene
        .hprof_rs(&["convert", file, "--sources", "shop", "-o", "p.svg"])
        .output();
    assert!(stderr(&refused.unwrap()).contains("for pages"));
}

/// The source of a method at a terminal, with and without the file.
fn annotates(scene: &Scene, file: &str) {
    let sources = java_test_harness::java_sources();
    let folder = sources.to_str().unwrap();
    let annotate = ["samples", file, "--annotate", "Prices.parse"];
    let with = [&annotate[..], &["--sources", folder]].concat();
    let text = stdout(scene, &with);
    let find = text
        .lines()
        .find(|line| line.contains("while (matcher.find())"));
    let find: Vec<&str> = find.unwrap().split_whitespace().collect();
    // Its own cost may be there or not; then the cost with calls, and the line.
    let number = FIND.to_string();
    let place = find.iter().position(|cell| *cell == number).unwrap();
    let share: f64 = find[place - 1].trim_end_matches('%').parse().unwrap();
    assert!(share > 30.0, "{text}");
    assert!(text.contains("static void parse(String text) {"), "{text}");
    assert!(text.contains("sum += digits(text);"), "{text}");
    // Another method.
    assert!(!text.contains("static long digits"), "{text}");
    let json = |arguments: &[&str]| -> Value {
        let text = stdout(scene, &[arguments, &["--json"]].concat());
        serde_json::from_str(&text).unwrap()
    };
    let found = json(&with);
    let total = found["total"].as_u64().unwrap() as f64;
    let lines = found["lines"].as_array().unwrap();
    let line = lines.iter().find(|line| line["line"] == FIND).unwrap();
    let exact = line["total"].as_u64().unwrap() as f64 * 100.0 / total;
    assert!((exact - share).abs() < 0.1, "{exact} {share}");
    assert_eq!(found["missing"], Value::Null);
    // Without the file, lines have numbers, and a sentence has the remedy.
    let text = stdout(scene, &annotate);
    assert!(text.contains(&format!("{number}\n")), "{text}");
    let remedy = "no source: Prices.java of Prices is not in src/main/java and the like below this folder; name the folder with --sources DIR";
    assert!(text.contains(remedy), "{text}");
    assert_eq!(json(&annotate)["missing"], remedy);
    // As a build tool has it.
    let layout = scene.path("shop/src/main/java");
    std::fs::create_dir_all(&layout).unwrap();
    std::fs::copy(sources.join("Prices.java"), layout.join("Prices.java")).unwrap();
    let text = stdout(scene, &annotate);
    assert!(text.contains("shop/src/main/java/Prices.java\n"), "{text}");
    for (arguments, part) in [
        (
            &["--annotate", "Prices.prase"][..],
            "no stack has a method Prices.prase",
        ),
        (
            &["--annotate", "parse", "--sources", "none"],
            "there is no folder none",
        ),
        (&["--sources", "."], "--annotate"),
    ] {
        let all = [&["samples", file][..], arguments].concat();
        let output = run(&mut scene.hprof_rs(&all), "");
        assert!(!output.status.success(), "{arguments:?}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
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
