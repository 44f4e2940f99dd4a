//! Pages of flame graphs in a browser: each control is clicked, each key pressed.

mod heads;
mod own;
mod picture;
#[path = "../support/mod.rs"]
mod support;
mod threads;
mod time;

use std::path::PathBuf;

use support::browser::{Browser, keys};
use support::{Scene, run, stderr};

/// A profile with hostile names, three threads, and one method at two places.
const PROFILE: &str = "\
JAVA PROFILE 1.0.1, created Sun Nov 22 05:47:37 2026

Header.

--------

# hprof-rs agent: version=0.1.0 pid=7 format=a modes=cpu=samples main=shop.Main --fast
THREAD START (obj=50000009, id = 200001, name=\"main\", group=\"main\")
THREAD START (obj=50000010, id = 200002, name=\"worker\", group=\"main\")
TRACE 300001: (thread=200001)
\tshop.Cart.sum(Cart.java:5)
\tshop.Main.main(Main.java:1)
TRACE 300002: (thread=200001)
\tjava.util.HashMap.get(HashMap.java:5)
\tshop.Cart.sum(Cart.java:6)
\tshop.Main.main(Main.java:1)
TRACE 300003: (thread=200002)
\tshop.Cart.sum(Cart.java:5)
\tshop.<img src=x onerror=alert>.run(Order.java:9)
TRACE 300004: (thread=200002)
\tshop.Tiny.tiny(Tiny.java:1)
\tshop.Main.main(Main.java:1)
CPU SAMPLES BEGIN (total = 20000) Sun Nov 22 05:47:38 2026
rank   self  accum   count trace method
   1 50.00% 50.00%   10000 300001 shop.Cart.sum
   2 30.00% 80.00%    6000 300002 java.util.HashMap.get
   3 19.99% 99.99%    3998 300003 shop.Cart.sum
   4  0.01% 100.0%       2 300004 shop.Tiny.tiny
CPU SAMPLES END
# hprof-rs 0.1.0: engine=signal signal=27 interval_ms=10 samples=20000 stacks=4 cpu_ms=75400 threads=3
";

/// A page of a file made of a text, and a browser that shows it.
fn show(name: &str, text: &str, arguments: &[&str]) -> Option<(Scene, PathBuf, Browser)> {
    let browser = Browser::open(1280, 800)?;
    let scene = Scene::new();
    std::fs::write(scene.path(name), text).unwrap();
    let mut all = vec!["convert", name, "-o", "page.html"];
    all.extend(arguments);
    let output = run(&mut scene.hprof_rs(&all), "");
    assert!(output.status.success(), "{}", stderr(&output));
    let page = scene.path("page.html");
    browser.go(&page, "");
    Some((scene, page, browser))
}

fn matched(browser: &Browser) -> String {
    browser.text("document.getElementById('matched').textContent")
}

fn details(browser: &Browser) -> String {
    browser.text("document.getElementById('details').textContent")
}

/// The middle of a frame that is drawn.
fn place(browser: &Browser, frame: &str) -> (f64, f64) {
    let found = browser.value(&format!("hprofFrame({frame:?})"));
    let number = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("no {frame}"));
    (
        number("x") + number("width").min(1200.0) / 2.0,
        number("y") + number("height") / 2.0,
    )
}

fn click_frame(browser: &Browser, frame: &str) {
    let (x, y) = place(browser, frame);
    browser.point(x, y, true);
}

fn width(browser: &Browser, frame: &str) -> f64 {
    let width = browser.value(&format!("(hprofFrame({frame:?}) || {{width: 0}}).width"));
    width.as_f64().unwrap()
}

fn hash(browser: &Browser) -> String {
    browser.text("location.hash")
}

fn names(browser: &Browser) -> Vec<String> {
    let list = "[...document.querySelectorAll('td.name')].map(cell => cell.textContent)";
    let list = browser.value(list);
    let cells = list.as_array().unwrap().iter();
    cells
        .map(|cell| cell.as_str().unwrap().to_owned())
        .collect()
}

fn assert_clean(browser: &Browser) {
    assert_eq!(browser.inaccessible(), [] as [String; 0]);
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn the_head_names_program_mode_and_samples() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    let title = "shop.Main --fast, CPU samples every 10 ms";
    assert_eq!(browser.text("document.title"), title);
    assert_eq!(
        browser.text("document.querySelector('h1').textContent"),
        title
    );
    let about = browser.text("document.getElementById('about').textContent");
    for part in [
        "20,000 samples",
        "3 threads",
        "process 7",
        "hprof-rs 0.1.0",
        "java.hprof.txt",
    ] {
        assert!(about.contains(part), "{about}");
    }
    let remarks = browser.text("document.getElementById('remark-lines').textContent");
    assert!(remarks.contains("engine=signal"), "{remarks}");
    // Names stay text.
    let hostile = "shop.<img src=x onerror=alert>.run";
    assert!(width(&browser, hostile) > 100.0);
    assert!(names(&browser).iter().any(|name| name == hostile) || names(&browser).len() >= 3);
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    assert_eq!(
        browser.value("document.querySelectorAll('iframe').length"),
        0
    );
    assert_clean(&browser);
}

#[test]
fn the_head_warns_of_cut_stacks_and_tells_the_duration() {
    // The only stack of three frames begins where no thread begins.
    let profile = format!("{PROFILE}# hprof-rs: run_ms=75400 depth=3\n").replace(
        "\tshop.Main.main(Main.java:1)\nTRACE 300003",
        "\tshop.Web.serve(Main.java:1)\nTRACE 300003",
    );
    let Some((_scene, _, browser)) = show("java.hprof.txt", &profile, &[]) else {
        return;
    };
    let title = browser.text("document.title");
    assert_eq!(title, "shop.Main --fast, CPU samples every 10 ms, 75 s");
    let warning = browser.text("document.getElementById('warnings').textContent");
    assert!(
        warning.starts_with("1 of 4 stacks are cut at 3 frames"),
        "{warning}"
    );
    assert_clean(&browser);
}

#[test]
fn stacks_can_be_copied() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    assert_eq!(
        browser.value("document.getElementById('copy').disabled"),
        true
    );
    click_frame(&browser, "java.util.HashMap.get");
    browser.click("#copy");
    browser.wait_for("document.getElementById('copy').textContent === 'Copied'");
    browser.click("#search");
    browser.press(&[keys::CONTROL, "v"]);
    browser.wait_for("document.getElementById('search').value !== ''");
    let pasted = browser.text("document.getElementById('search').value");
    assert!(pasted.starts_with("java.util.HashMap.get"), "{pasted}");
    assert!(pasted.ends_with("shop.Main.main"), "{pasted}");
    assert_clean(&browser);
}

#[test]
fn threads_are_told_apart() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    let choices =
        "[...document.querySelectorAll('#thread option')].map(it => it.textContent).join('|')";
    let text = browser.text(choices);
    assert_eq!(
        text,
        "all together|each apart|main \u{2014} 16,000 samples|worker \u{2014} 4,000 samples"
    );
    browser.pick("#thread", "apart");
    assert!(width(&browser, "worker") > 100.0);
    browser.click("#thread option:nth-child(4)");
    assert_eq!(width(&browser, "java.util.HashMap.get"), 0.0);
    let rows = names(&browser);
    assert!(
        !rows.contains(&"java.util.HashMap.get".to_owned()),
        "{rows:?}"
    );
    browser.click("#reverse");
    assert!(width(&browser, "shop.Cart.sum") > width(&browser, "all") * 0.99);
    browser.pick("#thread", "");
    assert!(width(&browser, "java.util.HashMap.get") > 100.0);
    assert_clean(&browser);
}

#[test]
fn the_table_sorts_and_leads_to_the_picture() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    assert_eq!(
        names(&browser)[..2],
        ["shop.Cart.sum", "java.util.HashMap.get"]
    );
    let cells = browser.text("[...document.querySelectorAll('tbody tr:first-child td')].map(it => it.textContent).join('|')");
    // By the innermost method of the program, by itself, and with calls; then the hottest lines.
    assert_eq!(
        cells,
        "19,998|99.99%||13,998|69.99%|19,998|99.99%|shop.Cart.sum|Cart.java:5 69.99%, :6 30.00%"
    );
    // By the cost with calls, then by name, then the other way round.
    browser.click("th:nth-of-type(3) button");
    assert_eq!(names(&browser)[1], "shop.Main.main");
    browser.click("th.name button");
    assert_eq!(names(&browser)[0], "java.util.HashMap.get");
    browser.click("th.name button");
    assert_eq!(names(&browser).last().unwrap(), "java.util.HashMap.get");
    browser.click("tbody tr:last-child button");
    browser.wait_for("document.getElementById('matched').textContent !== ''");
    assert!(
        matched(&browser).starts_with("Matched: 30.00%"),
        "{}",
        matched(&browser)
    );
    assert!(details(&browser).starts_with("java.util.HashMap.get"));
    assert_clean(&browser);
}

#[test]
fn every_measure_has_a_tab_in_its_own_words() {
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    let scene = Scene::new();
    let file = support::data("heap-sites-thread.txt");
    let output = run(
        &mut scene.hprof_rs(&["convert", &file, "-o", "page.html"]),
        "",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    browser.go(&scene.path("page.html"), "");
    let head = "[...document.querySelectorAll('thead button')].map(it => it.textContent).join('|')";
    let mut heads = Vec::new();
    for tab in 1..=4 {
        browser.click(&format!("#tabs button:nth-child({tab})"));
        heads.push(browser.text(head));
        assert_eq!(browser.complaints(), [] as [String; 0]);
    }
    assert_eq!(
        heads[0],
        "Own code \u{2193}|Alive from here|From here and calls|Method"
    );
    assert_eq!(
        heads[2],
        "Own code \u{2193}|Allocated here|Here and in calls|Method"
    );
    assert!(heads.iter().all(|head| !head.contains("Self")), "{heads:?}");
    browser.press(&[keys::LEFT]);
    assert!(hash(&browser).contains("view=2"), "{}", hash(&browser));
    // What was allocated, apart from where.
    browser.click(".table-tools button:nth-of-type(2)");
    assert!(
        names(&browser).iter().any(|name| name == "int[]"),
        "{:?}",
        names(&browser)
    );
    let more = browser.value("document.querySelectorAll('.more').length");
    if more == 1 {
        browser.click(".more");
    }
    browser.click(".table-tools button:nth-of-type(1)");
    assert_clean(&browser);
}

#[test]
fn a_difference_is_red_and_blue_and_told_in_numbers() {
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    let scene = Scene::new();
    let after = PROFILE
        .replace("   10000 300001", "   12000 300001")
        .replace("    6000 300002", "    4000 300002");
    std::fs::write(scene.path("a.txt"), PROFILE).unwrap();
    std::fs::write(scene.path("b.txt"), after).unwrap();
    let arguments = ["diff", "--flamegraph", "page.html", "a.txt", "b.txt"];
    let output = run(&mut scene.hprof_rs(&arguments), "");
    assert!(output.status.success(), "{}", stderr(&output));
    browser.go(&scene.path("page.html"), "");
    click_frame(&browser, "java.util.HashMap.get");
    let line = details(&browser);
    assert!(
        line.contains("before 6,000, after 4,000: \u{2212}2,000 (-33.3%)"),
        "{line}"
    );
    browser.press(&[keys::ESCAPE]);
    let colour = |browser: &Browser, name: &str| -> Vec<i64> {
        let (x, y) = place(browser, name);
        let pixel = browser.value(&format!(
            "(() => {{ const g = document.getElementById('graph'), b = g.getBoundingClientRect(), \
             s = g.width / b.width; return [...g.getContext('2d').getImageData(({x} - b.left) * s, \
             ({y} - b.top) * s - 7, 1, 1).data]; }})()"
        ));
        pixel
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_i64().unwrap())
            .collect()
    };
    browser.click("#reset");
    let blue = colour(&browser, "java.util.HashMap.get");
    assert!(blue[2] > blue[0], "{blue:?}");
    browser.click("#reverse");
    let red = colour(&browser, "shop.Cart.sum");
    assert!(red[0] > red[2], "{red:?}");
    browser.click("#tabs button:nth-child(2)");
    assert!(
        browser
            .text("document.getElementById('legend').textContent")
            .contains("costs less")
    );
    let rows = "[...document.querySelectorAll('tbody tr:first-child td')].map(it => it.textContent).join('|')";
    let row = browser.text(rows);
    assert!(row.contains("2,000|"), "{row}");
    assert_clean(&browser);
}

#[test]
fn a_phone_shows_the_picture_at_once() {
    let Some((_scene, page, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.metrics(1280, 800, false);
        browser.go(&page, "?laptop");
        browser.screenshot(&format!("flame-laptop-{scheme}.png"));
        browser.metrics(390, 844, true);
        browser.go(&page, &format!("?{scheme}"));
        browser.screenshot(&format!("flame-phone-{scheme}.png"));
        let (_, y) = place(&browser, "shop.Main.main");
        assert!((0.0..844.0).contains(&y), "{y}");
        assert_eq!(browser.value("document.documentElement.scrollWidth"), 390);
        browser.click("#options");
        browser.pick("#order", "name");
        browser.click("#options");
        assert_clean(&browser);
    }
}

#[test]
fn a_page_prints_all_of_the_picture() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    browser.scheme("dark");
    browser.value("window.dispatchEvent(new Event('beforeprint'))");
    assert_eq!(
        browser.text("document.documentElement.dataset.theme"),
        "light"
    );
    let full = "document.getElementById('graph').clientHeight === document.getElementById('room').clientHeight";
    assert_eq!(browser.value(full), true);
    browser.value("window.dispatchEvent(new Event('afterprint'))");
    assert_eq!(
        browser.text("document.documentElement.dataset.theme"),
        "dark"
    );
    assert_clean(&browser);
}

#[test]
fn a_profile_of_nothing_is_a_page_too() {
    let empty = "JAVA PROFILE 1.0.1, created Sun Nov 22 05:47:37 2026\n\nHeader.\n\n--------\n\n\
        CPU SAMPLES BEGIN (total = 0) Sun Nov 22 05:47:38 2026\n\
        rank   self  accum   count trace method\nCPU SAMPLES END\n";
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    let scene = Scene::new();
    std::fs::write(scene.path("a.txt"), empty).unwrap();
    let output = run(
        &mut scene.hprof_rs(&["convert", "a.txt", "-o", "page.html"]),
        "",
    );
    // Nothing to draw is said in a sentence, or on the page.
    if output.status.success() {
        browser.go(&scene.path("page.html"), "");
        assert!(
            browser
                .text("document.body.innerText")
                .contains("Nothing was counted")
        );
        assert_clean(&browser);
    } else {
        assert!(stderr(&output).contains("nothing"), "{}", stderr(&output));
    }
}
