//! The picture of a page: search, zoom, keys, order and colours.

use super::*;

#[test]
fn the_search_marks_counts_and_walks() {
    let Some((_scene, page, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    assert_eq!(matched(&browser), "");
    browser.press(&[keys::CONTROL, "f"]);
    assert_eq!(browser.text("document.activeElement.id"), "search");
    browser.type_into("#search", "cart\\.(sum|x)");
    browser.wait_for("document.getElementById('matched').textContent !== ''");
    // Each sample counts once: 10,000 + 6,000 + 3,998.
    let line = matched(&browser);
    assert!(
        line.starts_with("Matched: 99.99%, 19,998 samples; 1 name"),
        "{line}"
    );
    assert!(line.ends_with("2 in sight"), "{line}");
    browser.press(&[keys::F3]);
    assert!(
        matched(&browser).contains("1 of 2 in sight"),
        "{}",
        matched(&browser)
    );
    assert!(
        details(&browser).starts_with("shop.Cart.sum"),
        "{}",
        details(&browser)
    );
    browser.press(&[keys::F3]);
    assert!(matched(&browser).contains("2 of 2 in sight"));
    browser.press(&[keys::SHIFT, keys::F3]);
    assert!(matched(&browser).contains("1 of 2 in sight"));
    browser.click("#next");
    assert!(matched(&browser).contains("2 of 2 in sight"));
    browser.click("#previous");
    assert!(matched(&browser).contains("1 of 2 in sight"));
    assert!(hash(&browser).contains("search="), "{}", hash(&browser));
    assert_clean(&browser);
    browser.click("#graph");
    browser.press(&["n"]);
    browser.press(&[keys::ESCAPE]);
    browser.wait_for("document.getElementById('matched').textContent === ''");
    assert_eq!(browser.text("document.getElementById('search').value"), "");
    browser.press(&["/"]);
    browser.type_into("#search", "(sum");
    browser.wait_for("document.getElementById('search').getAttribute('aria-invalid') === 'true'");
    assert!(matched(&browser).contains("Not a regular expression"));
    // The address alone brings the search back.
    browser.go(&page, "?again#search=HashMap");
    assert!(
        matched(&browser).starts_with("Matched: 30.00%, 6,000 samples"),
        "{}",
        matched(&browser)
    );
    assert_clean(&browser);
}

#[test]
fn a_click_zooms_and_the_way_back_is_long() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    let before = width(&browser, "java.util.HashMap.get");
    let all = width(&browser, "all");
    assert_eq!(
        browser.value("document.getElementById('reset').disabled"),
        true
    );
    click_frame(&browser, "java.util.HashMap.get");
    assert!(width(&browser, "java.util.HashMap.get") > 2.0 * before);
    assert!(width(&browser, "java.util.HashMap.get") >= all - 1.0);
    assert!(hash(&browser).contains("zoom="), "{}", hash(&browser));
    let line = details(&browser);
    assert!(
        line.contains("java.util.HashMap.get \u{2014} 6,000 samples, 30.00% of all; 37.50% of the frame that calls it"),
        "{line}"
    );
    browser.back();
    browser.wait_for("location.hash === ''");
    assert!((width(&browser, "java.util.HashMap.get") - before).abs() < 1.0);
    browser.forward();
    browser.wait_for("location.hash !== ''");
    assert!(width(&browser, "java.util.HashMap.get") >= all - 1.0);
    browser.click("#reset");
    assert!((width(&browser, "java.util.HashMap.get") - before).abs() < 1.0);
    // Escape zooms out one step, Home all the way.
    click_frame(&browser, "java.util.HashMap.get");
    browser.press(&[keys::ESCAPE]);
    let line = details(&browser);
    assert!(
        line.starts_with("shop.Cart.sum \u{2014} 16,000 samples"),
        "{line}"
    );
    browser.click("#graph");
    browser.press(&[keys::HOME]);
    assert!((width(&browser, "java.util.HashMap.get") - before).abs() < 1.0);
    browser.press(&["0"]);
    assert_clean(&browser);
}

#[test]
fn keys_move_from_frame_to_frame() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    browser.value("document.getElementById('graph').focus()");
    browser.press(&[keys::UP]);
    assert!(
        details(&browser).starts_with("shop.Main.main"),
        "{}",
        details(&browser)
    );
    browser.press(&[keys::RIGHT]);
    assert!(
        details(&browser).contains("onerror"),
        "{}",
        details(&browser)
    );
    browser.press(&[keys::LEFT]);
    browser.press(&[keys::UP]);
    assert!(
        details(&browser).starts_with("shop.Cart.sum"),
        "{}",
        details(&browser)
    );
    browser.press(&[keys::DOWN]);
    assert!(
        details(&browser).starts_with("shop.Main.main"),
        "{}",
        details(&browser)
    );
    browser.press(&[keys::ENTER]);
    assert!(hash(&browser).contains("zoom="), "{}", hash(&browser));
    browser.press(&["0"]);
    browser.press(&["?"]);
    assert_eq!(
        browser.value("document.getElementById('keys').hidden"),
        false
    );
    browser.click("#help");
    assert_eq!(
        browser.value("document.getElementById('keys').hidden"),
        true
    );
    browser.click("#help");
    browser.press(&[keys::ESCAPE]);
    assert_eq!(
        browser.value("document.getElementById('keys').hidden"),
        true
    );
    assert_clean(&browser);
}

#[test]
fn the_picture_turns_and_sorts() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    let y = |browser: &Browser, name: &str| place(browser, name).1;
    assert!(y(&browser, "all") > y(&browser, "shop.Main.main"));
    browser.click("#invert");
    assert!(y(&browser, "all") < y(&browser, "shop.Main.main"));
    browser.press(&["i"]);
    assert!(y(&browser, "all") > y(&browser, "shop.Main.main"));
    // From the innermost method on, all that a method costs by itself is one frame.
    browser.click("#reverse");
    assert!(width(&browser, "shop.Cart.sum") > width(&browser, "all") * 0.69);
    assert!(y(&browser, "shop.Cart.sum") > y(&browser, "shop.Main.main"));
    click_frame(&browser, "shop.Cart.sum");
    let line = details(&browser);
    assert!(line.contains("13,998 samples, 69.99% of all"), "{line}");
    browser.press(&["r"]);
    assert_eq!(
        browser.text("document.getElementById('reverse').getAttribute('aria-pressed')"),
        "false"
    );
    let x = |browser: &Browser, name: &str| place(browser, name).0;
    let hostile = "shop.<img src=x onerror=alert>.run";
    assert!(x(&browser, "shop.Main.main") < x(&browser, hostile));
    browser.pick("#order", "name");
    assert!(x(&browser, "shop.Main.main") > x(&browser, hostile));
    browser.value("document.getElementById('graph').focus()");
    browser.press(&["o"]);
    browser.wait_for("document.getElementById('order').value === 'cost'");
    assert!(hash(&browser).is_empty(), "{}", hash(&browser));
    assert_clean(&browser);
}

#[test]
fn narrow_frames_are_gathered_and_colours_explained() {
    let Some((_scene, _, browser)) = show("java.hprof.txt", PROFILE, &[]) else {
        return;
    };
    // Two of 20,000 samples are narrower than half a pixel, until one zooms.
    assert_eq!(width(&browser, "shop.Tiny.tiny"), 0.0);
    browser.pick("#least", "6");
    assert!(hash(&browser).contains("least=6"));
    browser.pick("#least", "0.5");
    let legend = "document.getElementById('legend').textContent";
    let text = browser.text(legend);
    assert!(
        text.contains("program 70.00%") && text.contains("JDK 30.00%"),
        "{text}"
    );
    browser.pick("#colours", "package");
    let text = browser.text(legend);
    assert!(
        text.contains("shop 70.00%") && text.contains("java.util 30.00%"),
        "{text}"
    );
    let (x, y) = place(&browser, "shop.Cart.sum");
    browser.point(x, y, false);
    let tip = browser.text("document.getElementById('tip').textContent");
    assert!(
        tip.starts_with("shop.Cart.sum16,000 samples, 80.00% of all"),
        "{tip}"
    );
    assert!(tip.contains("self: 10,000 samples"), "{tip}");
    browser.pick("#theme", "dark");
    assert_eq!(
        browser.text("document.documentElement.dataset.theme"),
        "dark"
    );
    assert_clean(&browser);
    browser.pick("#theme", "light");
    assert_eq!(
        browser.text("document.documentElement.dataset.theme"),
        "light"
    );
    browser.pick("#theme", "auto");
    browser.scheme("dark");
    browser.wait_for("document.documentElement.dataset.theme === 'dark'");
    assert_clean(&browser);
}
