// What was taken out of a dump, in words: by server and sender, in English and Chinese, with rules that are hostile text.
import assert from "node:assert/strict";
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

const NONE = { fields: false, keep_strings: false, keep: [], drop: [], redact: false, redact_pattern: [], bitmaps: false, thread_names: null };
const FIGURES = { emptied: 1_200_000, texts: 33, threads: 4, secrets: 7, redacted: 90 };
const EVIL = "<img src=x onerror=window.hacked=1>.\u202efield";

const step = (by, rules, figures = FIGURES) => ({ by, rules: { ...NONE, ...rules }, figures });

test("the overview tells each step, and the list that there was one", { ...options, timeout: 600_000 }, async () => {
  const dump = server.jobs.dumps[0];
  for (const [steps, has, lacks] of [
    [[step("server", {})], ["This server took contents out", "Contents of strings and arrays went.", "Threads have numbers instead of names.", "1.2 MB emptied, 33 texts", "7 secrets found"], ["stay"]],
    [[step("sender", { redact: true, redact_pattern: ["KD-1", "KD-2"], fields: true, bitmaps: true, thread_names: "keep" })], ["The sender took contents out", "Contents stay, and secrets", "2 patterns tell", "Numbers in fields went.", "Equal bitmaps", "Names of threads stay."], ["This server"]],
    [[step("sender", { keep_strings: true, drop: [EVIL] }), step("server", { keep: ["A.b"], redact: true, thread_names: "remove" }, { ...FIGURES, threads: 0 })], ["Texts of strings stay", "These classes and fields went: <img src=x", "These fields stay: A.b.", "Secrets in what stays were overwritten.", "Names of threads went."], []],
  ]) {
    Object.assign(dump, { strippings: steps, stripped: steps.some((it) => it.by === "server") });
    for (const [viewport, colorScheme] of [[LAPTOP, "light"], [PHONE, "dark"]]) {
      const { page, close } = await openPage(browser, `${server.url}/dumps/${dump.id}/overview`, { viewport, colorScheme });
      const notes = page.locator("p.note", { hasText: "contents out" });
      await notes.first().waitFor();
      assert.equal(await notes.count(), steps.length);
      const text = (await notes.allTextContents()).join(" ").replaceAll("\u00a0", " ");
      for (const part of has) assert.ok(text.includes(part), `${part}: ${text}`);
      for (const part of lacks) assert.ok(!text.includes(part), `${part}: ${text}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
      await audit(page, "what was taken out");
      if (process.env.HPROF_RS_PICTURES) await page.screenshot({ path: `${process.env.HPROF_RS_PICTURES}/taken-out-${steps.length}-${steps[0].by}-${colorScheme}.png` });
      await close();
    }
  }
  const { page, close } = await openPage(browser, server.url + "/");
  await page.locator("li.dump", { hasText: dump.name }).getByText("values blanked").first().waitFor();
  await close();
});

test("the steps are told in Chinese on the Chinese page", { ...options, timeout: 600_000 }, async () => {
  const dump = server.jobs.dumps[0];
  Object.assign(dump, { strippings: [step("server", { keep_strings: true })], stripped: true });
  const { page, close } = await openPage(browser, `${server.url}/dumps/${dump.id}/overview`, { locale: "zh-CN" });
  await page.getByText("本服务器在保存此转储之前去掉了部分内容。").waitFor();
  await page.getByText("字符串的文本保留").waitFor();
  await close();
});
