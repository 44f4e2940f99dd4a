// Chromium for the tests, with the flags that it needs in containers.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const CANDIDATES = [process.env.HPROF_RS_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const browserPath = CANDIDATES.find((path) => path && existsSync(path)) ?? null;

export function launch() {
  return chromium.launch({
    executablePath: browserPath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}
