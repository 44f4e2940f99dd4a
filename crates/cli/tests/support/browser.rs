//! Chromium, told by chromedriver's HTTP protocol (<https://www.w3.org/TR/webdriver2/>).

#![allow(clippy::disallowed_macros)] // Tests speak to the user who runs them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The version of axe-core that `scripts/setup browser` fetches.
const AXE: &str = "4.12.1";
/// How long a page may take for what a test waits for.
const PATIENCE: Duration = Duration::from_secs(240);

/// Special keys of WebDriver.
pub mod keys {
    pub const ESCAPE: &str = "\u{e00c}";
    pub const ENTER: &str = "\u{e007}";
    pub const HOME: &str = "\u{e011}";
    pub const LEFT: &str = "\u{e012}";
    pub const UP: &str = "\u{e013}";
    pub const RIGHT: &str = "\u{e014}";
    pub const DOWN: &str = "\u{e015}";
    pub const F3: &str = "\u{e033}";
    pub const CONTROL: &str = "\u{e009}";
    pub const SHIFT: &str = "\u{e008}";
    pub const TAB: &str = "\u{e004}";
}

/// A window without a screen.
pub struct Browser {
    driver: Child,
    agent: ureq::Agent,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// A browser with a window of `width` by `height` pixels. `None` if there is no Chromium, which is an error
    /// wherever all tests have to run.
    pub fn open(width: u32, height: u32) -> Option<Self> {
        let Some(mut driver) = start_driver() else {
            let must = env::var_os("CI").is_some() || env::var_os("HPROF_RS_BROWSER").is_some();
            assert!(
                !must,
                "chromedriver is missing: run `scripts/setup browser`"
            );
            println!("skipped: chromedriver is missing; `scripts/setup browser` installs it");
            return None;
        };
        let port = port_of(&mut driver);
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(400)))
            .build()
            .new_agent();
        let profile = tempfile::tempdir().expect("a temporary folder");
        let arguments = [
            "--headless".to_owned(),
            // Chromium refuses its sandbox to root and in containers.
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-quic".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            format!("--window-size={width},{height}"),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
            // A machine that is busy with other tests takes its time.
            "timeouts": {"script": 300_000, "pageLoad": 300_000},
        }}});
        let mut browser = Self {
            driver,
            agent,
            session: format!("http://127.0.0.1:{port}/session"),
            _profile: profile,
        };
        let answer = browser.post("", &wanted);
        let id = answer["sessionId"].as_str();
        let id = id.unwrap_or_else(|| panic!("no session: {answer}"));
        browser.session = format!("{}/{id}", browser.session);
        browser.metrics(width, height, false);
        Some(browser)
    }

    /// Sets the size of the page in pixels, as on a phone if asked.
    pub fn metrics(&self, width: u32, height: u32, is_phone: bool) {
        let scale = if is_phone { 2 } else { 1 };
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// The preference that the system reports: `light` or `dark`.
    pub fn scheme(&self, scheme: &str) {
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", &media);
    }

    fn devtools(&self, command: &str, parameters: &Value) {
        let call = json!({"cmd": command, "params": parameters});
        self.post("/goog/cdp/execute", &call);
    }

    /// Opens a file, with a suffix to its address.
    pub fn go(&self, file: &Path, hash: &str) {
        let url = format!("file://{}{hash}", file.display());
        self.post("/url", &json!({"url": url}));
    }

    /// Opens an address.
    pub fn visit(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    pub fn back(&self) {
        self.post("/back", &json!({}));
    }

    pub fn forward(&self) {
        self.post("/forward", &json!({}));
    }

    /// The value of an expression.
    pub fn value(&self, expression: &str) -> Value {
        let script = format!("return ({expression});");
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// The value of an expression that is text.
    pub fn text(&self, expression: &str) -> String {
        let value = self.value(expression);
        let text = value.as_str();
        text.unwrap_or_else(|| panic!("{expression} is {value}"))
            .to_owned()
    }

    /// Waits until an expression is true.
    pub fn wait_for(&self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.value(expression) != true {
            assert!(Instant::now() < end, "{expression} did not become true");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks the element that a selector finds, as a person would: it must be there to be seen.
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Types into an element.
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        let text = json!({"text": text});
        self.post(&format!("/element/{element}/value"), &text);
    }

    /// Picks an option of a list.
    pub fn pick(&self, selector: &str, value: &str) {
        self.click(&format!("{selector} option[value=\"{value}\"]"));
    }

    fn element(&self, selector: &str) -> String {
        let by = json!({"using": "css selector", "value": selector});
        let found = self.post("/element", &by);
        let id = found.as_object().and_then(|it| it.values().next());
        id.and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{selector}: {found}"))
            .to_owned()
    }

    /// Presses keys, all of them down before the first comes up.
    pub fn press(&self, keys: &[&str]) {
        let key = |kind: &str, key: &str| json!({"type": kind, "value": key});
        let down = keys.iter().map(|it| key("keyDown", it));
        let up = keys.iter().rev().map(|it| key("keyUp", it));
        let actions: Vec<Value> = down.chain(up).collect();
        self.act(&json!({"type": "key", "id": "keys", "actions": actions}));
    }

    /// Moves the pointer to a place of the window, and clicks there if asked.
    pub fn point(&self, x: f64, y: f64, clicks: bool) {
        let (x, y) = (x.round() as i64, y.round() as i64);
        let mut actions = vec![json!({"type": "pointerMove", "duration": 0, "x": x, "y": y})];
        if clicks {
            actions.push(json!({"type": "pointerDown", "button": 0}));
            actions.push(json!({"type": "pointerUp", "button": 0}));
        }
        self.act(&json!({"type": "pointer", "id": "mouse", "actions": actions}));
    }

    /// Drags from a place to another with a key held, if any.
    pub fn drag(&self, from: (f64, f64), to: (f64, f64), held: Option<&str>) {
        let place = |(x, y): (f64, f64)| {
            let (x, y) = (x.round() as i64, y.round() as i64);
            json!({"type": "pointerMove", "duration": 0, "x": x, "y": y})
        };
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        let pointer = json!({"type": "pointer", "id": "mouse", "actions": [
            place(from), {"type": "pointerDown", "button": 0}, place(middle), place(to),
            {"type": "pointerUp", "button": 0},
        ]});
        let key = |kind: &str, key: &str| {
            let action = json!({"type": kind, "value": key});
            self.act(&json!({"type": "key", "id": "keys", "actions": [action]}));
        };
        held.into_iter().for_each(|it| key("keyDown", it));
        self.act(&pointer);
        held.into_iter().for_each(|it| key("keyUp", it));
    }

    fn act(&self, source: &Value) {
        self.post("/actions", &json!({"actions": [source]}));
    }

    /// Errors that the browser has told of, none of which a page should cause.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        let entries = log.as_array().expect("a log").iter();
        entries
            .filter(|entry| entry["level"] == "SEVERE")
            .map(|entry| entry["message"].to_string())
            .collect()
    }

    /// The faults that axe-core finds, of at least serious impact; none if axe-core is missing on a
    /// machine that need not run all tests.
    pub fn inaccessible(&self) -> Vec<String> {
        let Some(axe) = axe() else {
            return Vec::new();
        };
        let run = "const done = arguments[arguments.length - 1]; \
             axe.run(document, {resultTypes: ['violations']}).then(found => done(found.violations\
             .filter(it => it.impact === 'serious' || it.impact === 'critical')\
             .map(it => it.id + ': ' + it.nodes.map(node => node.html.slice(0, 200) + ' ' + \
             node.failureSummary).join(' | '))), error => done(['axe: ' + error]));";
        let script = json!({"script": axe, "args": []});
        self.post("/execute/sync", &script);
        let found = self.post("/execute/async", &json!({"script": run, "args": []}));
        let found = found.as_array().unwrap_or_else(|| panic!("{found}")).iter();
        found.map(|line| line.to_string()).collect()
    }

    /// A picture of what is in sight, as a PNG file in the folder that `HPROF_RS_SCREENSHOTS`
    /// names; nothing without.
    pub fn screenshot(&self, name: &str) {
        let Some(folder) = env::var_os("HPROF_RS_SCREENSHOTS") else {
            return;
        };
        let picture = self.get("/screenshot");
        let picture = picture.as_str().expect("a picture");
        fs::write(Path::new(&folder).join(name), base64(picture)).expect("room for a picture");
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let mut answer = self
            .agent
            .post(&url)
            .send_json(body)
            .expect("chromedriver answers");
        let value: Value = answer
            .body_mut()
            .with_config()
            .limit(64 << 20)
            .read_json()
            .expect("JSON");
        check(path, value)
    }

    fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.session);
        let mut answer = self.agent.get(&url).call().expect("chromedriver answers");
        let value: Value = answer
            .body_mut()
            .with_config()
            .limit(64 << 20)
            .read_json()
            .expect("JSON");
        check(path, value)
    }
}

/// The value of an answer that is no error.
fn check(path: &str, mut answer: Value) -> Value {
    let value = answer["value"].take();
    assert!(
        value["error"].is_null(),
        "{path}: {} {}",
        value["error"],
        value["message"]
    );
    value
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends Chromium too.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn start_driver() -> Option<Child> {
    Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

fn port_of(driver: &mut Child) -> u16 {
    let stdout = driver.stdout.take().expect("a pipe");
    for line in BufReader::new(stdout).lines() {
        let line = line.expect("text");
        let port = line.strip_prefix("ChromeDriver was started successfully on port ");
        if let Some(port) = port {
            return port.trim_end_matches('.').parse().expect("a port");
        }
    }
    panic!("chromedriver ends without a port");
}

fn axe() -> Option<String> {
    let cache = env::var_os("HPROF_RS_CACHE")
        .map(PathBuf::from)
        .or_else(|| {
            let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let caches = caches.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")));
            Some(caches?.join("hprof-rs"))
        })?;
    let file = cache.join(format!("axe/{AXE}.js"));
    let found = fs::read_to_string(&file).ok();
    let must = env::var_os("CI").is_some() || env::var_os("HPROF_RS_BROWSER").is_some();
    assert!(
        found.is_some() || !must,
        "{} is missing: run `scripts/setup browser`",
        file.display()
    );
    if found.is_none() {
        println!("not looked at with axe-core; `scripts/setup browser` fetches it");
    }
    found
}

/// Bytes from base64 (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|&c| c != b'=').map(digit).collect();
    let group = |group: &[u8]| {
        let bits = group
            .iter()
            .fold(0u32, |bits, &it| bits << 6 | u32::from(it));
        let bits = bits << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}
