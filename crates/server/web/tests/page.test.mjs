// The page in Chromium against the mock: every view, every control, keys, links, hostile names, axe.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { audit, LAPTOP, launch, openPage, options, PHONE } from "./browser.mjs";

let server;
let browser;
let dumps;

before(async () => {
  if (options.skip) return;
  server = await start({ speed: 2 });
  browser = await launch();
  dumps = (await (await fetch(server.url + "/api/v1/dumps")).json()).items;
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const idOf = (part) => dumps.find((dump) => dump.name.includes(part)).id;

const open = (path, more) => openPage(browser, server.url + path, more);

const HEAP = ["overview", "suspects", "dominators", "dominators?by=class", "treemap", "histogram", "histogram?by=package", "roots", "roots?kind=thread", "unreachable", "threads", "threads?thread=0x7f0000001c20", "loaders", "duplicate-classes", "buffers", "references", "sites", "android", "duplicates", "collections", "properties", "environment", "sql", "sql?sql=SELECT+1", "sql?sql=SELECT+1&as=chart", "compare", "instances?class=0x7f00014997a8", "merged?class=0x7f00014997a8", "class-references?class=0x7f00014997a8", "class-references?class=0x7f00014997a8&direction=in", "histogram?select=class:0x7f00014997a8"];
const TABS = ["entries", "fields", "out", "in", "path", "retained"];
const PROFILE = ["flame", "flame?q=Pattern", "flame?invert=1", "methods", "tree", "compare"];

test("every view draws, tells no lies of roles and has contrast, in light and dark, on a laptop and a phone", { ...options, timeout: 900_000 }, async () => {
  const shop = idOf("shop-prod-eu1.hprof");
  const cpu = idOf("checkout-cpu.txt");
  const addresses = ["/", "/nowhere", ...HEAP.map((view) => `/dumps/${shop}/${view}`), ...TABS.map((tab) => `/dumps/${shop}/dominators?select=0x7f0000000018&show=${tab}`), ...PROFILE.map((view) => `/dumps/${cpu}/${view}`), `/dumps/${idOf("half")}`, `/dumps/${idOf("script")}`];
  for (const [viewport, colorScheme] of [[LAPTOP, "light"], [LAPTOP, "dark"], [PHONE, "light"]]) {
    const { page, close } = await open("/", { viewport, colorScheme });
    for (const address of addresses) {
      await page.goto(server.url + address);
      await page.waitForFunction(() => document.querySelector("main h1, .empty") && !document.querySelector(".skeleton"));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(wide, false, `${address} is wider than ${viewport.width}`);
      await audit(page, `${address} ${colorScheme} ${viewport.width}`);
    }
    await close();
  }
});

test("jobs are cancelled and retried, dumps are found, pinned, described and deleted", options, async () => {
  const { page, close } = await open("/");
  const added = server.jobs.add("to-cancel.hprof", 1e7);
  const line = page.locator("li", { hasText: "to-cancel.hprof" });
  await line.getByRole("button", { name: "Cancel" }).click();
  await line.getByText("cancelled").waitFor();
  await line.getByRole("button", { name: "Retry" }).click();
  await line.getByRole("progressbar").waitFor();
  await line.getByRole("button", { name: "Cancel" }).click();
  await line.getByText("cancelled").waitFor();
  await line.getByRole("button", { name: /^Pin/ }).click();
  await page.waitForFunction(() => document.querySelector("li.dump [aria-pressed=true]"));
  assert.equal(added.pinned, true);

  await line.getByRole("button", { name: /^Actions/ }).click();
  await page.getByRole("menuitem", { name: "Edit name, note, labels and rules" }).click();
  await page.getByLabel("Note", { exact: true }).fill("<b>note</b>");
  await page.getByLabel(/^Labels/).fill("team=core\nbuild=7");
  await page.getByRole("button", { name: "Save" }).click();
  await line.locator(".dump-note", { hasText: "<b>note</b>" }).waitFor();
  assert.deepEqual(added.labels, { team: "core", build: "7" });

  Object.assign(added, { stripped: true, rules: [
    { rule: "live=10MB", passed: false, sentence: "live objects take 12 MB, above 10MB." },
    { rule: "objects:<b>Cart</b>=5", passed: true, sentence: "there are 3 objects." },
  ] });
  await page.reload();
  await line.getByText("breaks 1 of 2 rules").waitFor();
  await line.getByText("values blanked").waitFor();
  await line.getByRole("button", { name: /^Actions/ }).click();
  await page.getByRole("menuitem", { name: "Edit name, note, labels and rules" }).click();
  assert.equal(await page.getByLabel(/^Rules/).inputValue(), "live=10MB\nobjects:<b>Cart</b>=5");
  await page.getByLabel(/^Rules/).fill("suspects=0");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(added.fail_above, ["suspects=0"]);

  await page.getByRole("searchbox").fill("team");
  await page.waitForFunction(() => document.querySelectorAll("section[aria-labelledby=recent-title] li.dump").length === 1);
  await page.getByRole("searchbox").fill("nothing like it");
  await page.getByText("No analysis matches.").waitFor();
  await page.getByRole("searchbox").fill("");
  await line.waitFor();

  await line.getByRole("button", { name: /^Actions/ }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This cannot be undone").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.ok(server.jobs.dumps.includes(added), "nothing is deleted without a yes");
  await line.getByRole("button", { name: /^Actions/ }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await line.waitFor({ state: "detached" });
  assert.ok(!server.jobs.dumps.includes(added));
  await close();
});

test("a dump for which no worker has room says so", options, async () => {
  const { page, close } = await open("/");
  const added = server.jobs.add("huge.hprof", 9e9);
  server.jobs.tell("job", Object.assign(added.job, { state: "queued", room: 2e9 }));
  await page.getByText("no worker has room for 9.0 GB: the largest has 2.0 GB").waitFor();
  server.jobs.remove(added);
  await close();
});

test("a dump that comes while the list is under way stays in the list", options, async () => {
  const { page, close } = await open("/");
  await page.locator("li.dump").first().waitFor();
  let added;
  await page.route("**/api/v1/dumps?*", async (route) => {
    const response = await route.fetch();
    if (!added) {
      added = server.jobs.add("meanwhile.hprof", 1e7);
      await page.getByText("meanwhile.hprof").first().waitFor();
    }
    await route.fulfill({ response });
  });
  const answer = page.waitForResponse(/\/api\/v1\/dumps\?/);
  // The list is asked for once more when the stream of events has opened again.
  for (const client of server.jobs.clients) client.end();
  await answer;
  await page.evaluate(() => new Promise((done) => setTimeout(done, 200)));
  // Its row moves while the job advances; nothing brings back one that the answer has removed.
  await page.getByText("meanwhile.hprof").first().waitFor();
  await page.unroute("**/api/v1/dumps?*");
  server.jobs.remove(added);
  await close();
});

test("a path outside of the allowed folders is refused with the server's words", options, async () => {
  const { page, close } = await open("/");
  await page.getByText("Open a file on the server").click();
  await page.getByLabel("Path on the server").fill("/etc/passwd");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("alert").getByText("/etc/passwd is not below an allowed folder.").waitFor();
  await page.getByLabel("Path on the server").fill("/var/dumps/a.hprof");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByText("a.hprof").first().waitFor();
  await close();
});

test("the dominator tree and its inspector are used with keys only, and the address restores them", options, async () => {
  const { page, context, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}/dominators`);
  const tree = page.getByRole("treegrid");
  await tree.waitFor();
  await page.locator(".grid-body .row").first().waitFor();
  await tree.focus();
  await page.keyboard.press("ArrowRight");
  await page.locator(".row[aria-level='2']").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/select=0x/);
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  await inspector.getByRole("tab", { name: "Fields" }).waitFor();
  await inspector.getByRole("tab", { selected: true }).focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(/show=/);
  await inspector.getByRole("tab", { name: "Path" }).click();
  await inspector.locator(".path li").first().waitFor();

  const copy = await context.newPage();
  await copy.goto(page.url());
  const again = copy.getByRole("complementary", { name: "Inspector" });
  await again.locator(".path li").first().waitFor();
  assert.equal(await again.getByRole("tab", { selected: true }).textContent(), "Path");
  assert.equal(await again.locator(".id").textContent(), await inspector.locator(".id").textContent());
  await copy.close();

  await tree.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.locator(".row[aria-level='2']").first().waitFor({ state: "detached" });
  await page.keyboard.press("Shift+F10");
  const menu = page.getByRole("menu");
  await menu.waitFor();
  assert.deepEqual((await menu.getByRole("menuitem").allTextContents()).slice(0, 5), ["Inspect", "References out", "References in", "Path to GC roots", "Dominator tree here"]);
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("role")), "treegrid");
  await page.keyboard.press("End");
  await page.getByRole("button", { name: /^Show .* more/ }).click();
  await page.waitForFunction(() => Number(document.querySelector(".grid").getAttribute("aria-rowcount")) > 150);
  await page.goBack();
  await page.goBack();
  await close();
});

test("a link restores the expanded rows of a tree", options, async () => {
  const { page, context, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}/dominators`);
  const tree = page.getByRole("treegrid");
  await tree.locator(".grid-body .row").first().waitFor();
  await tree.focus();
  await page.keyboard.press("ArrowRight");
  await page.locator(".row[aria-level='2']").first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.locator(".row[aria-level='3']").first().waitFor();
  await page.waitForURL(/open=[0-9a-f]+\.[0-9a-f]+/);
  const rows = (of) => of.locator(".grid-body .row .cell.main").evaluateAll((cells) => cells.slice(0, 8).map((cell) => cell.textContent));
  const copy = await context.newPage();
  await copy.goto(page.url());
  await copy.locator(".row[aria-level='3']").first().waitFor();
  assert.deepEqual(await rows(copy), await rows(page));
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL((url) => url.searchParams.get("open")?.includes(".") === false);
  await page.getByRole("radio", { name: "Class", exact: true }).click();
  await page.waitForURL((url) => !url.searchParams.has("open"));
  await close();
});

test("classes lead to references by class, and several dumps stand side by side", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}/histogram?select=class:0x7f00014997a8`);
  await page.getByRole("complementary").getByRole("link", { name: "References by class" }).click();
  await page.waitForURL(/class-references/);
  await page.locator(".grid-body .row").first().waitFor();
  await page.getByRole("radio", { name: "References in" }).click();
  await page.getByText("12 rows").waitFor();
  await page.getByRole("grid").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menuitem", { name: "References of this class" }).click();
  await page.waitForURL(/name=java.lang.String/);
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByLabel("Compare with").selectOption({ index: 1 });
  await page.getByRole("radio", { name: "Top dominators" }).click();
  await page.waitForURL(/by=dominator/);
  await page.getByRole("columnheader", { name: /^Retained \+/ }).waitFor();
  await page.getByText("More dumps, with a column for each").click();
  await page.getByRole("checkbox", { name: /android-leak/ }).check();
  await page.getByRole("columnheader", { name: "android-leak.hprof" }).waitFor();
  assert.equal(await page.getByRole("columnheader").count(), 6);
  await page.getByRole("radio", { name: "Objects" }).click();
  await page.waitForURL(/measure=objects/);
  await page.locator(".grid-body .row").first().waitFor();
  await close();
});

test("a table sorts, filters and scrolls through a million rows", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}/instances?class=0x7f00014997a8`);
  const grid = page.getByRole("grid").first();
  await grid.locator(".row .foreign").first().waitFor();
  const rows = Number(await grid.getAttribute("aria-rowcount")) - 1;
  assert.ok(rows > 100_000, rows);
  await grid.focus();
  await page.keyboard.press("End");
  await page.waitForFunction((last) => document.querySelector(`.row[aria-rowindex='${last}'] .foreign`), rows + 1);
  assert.ok((await page.locator(".grid-body .row").count()) < 100, "only rows in sight are drawn");
  await grid.evaluate((element) => (element.scrollTop = element.scrollHeight / 2));
  // Rows follow the scrollbar in a later task of the browser.
  await page.waitForFunction((rows) => {
    const first = document.querySelector(".grid-body .row");
    return first && !document.querySelector(".ghost") && Math.abs(Number(first.getAttribute("aria-rowindex")) - rows / 2) < rows / 10;
  }, rows);
  await page.keyboard.press("Home");
  await page.locator(".row[aria-rowindex='2']").waitFor();

  await page.goto(server.url + `/dumps/${idOf("shop-prod-eu1.hprof")}/histogram`);
  await page.getByRole("button", { name: /^Objects/ }).click();
  await page.waitForURL(/sort=-objects/);
  await page.getByRole("button", { name: /^Objects/ }).click();
  await page.waitForURL(/sort=objects/);
  assert.equal(await page.getByRole("columnheader", { name: /^Objects/ }).getAttribute("aria-sort"), "ascending");
  await page.getByRole("searchbox").fill("^java\\.util");
  await page.waitForURL(/filter=/);
  await page.getByText("5 rows").waitFor();
  await page.getByRole("searchbox").fill("(");
  await page.getByRole("alert").getByText("is not a regular expression").waitFor();
  await page.getByRole("searchbox").fill("");
  await page.getByText("1,800 rows").waitFor();
  await page.getByRole("radio", { name: "Package" }).click();
  await page.waitForURL(/by=package/);
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "CSV" }).click();
  assert.equal((await download).suggestedFilename(), "histogram.csv");
  await close();
});

test("figures that are still worked out are asked for again", options, async () => {
  const { page, close } = await open("/");
  let asked = 0;
  await page.route("**/api/v1/**/loaders?*", async (route) => {
    const answer = await route.fetch();
    const table = await answer.json();
    asked++;
    if (asked === 1) return route.fulfill({ status: 503, contentType: "application/problem+json", json: { type: "busy", title: "Too much at once", status: 503, detail: "still being worked out" } });
    if (asked === 2) return route.fulfill({ response: answer, json: { ...table, pending: true, rows: table.rows.map((row) => ({ ...row, retained: null })), notes: ["still being worked out"] } });
    return route.fulfill({ response: answer, json: table });
  });
  await page.goto(server.url + `/dumps/${idOf("shop-prod-eu1.hprof")}/loaders`);
  await page.getByText("still being worked out").waitFor();
  await page.getByText("still being worked out").waitFor({ state: "detached" });
  await page.getByRole("gridcell", { name: /MB$/ }).first().waitFor();
  await close();
});

test("what is typed right after a completion follows it", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}/sql`);
  const box = page.getByRole("textbox", { name: "Query", exact: true });
  await page.getByText("objects", { exact: true }).first().waitFor();
  await box.pressSequentially("SELECT na");
  await page.getByRole("option", { name: "name" }).waitFor();
  // Before the page can draw.
  await box.evaluate((area) => {
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true }));
    document.execCommand("insertText", false, " FROM classes");
  });
  assert.equal(await box.inputValue(), "SELECT name FROM classes");
  await close();
});

test("SQL runs, completes, is saved, charted and downloaded", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}/sql`);
  const box = page.getByRole("textbox", { name: "Query", exact: true });
  await page.getByText("objects", { exact: true }).first().waitFor();
  await box.pressSequentially("SELECT na");
  await page.getByRole("option", { name: "name" }).waitFor();
  await page.keyboard.press("Tab");
  await box.pressSequentially(" FROM classes");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Enter");
  await page.getByText("60 rows in 12 ms").waitFor();
  assert.match(decodeURIComponent(page.url()), /sql=SELECT\+name\+FROM\+classes/);
  await page.getByRole("radio", { name: "Chart" }).click();
  await page.locator(".chart li").first().waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).click();
  assert.equal((await download).suggestedFilename(), "query.csv");
  await page.getByLabel("Name of the query").fill("mine");
  await page.getByRole("button", { name: "Save query" }).click();
  await page.getByRole("button", { name: "mine", exact: true }).waitFor();
  await box.fill("DROP everything");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("alert").getByText("syntax error").waitFor();
  await page.reload();
  await page.getByRole("button", { name: "mine", exact: true }).click();
  await page.getByText("60 rows in 12 ms").waitFor();
  await page.getByRole("button", { name: "Remove mine" }).click();
  await page.getByRole("button", { name: "mine", exact: true }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "The largest objects" }).click();
  await page.getByRole("radio", { name: "Table" }).click();
  await page.locator(".grid-body .row").first().click();
  await page.waitForURL(/select=0x/);
  await close();
});

test("what the rows of a query cannot tell stands below them, as plain text", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}/sql`);
  const box = page.getByRole("textbox", { name: "Query", exact: true });
  await box.fill("SELECT id FROM objects WHERE id = '<img src=x onerror=\"document.title=1\">\u202e'");
  await page.keyboard.press("Control+Enter");
  const note = page.locator(".sql-main .note");
  await note.waitFor();
  const text = await note.textContent();
  assert.ok(text.startsWith("No object has the identifier '<img src=x onerror="), text);
  assert.ok(!text.includes("\u202e"), text);
  assert.equal(await note.locator("img").count(), 0);
  const [above, below] = [await page.locator(".sql-main .grid").boundingBox(), await note.boundingBox()];
  assert.ok(below.y >= above.y + above.height && below.y + below.height <= 900, JSON.stringify([above, below]));
  await box.fill("SELECT name FROM classes");
  await page.keyboard.press("Control+Enter");
  await page.getByText("60 rows in 12 ms").waitFor();
  assert.equal(await note.count(), 0);
  await page.getByLabel("Language").selectOption("zh");
  await page.goBack();
  await page.getByText(/^没有对象的标识为 '<img/).waitFor();
  await close();
});

test("suspects lead to the object, the tree, the map and the comparison", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("shop-prod-eu1.hprof")}`);
  await page.getByRole("link", { name: "All suspects" }).click();
  await page.locator("article").first().getByRole("link", { name: "Inspect" }).click();
  await page.getByRole("complementary").getByText("Gone if this were").or(page.getByRole("complementary").getByText("Retained")).first().waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("complementary").waitFor({ state: "detached" });
  await page.locator("article").first().getByRole("link", { name: "Dominator tree here" }).click();
  await page.waitForURL(/dominators\?node=/);
  await page.getByRole("link", { name: "Live heap" }).click();
  await page.waitForURL((url) => !url.searchParams.has("node"));
  await page.getByRole("link", { name: "Treemap" }).click();
  await page.locator(".area.depth-0").first().click({ position: { x: 8, y: 6 } });
  await page.waitForURL(/treemap\?node=/);
  await page.goBack();
  await page.waitForURL((url) => !url.searchParams.has("node"));
  await page.getByRole("link", { name: "GC roots" }).click();
  await page.locator(".grid-body .row").first().click();
  await page.waitForURL(/kind=/);
  await page.getByRole("link", { name: "Threads" }).click();
  await page.locator(".grid-body .row", { hasText: "exec-4" }).first().click();
  await page.locator(".frames li").first().waitFor();
  await page.getByLabel("Only frames with locals").check();
  await page.getByRole("button", { name: "Copy stack" }).click();
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByLabel("Compare with").selectOption({ index: 1 });
  await page.getByRole("columnheader", { name: /^Retained \+/ }).waitFor();
  await page.getByRole("link", { name: "Swap" }).click();
  await page.waitForURL(/with=/);
  await close();
});

test("the flame graph zooms, searches and copies by keys, and keeps it in the address", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("checkout-cpu.txt")}`);
  const graph = page.locator("canvas");
  await graph.focus();
  await page.keyboard.press("ArrowUp");
  await page.locator(".flame-details b").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/zoom=/);
  await page.getByRole("button", { name: "Copy stack" }).click();
  await page.getByRole("button", { name: "Reset zoom" }).click();
  await page.waitForURL((url) => !url.searchParams.has("zoom"));
  await page.getByLabel(/^Search frames/).fill("Pattern");
  await page.getByText(/^Matched/).waitFor();
  await page.getByRole("button", { name: "Next match" }).click();
  await page.getByRole("button", { name: "Icicle" }).click();
  await page.getByRole("button", { name: "Callers" }).click();
  await page.waitForURL(/invert=1/);
  await page.getByLabel("Order").selectOption("name");
  await page.getByLabel("Colours").selectOption("package");
  await page.getByRole("button", { name: "Thread All threads" }).click();
  await page.getByRole("treeitem", { name: "main" }).click();
  await page.waitForURL(/thread=main/);
  await page.getByRole("link", { name: "Methods" }).click();
  await page.waitForURL(/methods\?thread=main/);
  await page.locator(".grid-body .row").first().waitFor();
  await page.getByRole("link", { name: "Call tree" }).click();
  await page.locator(".grid-body .row").first().waitFor();
  await page.getByRole("radio", { name: "Callers" }).click();
  await page.waitForURL(/invert=1/);
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByLabel("Compare with").selectOption({ index: 1 });
  await page.getByText("more than before").waitFor();
  await close();
});

test("an answer that no server should give leaves the rest of the page in use", options, async () => {
  const context = await browser.newContext({ viewport: LAPTOP });
  const page = await context.newPage();
  await page.route("**/api/v1/**/overview", (route) => route.fulfill({ json: { nothing: "of use" } }));
  await page.goto(server.url + `/dumps/${idOf("shop-prod-eu1.hprof")}`);
  await page.getByRole("alert").getByText("This part of the page has a fault").waitFor();
  await page.getByRole("link", { name: "Histogram" }).click();
  await page.locator(".grid-body .row").first().waitFor();
  await context.close();
});

test("readers are offered nothing that the server would refuse", options, async () => {
  const { page, context, close } = await open("/nowhere");
  await context.route("**/api/v1/server", (route) => route.fulfill({ json: { version: "0", role: "reader", allowed_roots: ["/var/dumps"] } }));
  await page.goto(server.url + "/");
  const line = page.locator("li.dump").first();
  await line.waitFor();
  await page.getByRole("button", { name: "Choose files" }).waitFor({ state: "detached" });
  assert.equal(await line.getByRole("button", { name: /^Pin/ }).isDisabled(), true);
  await line.getByRole("button", { name: /^Actions/ }).click();
  const offered = await page.getByRole("menuitem").allTextContents();
  assert.ok(offered.includes("Download the file") && !offered.includes("Delete"), offered.join());
  await close();
});

test("language and theme change and stay", options, async () => {
  const { page, close } = await open("/");
  await page.getByLabel("Language").selectOption("zh");
  await page.getByText("最近的分析").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-Hans");
  await page.getByLabel("主题").selectOption("dark");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.reload();
  await page.getByText("最近的分析").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.goto(server.url + `/dumps/${idOf("shop-prod-eu1.hprof")}/histogram`);
  await page.getByRole("columnheader", { name: "保留大小" }).waitFor();
  // Sentences of the server have Chinese words too; names in them stay as they are.
  await page.goto(server.url + `/dumps/${idOf("shop-prod-eu1.hprof")}/suspects`);
  const first = page.locator("article").first();
  await first.getByText("字段 com.acme.session.Sessions.cache 使 314.6 MB 保持存活，占堆的 61.4%：一个 com.acme.session.SessionCache，其中装有 210,422 个 com.acme.session.Session 类对象，由静态字段 com.acme.session.Sessions.INSTANCE 持有").waitFor();
  await first.getByText("由静态字段 com.acme.session.Sessions.INSTANCE 持有，经由字段 com.acme.session.Sessions.cache、com.acme.session.SessionCache.map。").waitFor();
  await first.getByText("大部分内存位于 byte[] (201.3 MB)、java.lang.String (48.1 MB)。").waitFor();
  await page.locator("article").nth(1).getByText("运行中的线程 \"<b>main</b>\"").waitFor({ state: "attached" });
  await page.goto(server.url + `/dumps/${idOf("shop-prod-eu1.hprof")}/buffers`);
  await page.getByText("The dump has no direct byte buffers.").waitFor();
  // Views with nothing to show are left out of the list.
  await page.goto(server.url + `/dumps/${idOf("shop-prod-eu1.hprof")}/overview`);
  await page.locator(".views a[href$='/sites']").waitFor();
  await page.locator(".views a[href$='/buffers']").waitFor({ state: "detached" });
  await close();
});

test("without a session the page asks for the token", options, async () => {
  const closed = await start({ token: "s3cret" });
  const context = await browser.newContext();
  const page = await context.newPage();
  // A deep link is shown after it.
  const deep = "/dumps/" + closed.jobs.dumps[0].id + "/histogram?sort=name";
  await page.goto(closed.url + deep);
  await page.getByLabel("Token").fill("mistyped");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The server does not know this token").waitFor();
  await page.getByLabel("Token").fill(closed.url + "/?token=s3cret");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Histogram" }).waitFor();
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, deep);
  await context.close();
  // The server sends a browser with an old link here.
  const other = await browser.newContext();
  const old = await other.newPage();
  await old.goto(closed.url + "/?signin=refused");
  await old.getByText("The server does not know this token").waitFor();
  await old.getByLabel("Token").fill("s3cret");
  await old.getByRole("button", { name: "Sign in" }).click();
  await old.getByText("Recent analyses").waitFor();
  assert.equal(new URL(old.url()).search, "");
  await other.close();
  await closed.close();
});

test("when the server goes away the page says so", options, async () => {
  const other = await start();
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(other.url + "/");
  await page.getByText("Recent analyses").waitFor();
  await other.close();
  await page.getByText("The connection to the server is lost").waitFor();
  await context.close();
});
