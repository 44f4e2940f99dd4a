// The page of a running JVM in Chromium against the mock: every control, keys, growth, hostile names, axe.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { audit, LAPTOP, launch, openPage, options, PHONE } from "./browser.mjs";

let server;
const servers = new Set();
let browser;

before(async () => {
  if (options.skip) return;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  // A test that failed has left its server, which would keep this process alive.
  for (const left of servers) await left.close();
});

/** Each test has JVMs of its own. */
async function open(path, more = {}) {
  server = await start({ speed: more.speed ?? 4 });
  const own = server;
  servers.add(own);
  const found = await openPage(browser, server.url + path, more);
  return { ...found, jvms: server.live, close: async () => (await found.close(), servers.delete(own), own.close()) };
}

const record = (jvms, id = "4711") => jvms.act(jvms.jvms.get(id), "attach", { modes: ["cpu", "alloc"] });
const samples = (page) => page.locator(".timeline .dim[role=status]").textContent().then((text) => Number(/[\d,]+/.exec(text)[0].replaceAll(",", "")));
const grows = (page, before) => page.waitForFunction((before) => Number(/[\d,]+/.exec(document.querySelector(".timeline .dim[role=status]").textContent)?.[0].replaceAll(",", "")) > before, before);

/** Holds the picture still: what was asked for before comes yet. */
async function holdStill(page) {
  const asked = new Set();
  page.on("request", (request) => request.url().includes("/profile") && asked.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => asked.delete(request));
  // Requests of before the listeners have their answers by the next one's.
  await grows(page, await samples(page));
  await page.getByRole("button", { name: "Hold still" }).click();
  while (asked.size) await page.waitForTimeout(50);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

test("every view of a running JVM draws, in light and dark, on a laptop and a phone", { ...options, timeout: 900_000 }, async () => {
  for (const [viewport, colorScheme] of [[LAPTOP, "light"], [LAPTOP, "dark"], [PHONE, "light"]]) {
    const { page, jvms, close } = await open("/", { viewport, colorScheme });
    await page.getByRole("link", { name: "com.acme.shop.Main", exact: true }).waitFor();
    await audit(page, `start ${colorScheme} ${viewport.width}`);
    await page.goto(server.url + "/jvms/4711");
    await page.getByRole("button", { name: "Attach and record" }).waitFor();
    await audit(page, `attach ${colorScheme} ${viewport.width}`);
    await record(jvms);
    for (const address of ["/jvms/4711", "/jvms/4711/methods", "/jvms/4711/tree", "/jvms/4711/histogram", "/jvms/4711/threads", "/jvms/4711/memory", "/jvms/4711/threads?thread=4720", "/jvms/net-1", "/jvms/net-1/threads", "/jvms/1", "/jvms/1/histogram"]) {
      await page.goto(server.url + address);
      await page.waitForFunction(() => document.querySelector(".live-state") && !document.querySelector(".skeleton"));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(wide, false, `${address} is wider than ${viewport.width}`);
      await audit(page, `${address} ${colorScheme} ${viewport.width}`);
    }
    await close();
  }
});

test("from the list of JVMs one attaches with keys only, and the recording grows", options, async () => {
  const { page, jvms, close } = await open("/");
  await page.getByRole("link", { name: "Watch: com.acme.shop.Main" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/jvms\/4711$/);
  await page.getByText("Not attached").waitFor();
  assert.equal(await page.getByRole("checkbox", { name: /^CPU/ }).isChecked(), true, "what most begin with");
  await page.getByRole("checkbox", { name: /^Locks/ }).focus();
  await page.keyboard.press("Space");
  await page.getByText("More options of the agent").click();
  await page.getByRole("textbox").fill("nonsense=1");
  await page.getByRole("button", { name: "Attach and record" }).press("Enter");
  await page.getByRole("alert").getByText("nonsense: no such option of the agent").waitFor();
  await page.getByRole("textbox").fill("depth=128");
  await page.getByRole("button", { name: "Attach and record" }).press("Enter");
  await page.getByText("Recording", { exact: false }).first().waitFor();
  assert.deepEqual(jvms.asked.at(-1), ["attach", { modes: ["cpu", "lock"], options: "depth=128" }]);
  await page.locator("canvas").waitFor();
  await page.getByText("Agent: 0.4% of a core").waitFor();
  assert.equal(await page.getByRole("button", { name: "Locks", pressed: true }).isDisabled(), true, "locks are recorded to the end");
  await grows(page, await samples(page));
  await close();
});

test("the flame graph grows without losing zoom, search, choice or place", options, async () => {
  const { page, jvms, close } = await open("/");
  await record(jvms);
  jvms.tick();
  await page.goto(server.url + "/jvms/4711");
  const graph = page.locator("canvas");
  await graph.focus();
  for (let at = 0; at < 3; at++) await page.keyboard.press("ArrowUp");
  const chosen = await page.locator(".flame-details b").textContent();
  await page.keyboard.press("Enter");
  await page.waitForURL(/zoom=/);
  // Every frame matches: which one is chosen depends on how much was recorded by then.
  await page.getByLabel(/^Search frames/).fill("[a-z]");
  await page.getByText(/^Matched/).waitFor();
  const zoom = new URL(page.url()).searchParams.get("zoom");
  const before = await samples(page);
  // A stack that is seen late puts its names before others: indexes of frames change.
  for (let at = 0; at < 4; at++) jvms.tick();
  await grows(page, before + 100);
  assert.equal(new URL(page.url()).searchParams.get("zoom"), zoom);
  assert.equal(await page.locator(".flame-details b").textContent(), chosen);
  assert.equal(await page.getByLabel(/^Search frames/).inputValue(), "[a-z]");
  await page.getByText(/^Matched [1-9]/).waitFor();
  await page.getByRole("button", { name: "Reset zoom", disabled: false }).waitFor();

  // A link restores the same frame, though it has another index by now.
  await page.reload();
  await page.getByText(/^Matched [1-9]/).waitFor();
  await page.getByRole("button", { name: "Reset zoom", disabled: false }).waitFor();

  await holdStill(page);
  const held = await samples(page);
  for (let at = 0; at < 3; at++) jvms.tick();
  await page.waitForTimeout(600);
  assert.equal(await samples(page), held, "the picture holds still");
  await page.getByRole("button", { name: "Hold still" }).click();
  await grows(page, held);
  await close();
});

test("the call tree keeps expanded rows while it grows, and a link restores them", options, async () => {
  const { page, context, jvms, close } = await open("/");
  await record(jvms);
  jvms.tick();
  await page.goto(server.url + "/jvms/4711/tree");
  const tree = page.getByRole("treegrid");
  await tree.locator(".grid-body .row").first().waitFor();
  await tree.focus();
  await page.keyboard.press("ArrowRight");
  await page.locator(".row[aria-level='2']").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.locator(".row[aria-level='3']").first().waitFor();
  await page.waitForURL(/open=/);
  const names = () => page.locator(".grid-body .row .cell.main").allTextContents();
  const before = await names();
  const total = () => page.locator(".row[aria-level='1'] .numeric").first().textContent();
  const old = await total();
  for (let at = 0; at < 4; at++) jvms.tick();
  await page.waitForFunction((old) => document.querySelector(".row[aria-level='1'] .numeric").textContent !== old, old);
  for (const name of before) assert.ok((await names()).includes(name), name);
  assert.equal(await page.locator(".row.active .cell.main").textContent(), before[1], "the same row is active");
  const copy = await context.newPage();
  await copy.goto(page.url());
  await copy.locator(".row[aria-level='3']").first().waitFor();
  await close();
});

test("the time that is looked at is chosen by pointer, keys and list", options, async () => {
  const { page, jvms, close } = await open("/", { speed: 1 });
  await record(jvms);
  for (let at = 0; at < 120; at++) jvms.tick();
  await page.goto(server.url + "/jvms/4711/methods");
  const slider = page.getByRole("slider");
  await slider.waitFor();
  await page.locator(".grid-body .row").first().waitFor();
  await page.getByLabel(/^Show/).selectOption("30");
  await page.waitForURL(/last=30/);
  assert.equal(await slider.getAttribute("aria-valuetext"), "the last 30\u00a0s");
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL(/last=3[5-9]/);
  await page.keyboard.press("Home");
  await page.waitForURL((url) => !url.searchParams.has("last"));
  const box = await slider.boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + 10);
  await page.waitForURL(/last=[56]\d/);
  const asked = page.waitForRequest(/profile\/methods\?.*last=/);
  jvms.tick();
  await asked;
  await close();
});

test("modes stop and start; keep, dump and detach ask before, show progress and lead on", options, async () => {
  const { page, jvms, close } = await open("/");
  await record(jvms);
  jvms.tick();
  await page.goto(server.url + "/jvms/4711");
  const modes = page.getByRole("group", { name: "What is recorded" });
  await modes.getByRole("button", { name: "Allocation", pressed: true }).click();
  await modes.getByRole("button", { name: "Allocation", pressed: false }).waitFor();
  await modes.getByRole("button", { name: "Allocation" }).click();
  await modes.getByRole("button", { name: "Allocation", pressed: true }).waitFor();
  assert.deepEqual(jvms.asked.slice(-2), [["stop", { modes: ["alloc"] }], ["start", { modes: ["alloc"] }]]);
  assert.equal(await modes.getByRole("button", { name: "Locks" }).count(), 0, "locks begin with the recording only");

  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Keep as analysis" }).click();
  await dialog.getByLabel("Name").fill("before the release, cpu");
  await audit(page, "keep");
  await dialog.getByRole("button", { name: "Keep as analysis" }).click();
  await page.getByRole("link", { name: "before the release, cpu" }).waitFor();

  await page.getByRole("button", { name: "Dump heap" }).click();
  await dialog.getByText("The JVM stops while it writes the dump").waitFor();
  await audit(page, "dump");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(jvms.asked.at(-1)[0], "keep", "nothing is dumped without a yes");
  await page.getByRole("button", { name: "Dump heap" }).click();
  await dialog.getByRole("checkbox").uncheck();
  await dialog.getByRole("button", { name: "Dump heap" }).click();
  await page.getByText(/MB so far/).waitFor();
  await page.getByRole("link", { name: "com.acme.shop.Main.hprof" }).waitFor();
  assert.deepEqual(jvms.asked.at(-1), ["dump", { live: false }]);

  const still = page.getByRole("button", { name: "Hold still" });
  await still.click();
  assert.equal(await still.getAttribute("aria-pressed"), "true");
  await page.getByRole("button", { name: "Detach" }).click();
  await dialog.getByText("The recording ends").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal(jvms.asked.at(-1)[0], "dump", "nothing is detached without a yes");
  await page.getByRole("button", { name: "Detach" }).click();
  await dialog.getByRole("button", { name: "Detach" }).click();
  await page.getByText("Recording ended").waitFor();
  await page.getByText("The agent was detached.").waitFor();
  await page.locator("canvas").waitFor();
  await page.getByRole("button", { name: "Attach and record" }).waitFor();
  assert.equal(await still.getAttribute("aria-pressed"), "false");
  // What was recorded before can be recorded again.
  for (const name of [/^Allocation/, /^CPU/]) assert.equal(await page.getByRole("checkbox", { name }).isEnabled(), true);
  await page.getByRole("link", { name: "com.acme.shop.Main.hprof" }).click();
  await page.waitForURL(/\/dumps\//);
  await close();
});

test("the heap of now is counted, filtered, collected after a yes, and compared with before", options, async () => {
  const { page, close } = await open("/jvms/4711/histogram");
  const grid = page.getByRole("grid", { name: "Heap now" });
  await grid.locator(".row .foreign").first().waitFor();
  assert.equal(Number(await grid.getAttribute("aria-rowcount")), 1408, "both pages are there");
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByRole("columnheader", { name: /Shallow \+/ }).waitFor();
  assert.match(await grid.locator(".grid-body .row").first().textContent(), /com\.acme\.session\.Session.*\+1,000.*\+40\.0/);
  await page.getByRole("searchbox").fill("evil");
  await page.getByText(/^2 rows/).waitFor();
  await page.getByRole("searchbox").fill("");
  await page.getByRole("button", { name: "Collect garbage first" }).click();
  const dialog = page.getByRole("dialog");
  await audit(page, "collect");
  await dialog.getByRole("button", { name: "Collect garbage first" }).click();
  await page.getByText("After a collection.").waitFor();
  assert.match(await grid.locator(".grid-body .row").first().textContent(), /\+2,000/);
  await page.getByRole("button", { name: "Compare from now on" }).click();
  await page.getByRole("columnheader", { name: /Shallow \+/ }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Objects/ }).click();
  await page.waitForURL(/sort=-objects/);
  await close();
});

test("the memory of now has rows, causes and limits, and is compared with before", options, async () => {
  const { page, close } = await open("/jvms/4711/memory");
  const grid = page.getByRole("grid", { name: "Memory now" });
  await grid.getByText("malloc in use").waitFor();
  await page.getByText(/^Libraries hold 230\.0 MB/).waitFor();
  await page.getByText("536.9 MB").waitFor();
  assert.equal(await page.locator("main img").count(), 0, "names are text");
  await page.waitForTimeout(1100);
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByText(/^The row "malloc in use" grows by .* a minute\. At this rate the process reaches its limit in/).waitFor();
  await page.getByRole("columnheader", { name: /Resident \+/ }).waitFor();
  assert.match(await grid.locator(".grid-body .row").first().textContent(), /malloc in use.*\+30\.0/);
  await audit(page, "memory");
  const asked = page.waitForRequest(/memory$/);
  await page.getByLabel("every 5 s").check();
  await asked;
  await page.getByRole("button", { name: "Compare from now on" }).click();
  await page.getByRole("columnheader", { name: /Resident \+/ }).waitFor({ state: "detached" });
  await page.goto(server.url + "/jvms/net-1/memory");
  await page.getByText("cannot be looked at from here").waitFor();
  await close();
});

test("threads show stacks, locks and the deadlock, and are followed", options, async () => {
  const { page, close } = await open("/jvms/4711/threads");
  await page.getByRole("alert").getByText(/^"worker-1" waits for com\.acme\.cart\.Cart .*, which "worker-2" holds/).waitFor();
  await page.getByRole("alert").getByRole("link", { name: "worker-2" }).click();
  await page.waitForURL(/thread=4721/);
  const stack = page.locator(".stack-part");
  await stack.getByText("com.acme.cart.Cart.total(Cart.java:52)").waitFor();
  await stack.getByText("held by worker-1").waitFor();
  const grid = page.getByRole("grid", { name: "Threads now" });
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/thread=5059/);
  const asked = page.waitForRequest(/threads$/);
  await page.getByLabel("every 2 s").check();
  await asked;
  await page.getByText("64 threads").waitFor();
  assert.equal(await page.locator(".row.selected").count(), 1, "the choice stays");
  await page.getByRole("searchbox").fill("exec-1");
  await page.getByText("11 threads").waitFor();
  await page.getByRole("button", { name: "Copy all stacks" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  await page.goto(server.url + "/jvms/net-1/threads");
  await page.getByText("cannot be asked for from here").waitFor();
  await close();
});

test("an agent that streams here is watched in the modes that it records, and left as it is", options, async () => {
  const { page, jvms, close } = await open("/jvms/n2");
  await page.getByText("10.0.0.7:41234").waitFor();
  assert.equal(await page.getByRole("checkbox").count(), 2, "locks are not recorded by this agent");
  assert.equal(await page.getByText("More options of the agent").count(), 0, "options come from its command line");
  assert.equal(await page.getByRole("link", { name: "Heap now" }).count(), 0);
  await audit(page, "an agent of the network");
  await page.getByRole("button", { name: "Watch", exact: true }).click();
  await page.locator("canvas").waitFor();
  assert.deepEqual(jvms.asked.at(-1), ["attach", { modes: ["cpu", "alloc"] }]);
  const before = await samples(page);
  await grows(page, before);
  await page.getByRole("button", { name: "End watching" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End watching" }).click();
  await page.getByText("Views of what was watched").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Watch", exact: true }).waitFor();
  await close();
});

test("a JVM that ends says so, keeps its picture, and offers to keep it", options, async () => {
  const { page, jvms, close } = await open("/");
  await record(jvms);
  jvms.tick();
  await page.goto(server.url + "/jvms/4711");
  await page.locator("canvas").waitFor();
  jvms.end("4711");
  await page.getByText("This JVM has ended.").waitFor();
  await page.locator("canvas").waitFor();
  await page.getByRole("button", { name: "Keep as analysis" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Detach" }).count(), 0);
  await close();
});

test("readers watch, and are offered no control", options, async () => {
  const { page, context, jvms, close } = await open("/nowhere");
  await record(jvms);
  jvms.tick();
  await context.route("**/api/v1/server", (route) => route.fulfill({ json: { version: "0", role: "reader", jvms: true } }));
  await page.goto(server.url + "/jvms/4711");
  await page.getByText("need an admin's token").waitFor();
  await page.locator("canvas").waitFor();
  for (const name of ["Dump heap", "Detach", "Keep as analysis", "Attach and record"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  await close();
});

test("a server that lists no JVMs is not asked for them", options, async () => {
  const other = await start({ jvms: false });
  const context = await browser.newContext();
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(other.url + "/");
  await page.getByText("Recent analyses").waitFor();
  await page.waitForTimeout(300);
  assert.deepEqual(errors, []);
  assert.equal(await page.getByText("Running JVMs").count(), 0);
  await context.close();
  await other.close();
});

test("a JVM that nobody knows is not found", options, async () => {
  const { page, close } = await open("/jvms/99");
  await page.getByText("There is nothing at this address").waitFor();
  await close();
});

test("the wall clock is one switch away, keeps what was recorded, and hides what waits for work", options, async () => {
  const { page, jvms, close } = await open("/");
  await record(jvms);
  jvms.tick();
  await page.goto(server.url + "/jvms/4711?thread=1");
  const modes = page.getByRole("group", { name: "What is recorded" });
  await modes.getByRole("button", { name: "Wall clock", pressed: false }).click();
  const dialog = page.getByRole("dialog", { name: "Record by Wall clock?" });
  await dialog.getByText("the recording begins anew").waitFor();
  await audit(page, "clock");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await modes.getByRole("button", { name: "CPU", pressed: true }).waitFor();
  await modes.getByRole("button", { name: "Wall clock" }).click();
  await dialog.getByRole("button", { name: "Begin anew" }).click();
  await modes.getByRole("button", { name: "Wall clock", pressed: true }).waitFor();
  await modes.getByRole("button", { name: "CPU", pressed: false }).waitFor();
  assert.deepEqual(jvms.asked.slice(-2).map(([action, body]) => [action, body.modes]), [["keep", undefined], ["start", ["wall"]]]);
  assert.equal(new URL(page.url()).searchParams.has("thread"), false, "threads of the other recording");
  await page.getByText("Added to the analyses:").waitFor();

  jvms.tick();
  const hides = page.getByRole("checkbox", { name: /^Hide what waits for work \(9\d(\.\d)?%\)/ });
  await hides.waitFor();
  assert.equal(await hides.isChecked(), true);
  const asked = page.waitForRequest((request) => /profile\/flame/.test(request.url()) && !/busy=/.test(request.url()));
  await page.locator("canvas").focus();
  await page.keyboard.press("w");
  await asked;
  await page.waitForURL(/idle=1/);
  assert.equal(await hides.isChecked(), false);
  await hides.check();
  await page.waitForURL((url) => !url.searchParams.has("idle"));
  await close();
});

test("a thread of a thousand is found by group, by name and with keys", options, async () => {
  for (const viewport of [LAPTOP, PHONE]) {
    const { page, jvms, close } = await open("/", { viewport, speed: 1 });
    await record(jvms);
    jvms.tick();
    await page.goto(server.url + "/jvms/4711");
    const button = page.getByRole("button", { name: "Thread All threads" });
    await button.focus();
    await page.keyboard.press("ArrowDown");
    const search = page.getByRole("searchbox", { name: "Search threads" });
    await search.waitFor();
    const tree = page.getByRole("tree", { name: "Thread" });
    assert.deepEqual(await tree.getByRole("treeitem").locator(".thread-name").allTextContents(), ["All threads", "http-nio-8080-exec-*", "main", "ForkJoinPool-1-worker-*", "<b>evil</b>\\u{202e}"], "groups are one row, by cost");
    await page.getByText("1,000 threads, 2 groups").waitFor();
    assert.match(await tree.getByRole("treeitem", { name: "http-nio" }).textContent(), /980 threads/);
    await audit(page, `threads ${viewport.width}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false, "the menu is wider than the screen");

    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await tree.locator("[aria-level='2']").first().waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => !document.querySelector("[role=treeitem][aria-level='2']"));
    await page.keyboard.press("Enter");
    await page.waitForURL(/thread=group%3Ahttp-nio-8080-exec-\*/);
    await page.getByRole("button", { name: "Thread http-nio-8080-exec-*" }).click();
    await search.fill("exec-77");
    await page.getByText("11 of 1,000 threads").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/thread=176/);
    await page.getByRole("button", { name: /^Thread http-nio-8080-exec-77/ }).click();
    await search.fill("nothing");
    await page.getByText("No thread has such a name").waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.className), "thread-button", "the focus returns");
    await close();
  }
});

test("the flame graph has most of the height", options, async () => {
  const { page, jvms, close } = await open("/");
  await record(jvms);
  // A stack of 120 methods.
  jvms.jvms.get("4711").counts.set(Array.from({ length: 120 }, (_, at) => `com.acme.Deep.level${at}`).join("\n"), 4000);
  jvms.tick();
  await page.goto(server.url + "/jvms/4711");
  await page.locator("canvas").waitFor();
  await page.waitForFunction((least) => document.querySelector(".flame").getBoundingClientRect().height > least, 0.55 * LAPTOP.height);
  const box = await page.locator(".flame").boundingBox();
  assert.ok(box.y + box.height <= LAPTOP.height, "it is on the screen as a whole");
  await close();
});
