// What is unusual in a file or an address: long names, deep stacks, nothing counted, wrong expressions.
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
const shop = () => `/dumps/${idOf("shop-prod-eu1.hprof")}`;
const cpu = () => `/dumps/${idOf("checkout-cpu.txt")}`;

/** Changes an answer of the server. */
const change = (page, pattern, edit) =>
  page.route(pattern, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: edit(await response.json(), new URL(route.request().url())) });
  });

test("a class name of 2,000 characters leaves room for what is below it, and keys reach all of it", options, async () => {
  const long = "com.acme.<b>" + "NoBreak".repeat(280) + "\u202eEnd";
  for (const viewport of [LAPTOP, PHONE]) {
    const { page, close } = await open("/", { viewport });
    await change(page, "**/api/v1/**/classes/0x7f00014997a8", (facts) => ({ ...facts, name: long }));
    await change(page, "**/api/v1/**/objects/0x7f0000000018", (facts) => ({ ...facts, name: long, class: { ...facts.class, name: long } }));
    await change(page, "**/api/v1/**/suspects", (found) => ({ items: found.items.map((one) => ({ ...one, sentences: [`It is filled with 3 objects of class ${long}; each keeps 4 B alive.`] })) }));
    await page.goto(server.url + `${shop()}/instances?class=0x7f00014997a8`);
    const crumb = page.locator(".crumbs .foreign").last();
    await crumb.filter({ hasText: "NoBreak" }).waitFor();
    assert.ok((await crumb.boundingBox()).height < 200, "the name above the table");
    assert.match(await crumb.getAttribute("title"), /End$/);
    await page.goto(server.url + `${shop()}/dominators?select=0x7f0000000018`);
    const name = page.locator("h2.object-name");
    await name.filter({ hasText: "NoBreak" }).waitFor();
    assert.match(await name.textContent(), /\\u\{202e\}End$/, "the inspector has the whole name");
    assert.equal(await name.evaluate((title) => title.tabIndex), 0);
    assert.ok((await page.locator(".inspector dd .foreign").first().boundingBox()).height < 220, "the name of the class");
    await audit(page, `a long name ${viewport.width}`);
    await page.goto(server.url + `${shop()}/suspects`);
    const sentence = page.locator("article li").first();
    await sentence.filter({ hasText: "each keeps 4 B alive" }).waitFor();
    assert.ok((await sentence.textContent()).length < 400, "a sentence with the name");
    await close();
  }
});

/** A chain of frames, each in the one before. */
const chain = (depth) => ({ f: 1 + (depth % 2), v: 90, s: depth ? 0 : 90, c: depth ? [chain(depth - 1)] : [] });

test("a frame deep in a flame graph is in sight when it is zoomed into, by keys and from a link", options, async () => {
  const { page, context, close } = await open("/");
  const answer = (route) => route.fulfill({ json: { frames: ["all", "a.B.c", "d.E.f"], unit: "samples", total: 90, root: { f: 0, v: 90, s: 0, c: [chain(300)] }, notes: [] } });
  await context.route("**/api/v1/**/flame?*", answer);
  await page.goto(server.url + cpu());
  await page.locator(".grid-body .row").first().waitFor();
  await page.locator("canvas").focus();
  for (let step = 0; step < 120; step++) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(/zoom=/);
  // 300 frames above the root; the one that is zoomed into is the 120th.
  const inSight = (of) => of.locator(".flame").evaluate((box) => {
    const y = box.scrollHeight - 19 * 121;
    return y >= box.scrollTop && y + 19 <= box.scrollTop + box.clientHeight;
  });
  await page.waitForTimeout(150);
  assert.equal(await inSight(page), true);
  const copy = await context.newPage();
  await copy.goto(page.url());
  await copy.locator(".grid-body .row").first().waitFor();
  await copy.waitForTimeout(150);
  assert.equal(await inSight(copy), true);
  await page.getByRole("button", { name: "Reset zoom" }).click();
  await page.waitForFunction(() => {
    const box = document.querySelector(".flame");
    return box.scrollHeight - box.clientHeight - box.scrollTop < 2;
  });
  await close();
});

test("rows deep in a tree keep their names in sight and are told apart by their level", options, async () => {
  for (const viewport of [LAPTOP, PHONE]) {
    const { page, close } = await open("/", { viewport });
    await change(page, "**/api/v1/**/profile/tree?*", (table, url) => ({ ...table, total: 1, next: null, rows: [{ ...table.rows[0], name: "com.acme.Deep.call", node: (url.searchParams.get("node") ?? "r") + "x", children: true }] }));
    await page.goto(server.url + `${cpu()}/tree`);
    const tree = page.getByRole("treegrid");
    await tree.locator(".grid-body .row .foreign").first().waitFor();
    await tree.focus();
    for (let level = 1; level < 60; level++) {
      await page.keyboard.press("ArrowRight");
      const next = page.locator(`.row[aria-level='${level + 1}']`);
      if (!(await next.count())) await next.first().waitFor();
      await page.keyboard.press("ArrowRight");
    }
    const row = page.locator(".row[aria-level='60']");
    await row.waitFor();
    assert.equal(await row.locator(".level").textContent(), "60");
    const room = await row.locator(".foreign").evaluate((name) => name.getBoundingClientRect().width);
    assert.ok(room > 80, `${room} pixels for the name at ${viewport.width}`);
    await audit(page, `a deep tree ${viewport.width}`);
    await close();
  }
});

test("a profile that counted nothing says so, and is no error", options, async () => {
  const { page, close } = await open("/");
  await change(page, "**/api/v1/**/profile", (facts) => ({ ...facts, total: 0, dimensions: [], threads: [], notes: ["the profile counted nothing", "the file is damaged: it ends"] }));
  for (const view of ["flame", "methods", "tree", "compare"]) {
    await page.goto(server.url + `${cpu()}/${view}`);
    await page.getByText("there is nothing to draw").waitFor();
    await page.getByText("The file is damaged: it ends.").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0, view);
  }
  await audit(page, "a profile without counts");
  await close();
});

test("an expression that is wrong is called so, and is not offered for another try", options, async () => {
  const { page, close } = await open(`${cpu()}/flame?q=(`);
  await page.locator(".matched").getByText("No regular expression, so searched as text.").waitFor();
  await audit(page, "a wrong search");
  await page.goto(server.url + `${shop()}/histogram?filter=(`);
  await page.getByRole("alert").getByText("is not a regular expression").waitFor();
  assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
  await audit(page, "a wrong filter");
  await close();
});

test("a comparison of profiles says what to choose, and swaps the two", options, async () => {
  const { page, close } = await open(`${cpu()}/compare`);
  await page.getByText("Choose the profile from before.").waitFor();
  await page.getByLabel("Compare with").selectOption({ index: 1 });
  await page.getByText("more than before").waitFor();
  const other = new URL(page.url()).searchParams.get("with");
  await page.getByRole("link", { name: "Swap" }).click();
  await page.waitForURL((url) => url.pathname === `/dumps/${other}/compare` && url.searchParams.get("with") === idOf("checkout-cpu.txt"));
  await page.getByText("more than before").waitFor();
  await audit(page, "two profiles");
  await close();
});

test("a method of the table is searched in the graph, from the views without one too", options, async () => {
  const { page, close } = await open(cpu());
  const row = page.locator(".grid-body .row", { hasText: "java.util.HashMap.get" });
  await row.click();
  await page.waitForURL((url) => url.searchParams.get("q") === "^java\\.util\\.HashMap\\.get$");
  await page.locator(".matched").getByText(/^Matched/).waitFor();
  await page.goto(server.url + `${cpu()}/methods?thread=main`);
  await row.click();
  await page.waitForURL((url) => url.pathname.endsWith("/flame") && url.searchParams.get("thread") === "main" && url.searchParams.has("q"));
  await page.goBack();
  await row.waitFor();
  await row.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: "Flame graph" }).click();
  await page.waitForURL((url) => url.pathname.endsWith("/flame") && url.searchParams.get("thread") === "main");
  await close();
});

test("a link restores which frames of a stack are shown", options, async () => {
  const { page, close } = await open(`${shop()}/threads?thread=0x7f0000001c20`);
  await page.getByLabel("Only frames with locals").check();
  await page.waitForURL(/locals=1/);
  await page.reload();
  await page.locator(".stack-part .check").waitFor();
  assert.equal(await page.getByLabel("Only frames with locals").isChecked(), true);
  await close();
});

test("the choice of further dumps leaves room for the table", options, async () => {
  const { page, close } = await open("/");
  await change(page, "**/api/v1/dumps?limit=200", (list) => ({ ...list, items: [...list.items, ...Array.from({ length: 100 }, (_, at) => ({ ...list.items.find((dump) => dump.id === idOf("android-leak")), id: "more" + at, name: `more-${at}.hprof` }))] }));
  await page.goto(server.url + `${shop()}/compare?with=${idOf("android-leak")}`);
  await page.getByText("More dumps, with a column for each").click();
  await page.locator(".also .check").nth(99).waitFor({ state: "attached" });
  assert.ok((await page.locator(".also").boundingBox()).height < 330);
  const grid = await page.getByRole("grid").first().boundingBox();
  assert.ok(grid.y + 120 < LAPTOP.height, "the table begins in sight");
  await audit(page, "many dumps");
  await close();
});

test("a dump that is cut off says so in each view, and an empty one why its views are empty", options, async () => {
  const { page, close } = await open("/");
  await change(page, "**/api/v1/dumps?*", (list) => ({ ...list, items: list.items.map((dump) => (dump.name === "shop-prod-eu1.hprof" ? { ...dump, summary: { ...dump.summary, damage: "cut" } } : dump)) }));
  for (const view of ["suspects", "histogram", "treemap"]) {
    await page.goto(server.url + `${shop()}/${view}`);
    await page.locator(".dump-bar").getByText("cut off", { exact: true }).waitFor();
    await audit(page, `${view} of a cut dump`);
  }
  await change(page, "**/api/v1/**/overview", (facts) => ({ ...facts, biggest: [], summary: { ...facts.summary, live_objects: 0, live_bytes: 0 } }));
  await page.goto(server.url + `${shop()}/overview`);
  await page.getByText("Nothing in this dump is alive").waitFor();
  await close();
});

test("a stack of 2,000 frames does not hide the stacks below it", options, async () => {
  const { page, close } = await open("/");
  const threads = server.jobs.logs[0].id;
  await change(page, "**/api/v1/**/stacks", (found) => ({ ...found, report: { ...found.report, stacks: found.report.stacks.map((group, at) => (at ? group : { ...group, frames: Array.from({ length: 2000 }, (_, depth) => `com.acme.Deep.call(Deep.java:${depth})`) })) } }));
  await page.goto(server.url + `/dumps/${threads}`);
  const groups = page.locator("section", { hasText: "Equal stacks" }).locator("details");
  await groups.first().waitFor();
  assert.deepEqual(await groups.evaluateAll((all) => all.slice(0, 3).map((group) => group.open)), [false, true, false]);
  await groups.first().locator("summary").click();
  assert.equal(await groups.first().locator("li").count(), 2000);
  await close();
});

test("profiles that count different things are not offered for a comparison", options, async () => {
  const { page, close } = await open("/");
  const summaries = { "checkout-cpu.txt": ["samples", "allocated-bytes"], "checkout-cpu-before.hprof": ["allocated-bytes"] };
  await change(page, "**/api/v1/dumps?*", (list) => ({ ...list, items: list.items.map((dump) => (summaries[dump.name] ? { ...dump, summary: { profiles: summaries[dump.name].map((measure) => ({ measure })) } } : dump)) }));
  await page.reload();
  for (const name of Object.keys(summaries)) await page.getByLabel("Choose " + name).check();
  const bar = page.getByRole("group", { name: "Chosen analyses" });
  const href = await bar.getByRole("link", { name: "Compare" }).getAttribute("href");
  assert.match(href, /dimension=allocated-bytes/, "what both count");
  // The first dimension of the mock is cpu, which no other profile counts.
  await page.goto(server.url + `${cpu()}/compare`);
  await page.getByText("There is no other finished profile that counts the same.").waitFor();
  summaries["checkout-cpu.txt"] = ["samples"];
  await page.goto(server.url);
  for (const name of Object.keys(summaries)) await page.getByLabel("Choose " + name).check();
  await bar.getByText("two profiles that count the same").waitFor();
  assert.equal(await bar.getByRole("link", { name: "Compare" }).count(), 0);
  await close();
});

test("comparisons, dialogs, menus, waiting pages and the sign-in have contrast and roles, light and dark", { ...options, timeout: 900_000 }, async () => {
  const closed = await start({ token: "s3cret" });
  for (const [viewport, colorScheme] of [[LAPTOP, "light"], [LAPTOP, "dark"], [PHONE, "dark"]]) {
    const where = `${colorScheme} ${viewport.width}`;
    const { page, close } = await open("/", { viewport, colorScheme });
    const fits = async (name) => {
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${name} is wider than ${viewport.width}`);
      await audit(page, `${name} ${where}`);
    };
    const line = page.locator("li.dump", { hasText: "shop-prod-eu1.hprof" });
    await line.getByRole("button", { name: /^Actions/ }).click();
    await fits("the menu of a dump");
    await page.getByRole("menuitem", { name: "Edit name, note, labels and rules" }).click();
    await fits("the dialog to edit");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await line.getByRole("button", { name: /^Actions/ }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await fits("the dialog to delete");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    const other = idOf("android-leak");
    const before = idOf("checkout-cpu-before");
    for (const view of [`compare?with=${other}`, `compare?with=${other}&by=package`, `compare?with=${other}&by=dominator`, `compare?with=${other}&also=${idOf("yesterday")}`]) {
      await page.goto(server.url + `${shop()}/${view}`);
      await page.locator(".grid-body .row").first().waitFor();
      await fits(view);
    }
    for (const view of [`compare?with=${before}`, "flame?colours=package", "flame?icicle=1", "tree?invert=1"]) {
      await page.goto(server.url + `${cpu()}/${view}`);
      await page.locator("canvas, .grid-body .row").first().waitFor();
      await fits(view);
    }
    await page.goto(server.url + `${shop()}/histogram`);
    await page.locator(".grid-body .row-menu").first().click();
    await page.getByRole("menu").waitFor();
    await fits("the menu of a row");
    const waiting = server.jobs.add("waits.hprof", 1e12);
    await page.goto(server.url + `/dumps/${waiting.id}`);
    await page.getByText("The views open as soon as it is.").waitFor();
    await fits("a dump that is analysed");
    server.jobs.remove(waiting);
    await close();
    const signIn = await openPage(browser, closed.url + "/", { viewport, colorScheme });
    await signIn.page.getByLabel("Token").waitFor();
    await audit(signIn.page, `signing in ${where}`);
    await signIn.close();
  }
  await closed.close();
});

test("at 320 pixels, as with text of four times the size, no view is wider than the screen", options, async () => {
  const { page, close } = await open("/", { viewport: { width: 320, height: 640 } });
  const views = ["/", "/fleet", "/fleet/growth?service=shop", "/fleet/regressions", ...["overview", "suspects", "dominators?select=0x7f0000000018", "treemap", "histogram", "sql", `compare?with=${idOf("android-leak")}`].map((view) => `${shop()}/${view}`), cpu(), `${cpu()}/tree`, `/dumps/${server.jobs.logs[0].id}`, `/dumps/${server.jobs.logs[1].id}`];
  for (const view of views) {
    await page.goto(server.url + view);
    await page.waitForFunction(() => document.querySelector("main h1, .start") && !document.querySelector(".skeleton"));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, view);
  }
  await close();
});
