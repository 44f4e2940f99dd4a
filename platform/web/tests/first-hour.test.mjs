// What somebody meets who has never seen the page: what is in sight, where keys lead, what sentences say.
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
  // Whoever has scrolled stays there.
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
