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
  server = await start({ speed: 2 });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test("reports of logs are drawn on a laptop and a phone, light and dark", options, async () => {
  for (const [viewport, colorScheme] of [[LAPTOP, "light"], [LAPTOP, "dark"], [PHONE, "light"]]) {
    const { page, close } = await openPage(browser, server.url + "/", { viewport, colorScheme });
    for (const dump of server.jobs.logs) {
      await page.goto(server.url + "/dumps/" + dump.id);
      await page.waitForFunction(() => document.querySelectorAll("main h2").length > 2);
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
  assert.match(await page.locator("section", { hasText: "Locks" }).last().textContent(), /nobody, or not in the dump/);
  assert.match(await page.locator("a[download]").getAttribute("href"), /report\.html$/);
  await page.goto(server.url + "/dumps/" + gc.id);
  await page.getByRole("heading", { name: "Findings" }).waitFor();
  assert.match(await page.locator("main").textContent(), /2 full collections took 1\.2 s/);
  assert.match(await page.locator("main").textContent(), /97\.3%/);
  assert.equal(await page.locator(".log-timeline rect").count(), 120);
  assert.equal(await page.locator(".log-timeline rect.full").count(), 2);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await close();
});

test("findings in every wording are Chinese on the Chinese page", options, async () => {
  // The list is made by a test of the crate that writes the findings.
  const findings = JSON.parse(readFileSync(new URL("../../../gclog/tests/data/findings.json", import.meta.url), "utf8"));
  const named = findings.map((finding, at) => ({ ...finding, id: finding.id + at }));
  const { page, close } = await openPage(browser, server.url + "/");
  const gc = server.jobs.logs[1];
  await page.route("**/api/v1/dumps/*/report", async (route) => {
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
