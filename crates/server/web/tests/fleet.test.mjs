// The page "Fleet" in Chromium against the mock: every view, every control, keys, links, hostile names, axe.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { audit, LAPTOP, launch, openPage, options, PHONE } from "./browser.mjs";

let server;
let browser;

before(async () => {
  if (options.skip) return;
  server = await start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const open = (path, more) => openPage(browser, server.url + path, more);
const rows = (page) => page.locator(".grid-body .row");

test("every question is drawn, has contrast and fits, in both languages, light and dark, on a laptop and a phone", { ...options, timeout: 900_000 }, async () => {
  const addresses = ["/fleet", "/fleet/growth", "/fleet/growth?service=unknown", "/fleet/suspects", "/fleet/suspects?suspect=0a1b2c3d4e5f6071", "/fleet/suspects?suspect=00", "/fleet/regressions", "/fleet/regressions?service=checkout", "/fleet/waste", "/fleet/nowhere"];
  for (const [viewport, colorScheme, language] of [[LAPTOP, "light", "en"], [LAPTOP, "dark", "zh"], [PHONE, "light", "zh"], [PHONE, "dark", "en"]]) {
    const { page, close } = await open("/fleet", { viewport, colorScheme });
    await page.getByLabel(/Language|语言/).selectOption(language);
    for (const address of addresses) {
      await page.goto(server.url + address);
      await page.waitForFunction(() => document.querySelector("main h1, .empty") && !document.querySelector(".skeleton, .ghost"));
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${address} is wider than ${viewport.width}`);
      await audit(page, `${address} ${colorScheme} ${viewport.width}`);
    }
    await close();
  }
});

test("services lead to what grows there, and each choice is kept in the address", options, async () => {
  const { page, context, close } = await open("/");
  await page.getByRole("link", { name: "Fleet" }).click();
  await page.waitForURL(/\/fleet$/);
  await page.getByRole("gridcell", { name: "shop" }).waitFor();
  await page.getByRole("button", { name: /^Hosts/ }).click();
  await page.waitForURL(/sort=-hosts/);
  await page.getByRole("searchbox").fill("^check");
  await page.getByText("1 row", { exact: true }).waitFor();
  await page.getByRole("searchbox").fill("");
  await page.getByText("4 rows", { exact: true }).waitFor();
  const file = page.waitForEvent("download");
  await page.getByRole("link", { name: "CSV" }).click();
  assert.equal((await file).suggestedFilename(), "services.csv");
  await rows(page).first().getByRole("button", { name: "Actions" }).click();
  for (const name of ["Growing classes", "Suspects", "Regressions", "Copy name"]) await page.getByRole("menuitem", { name }).waitFor();
  await page.getByRole("menuitem", { name: "Growing classes" }).click();
  await page.waitForURL(/growth\?service=shop/);

  const trend = page.getByRole("img", { name: /^From the oldest dump to the newest: 18\.0.MB, 36\.0.MB, 90\.0.MB/ });
  await trend.waitFor();
  assert.equal((await trend.locator("polyline").getAttribute("points")).split(" ").length, 5);
  await page.getByRole("radio", { name: "10", exact: true }).click();
  await page.waitForURL(/last=10/);
  await page.waitForFunction(() => document.querySelector(".trend polyline")?.getAttribute("points").split(" ").length === 10);
  await page.getByRole("radio", { name: "Retained" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(/by=shallow/);
  await page.getByRole("img", { name: /newest: 6\.0.MB/ }).waitFor();
  await page.getByRole("button", { name: /^Growth/ }).click();
  await page.waitForURL(/sort=grown_delta/);
  await page.getByText("Each dump counts with the 100 classes that retain most.").waitFor();
  const copy = await context.newPage();
  await copy.goto(page.url());
  await copy.getByRole("img", { name: /newest: 1\.0.MB/ }).first().waitFor();
  assert.equal(await copy.getByRole("radio", { name: "Shallow" }).getAttribute("aria-checked"), "true");
  assert.equal(await copy.getByLabel("Service").inputValue(), "shop");
  await page.getByLabel("Service").selectOption("unknown");
  await page.getByText("No class of the service grew in each of these dumps.").waitFor();
  await page.goBack();
  await rows(page).first().waitFor();
  await close();
});

test("a suspect leads to the services that carry it, by keys alone, and to a dump", options, async () => {
  const { page, close } = await open("/fleet/suspects");
  const grid = page.getByRole("grid");
  await rows(page).nth(1).waitFor();
  await grid.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/suspect=0a1b2c3d4e5f6071/);
  await page.getByText("One java.util.HashMap keeps 520.0 MB alive").waitFor();
  await page.getByRole("link", { name: "All suspects" }).click();
  await page.getByLabel("Service").selectOption("checkout");
  await page.getByText("Nothing here.").waitFor();
  await page.getByLabel("Service").selectOption("");
  await rows(page).first().getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: "Services that carry it" }).click();
  await page.getByRole("gridcell", { name: "shop" }).waitFor();
  await rows(page).first().getByRole("button", { name: "Actions" }).click();
  await page.getByRole("menuitem", { name: "Last dump that has it" }).click();
  await page.waitForURL(/\/dumps\/[0-9a-f]+\/suspects$/);
  await page.getByRole("link", { name: "Services that carry it" }).click();
  await page.waitForURL(/\/fleet\/suspects\?suspect=0a1b2c3d4e5f6071/);
  await rows(page).first().click();
  await page.waitForURL(/\/dumps\/[0-9a-f]+\/suspects$/);
  await page.goto(server.url + "/fleet/suspects?suspect=00");
  await page.getByText("No dump has this suspect any more.").waitFor();
  await close();
});

test("two builds are chosen, swapped and compared", options, async () => {
  const { page, close } = await open("/fleet/regressions");
  await page.getByRole("columnheader", { name: /^Old build/ }).waitFor();
  assert.deepEqual([await page.getByLabel("Old build").inputValue(), await page.getByLabel("New build").inputValue()], ["812", "813"]);
  await rows(page).first().waitFor();
  await page.getByRole("link", { name: "Swap" }).click();
  await page.waitForURL(/old=813&new=812/);
  await page.getByLabel("New build").selectOption("813");
  await page.getByText("Nothing here.").waitFor();
  await page.getByLabel("Old build").selectOption({ index: 2 });
  await rows(page).first().waitFor();
  await page.getByRole("radio", { name: "Shallow" }).click();
  await page.waitForURL(/by=shallow/);
  await page.getByLabel("Service").selectOption("checkout");
  await page.getByText("A comparison needs heap dumps of two builds").waitFor();
  await close();
});

test("waste is told by service, each view names its question in SQL, and an empty fleet says what to do", options, async () => {
  const { page, close } = await open("/fleet");
  for (const [name, file] of [["Growing classes", "growing-classes.sql"], ["Suspects", "suspects.sql"], ["Regressions", "regressions.sql"], ["Duplicate strings", "duplicate-strings.sql"], ["Services", "top-retained.sql"]]) {
    await page.getByRole("navigation").getByRole("link", { name }).click();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    const href = await page.getByRole("link", { name: file }).getAttribute("href");
    assert.equal((await fetch(server.url + href)).status, 200);
  }
  await page.goto(server.url + "/fleet/waste");
  await page.getByRole("gridcell", { name: /720\.0/ }).waitFor();
  await rows(page).first().click();
  await page.waitForURL(/growth\?service=shop/);
  await page.route("**/api/v1/fleet/services?*", (route) => route.fulfill({ json: { columns: [], rows: [], total: 0, next: null, notes: [], pending: false } }));
  await page.goto(server.url + "/fleet/growth");
  await page.getByText("No heap dump has been analysed yet.").waitFor();
  await close();
});

test("on a phone the questions open from one button", options, async () => {
  const { page, close } = await open("/fleet", { viewport: PHONE });
  await page.getByRole("button", { name: "Services" }).first().click();
  await page.getByRole("link", { name: "Regressions" }).click();
  await page.getByRole("button", { name: "Regressions" }).waitFor();
  await close();
});

test("an analysis that ends while somebody looks is shown", options, async () => {
  const { page, close } = await open("/fleet");
  await rows(page).first().waitFor();
  const asked = page.waitForRequest(/fleet\/services\?limit=100&/);
  const dump = server.jobs.add("new.hprof", 1e6);
  server.jobs.tell("job", Object.assign(dump.job, { state: "done", phase: "done" }));
  await asked;
  server.jobs.remove(dump);
  await close();
});
