// Uploads straight to object storage, in Chromium against the mock: pieces at once, the hash, faults, reloads,
// cancelling, and the way through the server where the storage cannot be reached.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { start } from "../mock/server.mjs";
import { startStorage } from "../mock/storage.mjs";
import { audit, launch, openPage, options, PHONE } from "./browser.mjs";

let browser;
before(async () => {
  if (!options.skip) browser = await launch();
});
after(async () => browser?.close());

async function scene(settings = {}) {
  const storage = await startStorage(settings);
  const server = await start({ speed: 2, storage });
  const { page, close } = await openPage(browser, server.url + "/", { viewport: settings.viewport });
  const through = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/v1/uploads")) through.push(request.method());
  });
  const end = async () => {
    try {
      await close();
    } finally {
      await server.close();
      await storage.close();
    }
  };
  return { storage, server, page, through, end };
}

/** Chooses a file whose bytes have no pattern that a lost or moved piece would keep. */
const choose = (page, name, size) =>
  page.locator("#files").evaluate((input, [name, size]) => {
    const bytes = new Uint8Array(size);
    for (let at = 0, x = 1; at < size; at++) bytes[at] = (x = (Math.imul(x, 1664525) + 1013904223) | 0) >>> 24;
    const files = new DataTransfer();
    files.items.add(new File([bytes], name, { lastModified: 1_700_000_000_000 }));
    input.files = files.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }, [name, size]);

function made(size) {
  const bytes = Buffer.alloc(size);
  for (let at = 0, x = 1; at < size; at++) bytes[at] = (x = (Math.imul(x, 1664525) + 1013904223) | 0) >>> 24;
  return bytes;
}

const kept = async (server, page, name) => {
  while (server.jobs.dumps[0].name !== name) await page.waitForTimeout(30);
};

const checked = (storage, size) => {
  const [upload] = [...storage.uploads.values()].filter((upload) => upload.completion);
  const bytes = storage.bytes(upload);
  assert.ok(bytes.equals(made(size)), "the bytes are those of the file");
  assert.equal(upload.completion.sha256, createHash("sha256").update(bytes).digest("hex"));
  assert.deepEqual(upload.completion.etags, Array.from(upload.parts, (_, at) => `"etag-${at + 1}"`));
};

test("pieces go to the storage, several at once, and none through the server", { ...options, timeout: 600_000 }, async () => {
  const { storage, server, page, through, end } = await scene();
  await choose(page, "straight.hprof", 33_000_001);
  await page.getByText("straight to the storage").waitFor();
  await kept(server, page, "straight.hprof");
  checked(storage, 33_000_001);
  assert.ok(storage.most > 1 && storage.most <= 3, "at once: " + storage.most);
  assert.deepEqual(through, []);
  await end();
});

test("the hash is right at every length around a block, and of an empty file", { ...options, timeout: 600_000 }, async () => {
  const { storage, server, page, end } = await scene({ pieceBytes: 1000 });
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 999, 1000, 1001]) {
    await choose(page, `of-${size}.hprof`, size);
    await kept(server, page, `of-${size}.hprof`);
    checked(storage, size);
    storage.uploads.clear();
  }
  await end();
});

test("pieces that fail are sent again, and those that came are not", { ...options, timeout: 600_000 }, async () => {
  const { storage, server, page, through, end } = await scene();
  storage.faults = [undefined, 503, "break", 403];
  await choose(page, "again.hprof", 25_000_000);
  await kept(server, page, "again.hprof");
  checked(storage, 25_000_000);
  assert.ok(storage.puts >= 8 && storage.puts <= 12, "5 pieces, 3 of them again, and those that a failure broke off: " + storage.puts);
  assert.deepEqual(through, []);
  await end();
});

test("an upload continues after a pause and after a reload with the pieces that the storage has", { ...options, timeout: 600_000 }, async () => {
  const { storage, server, page, end } = await scene({ viewport: PHONE });
  let release;
  storage.hold = new Promise((resolve) => (release = resolve));
  await choose(page, "resumed.hprof", 25_000_000);
  while (storage.most < 3) await page.waitForTimeout(30);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await audit(page, "a paused upload");
  release();
  storage.hold = null;
  const before = storage.puts;
  page.on("dialog", (dialog) => void dialog.accept());
  await page.reload();
  await choose(page, "resumed.hprof", 25_000_000);
  await kept(server, page, "resumed.hprof");
  checked(storage, 25_000_000);
  assert.equal(storage.uploads.size, 1, "no second upload");
  assert.equal(storage.puts - before, 4, "the first piece is there");
  await end();
});

test("an upload that is removed goes from the storage too", { ...options, timeout: 600_000 }, async () => {
  const { storage, page, end } = await scene();
  storage.hold = new Promise(() => undefined);
  await choose(page, "removed.hprof", 25_000_000);
  while (storage.most < 2) await page.waitForTimeout(30);
  await page.locator("li.running-item", { hasText: "removed.hprof" }).getByRole("button", { name: "Remove" }).click();
  while (storage.uploads.size > 0) await page.waitForTimeout(30);
  await end();
});

test("an upload that somebody dropped from the storage begins anew", { ...options, timeout: 600_000 }, async () => {
  const { storage, server, page, end } = await scene();
  let release;
  storage.hold = new Promise((resolve) => (release = resolve));
  await choose(page, "anew.hprof", 25_000_000);
  while (storage.most < 3) await page.waitForTimeout(30);
  storage.uploads.clear();
  storage.hold = null;
  release();
  await kept(server, page, "anew.hprof");
  checked(storage, 25_000_000);
  await end();
});

for (const [name, settings, faults] of [
  ["tells no ETag", { exposes: false }, []],
  ["cannot be reached", {}, ["break", "break", "break"]],
  ["refuses", {}, [403, 403]],
]) {
  test(`a storage that ${name} leaves the upload to the server`, { ...options, timeout: 600_000 }, async () => {
    const { storage, server, page, through, end } = await scene(settings);
    storage.faults = faults;
    await choose(page, "through.hprof", 12_000_000);
    await kept(server, page, "through.hprof");
    // The server may have the dump before the browser has told of its requests.
    for (let tries = 0; tries < 100 && !through.includes("PATCH"); tries++) await page.waitForTimeout(30);
    assert.ok(through.includes("PATCH"), "through the server: " + through);
    while (storage.uploads.size > 0) await page.waitForTimeout(30);
    await end();
  });
}

test("the policy of the page names the storage, and that alone", { ...options, timeout: 600_000 }, async () => {
  const { storage, page, end } = await scene();
  const blocked = await page.evaluate(async () => {
    const seen = new Promise((resolve) => document.addEventListener("securitypolicyviolation", (event) => resolve(event.blockedURI)));
    fetch("http://127.0.0.1:9/").catch(() => undefined);
    return Promise.race([seen, new Promise((resolve) => setTimeout(() => resolve(null), 3000))]);
  });
  assert.ok(blocked?.startsWith("http://127.0.0.1:9"), "blocked: " + blocked);
  assert.ok(await page.evaluate((url) => fetch(url + "/x", { method: "PUT" }).then((answer) => answer.status === 404), storage.url));
  // The test above has made the console tell of it.
  await end().catch((error) => assert.match(String(error), /Content Security Policy/));
});
