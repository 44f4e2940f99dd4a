// Chromium for the tests, with the flags that it needs in containers, and pages that fail their test on errors.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const CANDIDATES = [process.env.HPROF_RS_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const required = process.env.CI !== undefined || process.env.HPROF_RS_BROWSER !== undefined;

export const browserPath = CANDIDATES.find((path) => path && existsSync(path)) ?? null;
export const options = { skip: browserPath || required ? false : "there is no Chromium" };
export const LAPTOP = { width: 1440, height: 900 };
export const PHONE = { width: 360, height: 740 };

export function launch() {
  return chromium.launch({
    executablePath: browserPath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** A page of the mock that fails its test on an error of the script, the policy or the console. */
export async function openPage(browser, address, { viewport = LAPTOP, ...more } = {}) {
  const context = await browser.newContext({ viewport, ...more });
  context.setDefaultTimeout(180_000);
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    // Refused requests are what some tests are about; the page shows them.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) errors.push(message.text());
  });
  await page.goto(address);
  return { page, context, close: async () => (assert.deepEqual(errors, []), assert.equal(await page.evaluate(() => window.hacked), undefined), context.close()) };
}

/** Fails on serious findings of axe-core. */
export async function audit(page, where) {
  // The server's policy forbids script elements; evaluation by the test is not subject to it.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter((found) => ["serious", "critical"].includes(found.impact));
  assert.deepEqual(serious.map((found) => `${where}: ${found.id}: ${found.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`), []);
}
