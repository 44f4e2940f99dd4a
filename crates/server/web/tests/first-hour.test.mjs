// The page as a newcomer meets it: what is in sight, where keys lead, what sentences say.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { launch, openPage, options } from "./browser.mjs";

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
const shop = () => idOf("shop-prod-eu1.hprof");

/** How far the root of the flame graph is below what is in sight. */
const hidden = (page) => page.locator(".flame").evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop);

test("a flame graph shows its root, also when the room for it changes", options, async () => {
  const { page, close } = await open("/");
  // A stack that no box holds.
  const chain = (depth) => ({ f: 1 + (depth % 2), v: 90, s: depth ? 0 : 90, c: depth ? [chain(depth - 1)] : [] });
  await page.route("**/api/v1/**/flame?*", (route) => route.fulfill({ json: { frames: ["all", "a.B.c", "d.E.f"], unit: "samples", total: 90, root: { f: 0, v: 90, s: 0, c: [chain(70)] }, notes: [] } }));
  await page.goto(server.url + `/dumps/${idOf("checkout-cpu.txt")}`);
  await page.locator(".grid-body .row").first().waitFor();
  await page.waitForFunction(() => document.querySelector(".flame").scrollTop > 0);
  await page.waitForTimeout(150);
  assert.ok((await hidden(page)) < 2, await hidden(page));
  await page.setViewportSize({ width: 1440, height: 800 });
  await page.waitForTimeout(150);
  assert.ok((await hidden(page)) < 2, await hidden(page));
  // A reader who has scrolled stays there.
  await page.locator(".flame").evaluate((box) => (box.scrollTop = 10));
  await page.waitForTimeout(100);
  await page.setViewportSize({ width: 1440, height: 770 });
  await page.waitForTimeout(150);
  assert.equal(await page.locator(".flame").evaluate((box) => box.scrollTop), 10);
  await close();
});

test("Escape closes the inspector from the table, and the focus stays or returns to what opened it", options, async () => {
  const { page, close } = await open(`/dumps/${shop()}/histogram`);
  const inspector = page.getByRole("complementary", { name: "Inspector" });
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("role") ?? document.activeElement.tagName);
  const grid = page.getByRole("grid").first();
  await grid.locator(".row .foreign").first().waitFor();
  await grid.focus();
  await page.keyboard.press("Enter");
  await inspector.waitFor();
  await page.keyboard.press("Escape");
  await inspector.waitFor({ state: "detached" });
  assert.equal(await focused(), "grid");
  await page.keyboard.press("Enter");
  await inspector.getByRole("button", { name: "Close" }).focus();
  await page.keyboard.press("Escape");
  await inspector.waitFor({ state: "detached" });
  assert.equal(await focused(), "grid");

  await page.goto(server.url + `/dumps/${shop()}/overview`);
  const link = page.locator(".biggest a").first();
  await link.focus();
  await page.keyboard.press("Enter");
  await inspector.getByRole("button", { name: "Close" }).click();
  await inspector.waitFor({ state: "detached" });
  assert.equal(await link.evaluate((element) => element === document.activeElement), true);
  await close();
});

test("the treemap goes in and out by keys, whatever led there", options, async () => {
  const { page, close } = await open(`/dumps/${shop()}/treemap`);
  const focused = () => page.evaluate(() => document.activeElement.classList.contains("area"));
  await page.locator(".area").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/node=/);
  await page.waitForFunction(() => document.activeElement.classList.contains("area"));
  assert.equal(await page.getByRole("complementary", { name: "Inspector" }).count(), 0, "the map keeps its room");
  const inner = page.url();
  await page.keyboard.press("Backspace");
  await page.waitForURL((url) => url.searchParams.get("node") !== new URL(inner).searchParams.get("node"));
  await page.goto(server.url + `/dumps/${shop()}/histogram`);
  await page.goto(inner);
  await page.locator(".area").first().focus();
  for (let step = 0; step < 12 && new URL(page.url()).searchParams.has("node"); step++) {
    const before = page.url();
    await page.keyboard.press("Backspace");
    await page.waitForURL((url) => String(url) !== before);
    await page.waitForFunction(() => document.activeElement.classList.contains("area"));
  }
  assert.match(page.url(), /\/treemap$/);
  assert.equal(await focused(), true);
  await close();
});

test("a profile shows the profiler's own counts behind a summary, and losses as sentences", options, async () => {
  const { page, close } = await open(`/dumps/${idOf("checkout-cpu.txt")}`);
  const about = page.locator("details.asides");
  await about.getByText("About this recording").waitFor();
  assert.deepEqual(await page.locator("main .note").allTextContents(), ["12 samples were lost."]);
  assert.equal(await about.getByText("walks_in_heap=0").isVisible(), false);
  await about.locator("summary").click();
  await about.getByText("hprof-rs: walker=y walks_in_heap=0").waitFor();
  await close();
});

test("a dump that is cut off says so in the list and first in the overview", options, async () => {
  const { page, close } = await open("/");
  const cut = server.jobs.add("cut.hprof", 9e6);
  Object.assign(cut, { summary: { damage: "cut" } });
  Object.assign(cut.job, { state: "done", phase: "done" });
  await page.route(`**/api/v1/dumps/${cut.id}/overview`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), notes: ["at byte 8999973: a sub-record (tag 0x23) needs at least 82 bytes, 27 are there; 27 B were not read, and what is shown is the rest", "5 roots are objects that the file lacks"] } });
  });
  await page.reload();
  await page.locator("li.dump", { hasText: "cut.hprof" }).getByText("cut off", { exact: true }).waitFor();
  await page.getByRole("link", { name: "cut.hprof" }).click();
  await page.locator("main .problem").getByText("The file ends in the middle of a record").waitFor();
  assert.equal(await page.getByText("sub-record").isVisible(), false);
  server.jobs.remove(cut);

  // In a sound dump a few such roots are no warning.
  await page.route("**/overview", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), notes: ["5 roots are objects that the file lacks"] } });
  });
  await page.goto(server.url + `/dumps/${shop()}`);
  await page.getByText("About this file").click();
  await page.getByText("5 roots are objects that the file lacks.").waitFor();
  assert.equal(await page.locator("main .note, main .problem").count(), 0);
  await close();
});

test("a comparison shows differences first, and its rows lead to classes", options, async () => {
  const { page, close } = await open(`/dumps/${shop()}/compare`, { viewport: { width: 820, height: 900 } });
  await page.getByLabel("Compare with").selectOption({ index: 1 });
  const grid = page.getByRole("grid").first();
  await grid.locator(".row .foreign").first().waitFor();
  const titles = await page.getByRole("columnheader").allTextContents();
  assert.deepEqual(titles.slice(1, 4).map((title) => title.replace(/ [↑↓]$/, "")), ["Retained +/−", "Shallow +/−", "Objects +/−"]);
  const seen = await page.getByRole("columnheader", { name: /^Objects \+/ }).evaluate((cell) => cell.getBoundingClientRect().right <= cell.closest(".row").querySelector(".tools").getBoundingClientRect().left);
  assert.ok(seen, "the differences fit");
  const menu = await page.locator(".grid-body .row .row-menu").first().evaluate((button) => button.getBoundingClientRect().right <= button.closest(".grid").getBoundingClientRect().right);
  assert.ok(menu, "the menu of a row is in sight");
  await grid.locator(".row").nth(1).click();
  await page.waitForURL(/select=class/);
  await close();
});

test("an error in several lines is shown in lines", options, async () => {
  const { page, close } = await open(`/dumps/${shop()}/sql`);
  await page.route("**/query", (route) => route.fulfill({ status: 400, contentType: "application/problem+json", json: { type: "bad-request", title: "no", status: 400, detail: "near \"SELEC\": syntax error; for example\n  SELECT class, count(*) FROM objects" } }));
  await page.getByRole("textbox", { name: "Query", exact: true }).fill("SELEC");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Run" }).click();
  const lines = page.getByRole("alert").locator(".text-line");
  await lines.first().waitFor();
  assert.equal(await lines.count(), 2);
  assert.doesNotMatch(await page.getByRole("alert").textContent(), /\\u/);
  await close();
});

test("a refused file is not offered for another try", options, async () => {
  const { page, close } = await open("/");
  await page.route("**/api/v1/uploads", (route) => route.fulfill({ status: 415, contentType: "application/problem+json", json: { type: "unknown-kind", title: "Not a kind of file that is analysed", status: 415, detail: "junk" } }));
  await page.locator("input[type=file]").setInputFiles({ name: "junk.bin", mimeType: "application/octet-stream", buffer: Buffer.from("junk") });
  const line = page.locator(".running-item", { hasText: "junk.bin" });
  await line.getByText("Not a kind of file that is analysed").waitFor();
  assert.deepEqual(await line.getByRole("button").allTextContents(), ["Remove"]);
  await line.getByRole("button", { name: "Remove" }).click();
  await close();
});
