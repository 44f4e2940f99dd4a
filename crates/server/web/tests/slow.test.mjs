// The view of timed calls (`slow=`).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { audit, LAPTOP, launch, openPage, options, PHONE } from "./browser.mjs";

let server;
let browser;
let cpu;

before(async () => {
  if (options.skip) return;
  server = await start({ speed: 2 });
  browser = await launch();
  const dumps = (await (await fetch(server.url + "/api/v1/dumps")).json()).items;
  cpu = "/dumps/" + dumps.find((dump) => dump.name === "checkout-cpu.txt").id;
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const HOSTILE = "worker-<img src=x onerror='window.hacked=1'>";
const ms = 1e6;
const call = (wall, strip) => ({ began_ns: 1764424990123 * ms, wall_ns: wall, cpu_ns: wall / 10, thread: HOSTILE, thread_serial: 1, is_virtual: true, remarks: ["its lock of a.B was owned by " + HOSTILE], strip });
const strip = {
  samples: 9,
  segments: [
    { from_ns: 0, to_ns: 400 * ms, state: "running" },
    { from_ns: 400 * ms, to_ns: 1500 * ms, state: "waits_for_lock" },
  ],
  states: [
    { state: "waits_for_lock", wall_ns: 1100 * ms, method: "com.acme.Cart.<b>lock</b>" },
    { state: "running", wall_ns: 400 * ms, method: null },
  ],
};
const method = (name, slowest, more) => ({ class: "com.acme.Api", name, descriptor: "()V", calls: 61234, recursive_calls: 0, calls_not_timed: 0, timed_one_in: 1, is_estimate: false, running_calls: 0, longest_running_ns: 0, p50_ns: 291, p90_ns: 731e3, p99_ns: 4.78e6, p99_9_ns: 168e6, max_ns: 1500 * ms, wall_ns: 294e9, cpu_ns: 60e9, threshold: { nanos: 5e7 }, threshold_ns: 5e7, slow_calls: 212, slowest, ...more });
const slow = { patterns: [{ pattern: "acme.None", methods: 0, why: "no class has this name" }], methods: [method("handle", [call(1500 * ms, strip), call(900 * ms, null)]), method("<script>", [], { timed_one_in: 100, threshold: null })], no_strips: null, is_wall: true, methods_left_out: 0 };

const withSlow = (page) =>
  page.route("**/api/v1/dumps/*/profile", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), slow } });
  });

test("timed calls have a table, and the slowest a strip of what their threads did", options, async () => {
  for (const viewport of [LAPTOP, PHONE]) for (const colorScheme of ["light", "dark"]) {
    const { page, close } = await openPage(browser, server.url + "/", { viewport, colorScheme });
    await withSlow(page);
    await page.goto(server.url + cpu);
    await page.locator(".profile-views a", { hasText: "Slow calls" }).click();
    const row = page.locator(".slow-calls tbody tr").first();
    const text = await row.textContent();
    for (const part of ["61,234", "291\u00a0ns", "731.00\u00a0µs", "1.500\u00a0s", "212 ≥ 50.00\u00a0ms", HOSTILE, "com.acme.Api.handle"]) assert.ok(text.includes(part), `${part}: ${text}`);
    const said = await page.locator("svg.slow-strip").first().getAttribute("aria-label");
    assert.equal(said, "waiting for a lock 1.100\u00a0s (com.acme.Cart.<b>lock</b>), running 400.00\u00a0ms");
    assert.equal(await page.locator("svg.slow-strip").count(), 1);
    assert.equal(await page.locator("svg.slow-strip rect").count(), 2);
    const all = await page.locator(".slow-calls").textContent();
    assert.ok(all.includes("acme.None has timed no call: no class has this name."), all);
    assert.ok(all.includes("one in 100 is, and the figures are estimates"), all);
    await page.locator(".slow-calls summary").first().click();
    assert.equal(await page.locator("svg.slow-strip").isVisible(), false);
    await page.locator(".slow-calls summary").first().click();
    assert.equal(await page.locator("main img, main script").count(), 0);
    if (process.env.HPROF_RS_SCREENSHOTS) await page.screenshot({ path: `${process.env.HPROF_RS_SCREENSHOTS}/serve-slow-${viewport.width}-${colorScheme}.png` });
    await audit(page, `slow calls ${viewport.width} ${colorScheme}`);
    await close();
  }
});

test("a profile without timed calls has no such view", options, async () => {
  const { page, close } = await openPage(browser, server.url + cpu);
  await page.locator(".profile-views a", { hasText: "Methods" }).waitFor();
  await page.locator(".tools-line").first().waitFor();
  assert.equal(await page.locator(".profile-views a", { hasText: "Slow calls" }).count(), 0);
  await close();
});
