// Thread dumps and garbage collection logs in Chromium: drawn, hostile names as text, in both languages.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { audit, LAPTOP, launch, openPage, options, PHONE } from "./browser.mjs";

let server;
let browser;

before(async () => {
  if (options.skip) return;
  server = await start({ speed: 20, logs: true });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test("reports of logs are drawn on a laptop and a phone, light and dark", options, async () => {
  for (const [viewport, colorScheme] of [[LAPTOP, "light"], [LAPTOP, "dark"], [PHONE, "light"]]) {
    const { page, close } = await openPage(browser, server.url + "/", { viewport, colorScheme });
    const [threads, gc, flight, before, later] = server.jobs.logs.map((dump) => dump.id);
    const places = [[`threads`, `/dumps/${threads}`], ["gc", `/dumps/${gc}`], ["recording-gc", `/dumps/${flight}/gc`], ["recording-stacks", `/dumps/${flight}/stacks`], ["compare-gc", `/compare/gc?dumps=${before},${gc}`], ["compare-stacks", `/compare/stacks?dumps=${threads},${later}`]];
    for (const [name, place] of places) {
      const dump = { name };
      await page.goto(server.url + place);
      await page.waitForFunction(() => document.querySelectorAll("main h2").length > 1);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(wide, false, `${dump.name} is wider than ${viewport.width}`);
      await audit(page, `${dump.name} ${colorScheme} ${viewport.width}`);
      if (process.env.HPROF_RS_PICTURES) await page.screenshot({ path: `${process.env.HPROF_RS_PICTURES}/${dump.name}-${colorScheme}-${viewport.width}.png` });
    }
    await close();
  }
});

test("what a log shows is there, and names are text", options, async () => {
  const { page, close } = await openPage(browser, server.url + "/");
  const [threads, gc] = server.jobs.logs;
  await page.goto(server.url + "/dumps/" + threads.id);
  await page.getByRole("heading", { name: "Deadlocks" }).waitFor();
  assert.equal(await page.locator("section", { hasText: "Deadlocks" }).locator("li").count(), 2);
  assert.equal(await page.locator("section", { hasText: "Equal stacks" }).locator("details").count(), 50);
  await page.getByText(/^The first 50 of \d+; the report/).first().waitFor();
  assert.match(await page.locator("section", { hasText: "Locks" }).last().textContent(), /no thread, or a thread that is not in the dump/);
  assert.match(await page.locator("a[download]").getAttribute("href"), /stacks\.html$/);
  const moved = page.locator("section", { has: page.getByRole("heading", { name: "What moved between the dumps" }) });
  assert.match(await moved.textContent(), /In 9,870\sms: 3 threads began, 0 ended, 40 waited in one place\./);
  assert.match(await moved.locator("tbody tr").first().textContent(), /8,123\sms82\.3%/);
  await page.goto(server.url + "/dumps/" + gc.id);
  await page.getByRole("heading", { name: "Findings" }).waitFor();
  assert.match(await page.locator("main").textContent(), /2 full collections took 1\.2 s/);
  assert.match(await page.locator("main").textContent(), /97\.3%/);
  assert.match(await page.locator("a[download]").getAttribute("href"), /gc\.html$/);
  assert.match(await page.locator("section", { has: page.getByRole("heading", { name: "Stops, for other reasons too" }) }).textContent(), /Until all threads had stopped.*G1CollectForAllocation/);
  assert.equal(await page.locator(".log-timeline rect").count(), 120);
  assert.equal(await page.locator(".log-timeline rect.full").count(), 2);
  assert.match(await page.locator("main").textContent(), /The highest bar is a pause of .*with a full collection/s);
  assert.equal(await page.locator(".log-heap polyline").count(), 3);
  assert.match(await page.locator("section", { has: page.getByRole("heading", { name: "Heap over time" }) }).textContent(), /Size of the heap.*After collections: 100\.0\sMB at first, 576\.0\sMB at last\./s);
  const longest = page.locator("section", { has: page.getByRole("heading", { name: "Longest pauses", exact: true }) });
  assert.match(await longest.locator("tbody tr").first().textContent(), /^801\sms.*Pause FullErgonomics900\.0\sMB200\.0\sMB$/);
  const figure = page.locator("table").first().locator("tbody tr").first().locator("td").last();
  assert.equal(await figure.evaluate((cell) => getComputedStyle(cell).textAlign), "end");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await close();
});

test("pauses and times of cycles that a log does not have are not shown as 0", options, async () => {
  const { page, close } = await openPage(browser, server.url + "/");
  const [, gc, , before] = server.jobs.logs;
  const none = { count: 0, sum_ms: 0, max_ms: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, p999_ms: 0 };
  await page.route("**/api/v1/dumps/*/gc", async (route) => {
    const response = await route.fetch();
    const report = await response.json();
    Object.assign(report.logs[0], { collector: "Z", pauses: none, throughput: null, kinds: [], causes: [], cycles: [{ name: "Garbage Collection", ...none, count: 3 }], stops: none, reaching: none, operations: [] });
    await route.fulfill({ response, json: report });
  });
  await page.goto(server.url + "/dumps/" + gc.id);
  await page.getByRole("heading", { name: "Pauses by kind" }).waitFor();
  const cells = (table) => table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const figures = await cells(page.locator("table").first());
  assert.deepEqual(figures.slice(0, 4).map((row) => row[1]), ["–", "–", "–", "–"]);
  await page.getByText("the log does not have its pauses").waitFor();
  const part = (name) => page.locator("section", { has: page.getByRole("heading", { name, exact: true }) });
  assert.deepEqual(await cells(part("Concurrent cycles").locator("table")), [["Garbage Collection", "3", "–", "–", "–", "–", "–", "–"]]);
  await part("Concurrent cycles").getByText("the log has no times of these cycles").waitFor();
  assert.equal(await page.locator(".log-timeline").count(), 0, "a chart of no pause");
  // A table of nothing but its head would look like one that has not come.
  for (const name of ["Pauses by kind", "Pauses by cause"]) {
    assert.equal(await part(name).locator("table").count(), 0);
    await part(name).getByText("None.").waitFor();
  }
  await page.route("**/api/v1/gc?*", async (route) => {
    const response = await route.fetch();
    const found = await response.json();
    found.figures.find((figure) => figure.name === "longest pause").values = [null, 120];
    found.figures.find((figure) => figure.name === "throughput").values = [100, 99.99];
    found.figures.find((figure) => figure.name === "pauses a minute").values = [1, 2566.75];
    await route.fulfill({ response, json: found });
  });
  await page.goto(server.url + `/compare/gc?dumps=${before.id},${gc.id}`);
  const row = page.locator("tbody tr", { hasText: "Longest pause" });
  await row.waitFor();
  assert.deepEqual(await row.locator("td").allTextContents(), ["Longest pause", "–", "120\u00a0ms", "–"]);
  await page.getByText("the log does not have this figure").waitFor();
  const told = (name) => page.locator("tbody tr", { hasText: name }).locator("td").allTextContents();
  assert.equal((await told("Time without a pause"))[3], "0.0 percentage points");
  assert.equal((await told("Pauses a minute"))[2], "2,566.8");
  await close();
});

test("findings in every wording are Chinese on the Chinese page", options, async () => {
  // The list is made by a test of the crate that writes the findings.
  const findings = JSON.parse(readFileSync(new URL("../../../gclog/tests/data/findings.json", import.meta.url), "utf8"));
  const named = findings.map((finding, at) => ({ ...finding, id: finding.id + at }));
  const { page, close } = await openPage(browser, server.url + "/");
  const gc = server.jobs.logs[1];
  await page.route("**/api/v1/dumps/*/gc", async (route) => {
    const response = await route.fetch();
    const report = await response.json();
    report.logs[0].findings = named;
    await route.fulfill({ response, json: report });
  });
  await page.getByLabel("Language").selectOption("zh");
  await page.goto(server.url + "/dumps/" + gc.id);
  await page.locator("article").first().waitFor();
  const shown = await page.locator("article").evaluateAll((all) => all.map((it) => [it.querySelector("strong").textContent, it.querySelector("p").textContent]));
  assert.equal(shown.length, named.length);
  shown.forEach(([fact, advice], at) => {
    for (const [text, english] of [[fact, named[at].fact], [advice, named[at].advice]]) {
      assert.match(text, /\p{Script=Han}/u, english);
      // Figures and options stay.
      for (const kept of english.match(/-XX?:?[+\w]+|\d+(\.\d+)?|`[^`]+`/g) ?? []) {
        assert.ok(kept === "99" || kept === "100" || text.includes(kept), `${kept} is missing: ${text}`);
      }
    }
  });
  await close();
});

test("a recording has its collections and thread dumps beside its samples", options, async () => {
  const { page, close } = await openPage(browser, server.url + "/");
  const flight = server.jobs.logs[2];
  await page.goto(server.url + "/dumps/" + flight.id);
  const views = page.locator(".profile-views a");
  await views.first().waitFor();
  assert.deepEqual(await views.allTextContents(), ["Flame graph", "Methods", "Call tree", "Compare", "Collections", "Thread dumps"]);
  await page.getByRole("link", { name: "Collections" }).click();
  await page.getByRole("heading", { name: "Pauses by cause" }).waitFor();
  assert.match(await page.locator("a[download]").getAttribute("href"), /gc\.html$/);
  await page.getByRole("link", { name: "Thread dumps" }).click();
  await page.getByRole("heading", { name: "Equal stacks" }).waitFor();
  assert.match(page.url(), /\/stacks$/);
  await page.getByRole("link", { name: "Flame graph" }).click();
  await page.locator(".flame-part").first().waitFor();
  // Of one without samples the collections come first.
  flight.summary = { profiles: [], collections: 12 };
  await page.goto(server.url + "/dumps/" + flight.id);
  await page.getByRole("heading", { name: "Pauses by cause" }).waitFor();
  assert.deepEqual(await page.locator(".profile-views a").allTextContents(), ["Collections"]);
  flight.summary = { profiles: [{}], collections: 12, dumps: 2 };
  await close();
});

test("files that are chosen in the list are compared and joined", options, async () => {
  const { page, close } = await openPage(browser, server.url + "/");
  const bar = page.getByRole("group", { name: "Chosen analyses" });
  await page.getByLabel("Choose threads.txt").check();
  assert.match(await bar.textContent(), /1 chosen.*Choose another one/);
  await page.getByLabel("Choose gc.log", { exact: true }).check();
  assert.match(await bar.textContent(), /2 chosen.*cannot be compared/);
  await page.getByRole("button", { name: "Choose none" }).click();
  assert.equal(await bar.count(), 0);
  await page.getByLabel("Choose threads.txt").check();
  await page.getByLabel("Choose later.txt").check();
  await audit(page, "a choice");
  await bar.getByRole("link", { name: "Compare" }).click();
  await page.getByRole("heading", { name: "What moved between the dumps" }).waitFor();
  assert.deepEqual(await page.locator(".compared li").allTextContents(), ["threads.txt", "later.txt (2 dumps)"]);
  await page.goBack();
  await page.getByRole("button", { name: "Choose none" }).click();
  // A recording has collections as a log has.
  for (const name of ["Choose gc.log.0", "Choose flight.jfr"]) await page.getByLabel(name).check();
  assert.equal(await bar.getByRole("button", { name: "Join as one log" }).count(), 0);
  await bar.getByRole("link", { name: "Compare" }).click();
  await page.getByRole("heading", { name: /Findings: gc\.log\.0/ }).waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "Choose none" }).click();
  for (const name of ["gc.log", "gc.log.0"]) await page.getByLabel("Choose " + name, { exact: true }).check();
  await bar.getByRole("link", { name: "Compare" }).click();
  const cells = page.locator("tbody tr").first().locator("td");
  await cells.first().waitFor();
  assert.deepEqual(await cells.allTextContents(), ["Pauses", "12", "24", "+100.0%"]);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.goBack();
  await bar.getByRole("button", { name: "Join as one log" }).click();
  await page.getByRole("heading", { name: "Garbage collection log" }).waitFor();
  assert.match(await page.locator("main, .dump-bar").first().textContent(), /gc\.log \(2 files\)/);
  await close();
});

test("a log names the others of its kind for a comparison", options, async () => {
  const { page, close } = await openPage(browser, server.url + "/");
  await page.goto(server.url + "/dumps/" + server.jobs.logs[0].id);
  const others = page.locator("section", { has: page.getByRole("heading", { name: "Compare with" }) });
  await others.getByLabel(/later\.txt/).check();
  await others.getByRole("link", { name: "Compare" }).click();
  await page.locator(".compared li").nth(1).waitFor();
  await page.locator(".compared a").first().click();
  await page.getByRole("heading", { name: "Compare with" }).waitFor();
  for (const place of ["/compare/gc", "/compare/gc?dumps=" + server.jobs.logs[0].id, "/compare/heaps?dumps=a,b"]) {
    await page.goto(server.url + place);
    await page.getByRole("heading", { name: "There is nothing at this address" }).waitFor();
  }
  await close();
});

test("files that are dropped at once are chosen when they have come", options, async () => {
  const { page, close } = await openPage(browser, server.url + "/");
  const data = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    for (const name of ["gc.log.5", "gc.log.6", "gc.log.7"]) data.items.add(new File(["x".repeat(2000)], name));
    return data;
  });
  await page.locator(".drop").dispatchEvent("drop", { dataTransfer: data });
  const bar = page.getByRole("group", { name: "Chosen analyses" });
  await bar.getByText("3 chosen").waitFor();
  await bar.getByRole("button", { name: "Join as one log" }).click({ timeout: 120_000 });
  await page.getByText(/gc\.log \(3 files\)/).first().waitFor();
  await close();
});
