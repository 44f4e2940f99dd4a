// Uploads in Chromium against the mock: progress, lost connections, reloads, a server that is slow.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { audit, launch, openPage, options } from "./browser.mjs";

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

const open = (path) => openPage(browser, server.url + path);

test("an upload shows progress, survives a lost connection, and its analysis ends on the list", { ...options, timeout: 600_000 }, async () => {
  const { page, close } = await open("/");
  server.jobs.breakAt = 20_000_000;
  const size = 40_000_000;
  await page.locator("#files").evaluate((input, size) => {
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(size)], "upload.hprof"));
    input.files = files.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, size);
  await page.getByText("upload.hprof").first().waitFor();
  const bar = page.getByRole("progressbar", { name: "upload.hprof" });
  await bar.waitFor();
  await page.getByText("Reading the dump", { exact: true }).waitFor();
  assert.equal(server.jobs.broke, true, "the connection was to break");
  assert.equal(server.jobs.dumps[0].bytes, size);
  const values = new Set();
  for (let at = 0; at < 12; at++) {
    values.add(await bar.getAttribute("aria-valuenow").catch(() => null));
    await page.waitForTimeout(150);
  }
  assert.ok(values.size > 2, "the progress moves: " + [...values]);
  await page.getByText("31.0 % of the heap").waitFor();
  await close();
});

test("an upload waits and continues after the server was slow or asked too often", { ...options, timeout: 600_000 }, async () => {
  const { page, close } = await open("/");
  const refused = [];
  await page.route("**/api/v1/uploads/*", (route) => {
    const status = [429, 408][refused.length];
    if (route.request().method() !== "PATCH" || !status) return route.continue();
    refused.push(status);
    return route.fulfill({ status, contentType: "application/problem+json", json: { type: "slow-body", title: "Slow", status, detail: "" } });
  });
  await page.locator("#files").evaluate((input) => {
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(1_000_000)], "patient.hprof"));
    input.files = files.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  // The server says when it is there: the page may know before.
  while (server.jobs.dumps[0].name !== "patient.hprof") await page.waitForTimeout(50);
  assert.deepEqual(refused, [429, 408]);
  await close();
});

test("an upload continues after a reload when the file is chosen again", { ...options, timeout: 600_000 }, async () => {
  const { page, close } = await open("/");
  const choose = () => page.locator("#files").evaluate((input) => {
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(33_000_000)], "again.hprof", { lastModified: 1_700_000_000_000 }));
    input.files = files.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  let held;
  await page.route("**/api/v1/uploads/*", (route) => {
    // The first piece passes, the next never arrives.
    if (route.request().method() === "PATCH" && Number(route.request().headers()["upload-offset"]) > 0 && !held) held = route;
    else void route.continue();
  });
  await choose();
  while (!held) await page.waitForTimeout(30);
  page.on("dialog", (dialog) => void dialog.accept());
  await page.reload();
  const heads = [];
  page.on("request", (request) => {
    if (request.url().includes("/uploads")) heads.push(request.method());
  });
  await choose();
  await page.getByText("again.hprof").first().waitFor();
  // The server says when it is there: the page may know before.
  while (server.jobs.dumps[0].name !== "again.hprof") await page.waitForTimeout(50);
  assert.equal(heads[0], "HEAD");
  assert.ok(!heads.includes("POST"), "no second upload: " + heads);
  await close();
});

test("several files that are chosen together are sent one by one", { ...options, timeout: 600_000 }, async () => {
  const { page, close } = await open("/");
  const names = ["first.hprof", "second.hprof", "third.hprof"];
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  const chooser = await chosen;
  assert.equal(chooser.isMultiple(), true);
  await chooser.setFiles(names.map((name, at) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.alloc(100_000, at) })));
  for (const name of names) await page.getByText(name).first().waitFor();
  const kept = () => server.jobs.dumps.filter((dump) => names.includes(dump.name)).length;
  for (let at = 0; kept() < names.length && at < 100; at++) await page.waitForTimeout(100);
  assert.equal(kept(), names.length);
  await close();
});

test("a file that the server has already is named with a link, as the list does not change", options, async () => {
  const { page, close } = await open("/");
  await page.locator("li.dump").first().waitFor();
  const known = server.jobs.dumps.find((dump) => dump.name === "android-leak.hprof");
  await page.route("**/api/v1/uploads/*", (route) => (route.request().method() === "PATCH" ? route.fulfill({ status: 204, headers: { "tus-resumable": "1.0.0", "upload-offset": "5", "hprof-dump": known.id } }) : route.continue()));
  const again = { name: "again\u202e.hprof", mimeType: "application/octet-stream", buffer: Buffer.from("bytes") };
  await page.locator("#files").setInputFiles(again);
  const note = page.locator(".drop [role=status]");
  await note.getByText("The server has again\\u{202e}.hprof already: android-leak.hprof").waitFor();
  await audit(page, "a known file");
  await note.getByRole("link", { name: "android-leak.hprof" }).click();
  await page.waitForURL(`**/dumps/${known.id}`);
  await page.goBack();
  // The next choice begins anew.
  await page.unroute("**/api/v1/uploads/*");
  await page.locator("#files").setInputFiles({ ...again, name: "other.hprof" });
  await page.getByRole("link", { name: "other.hprof" }).waitFor();
  assert.equal(await note.getByRole("link").count(), 0);
  await close();
});
