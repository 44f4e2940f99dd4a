// Light, dark, or as the system: an attribute on the root element that the style sheets read.
import { effect, signal } from "@preact/signals";
import { keepSetting, setting } from "./texts";

export type Theme = "auto" | "light" | "dark";

const stored = setting("theme");
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "auto");
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

/** What is on the screen; canvases read it, as they do not see style sheets. */
export const isDark = () => theme.value === "dark" || (theme.value === "auto" && systemDark.value);

export function chooseTheme(next: Theme): void {
  theme.value = next;
  keepSetting("theme", next === "auto" ? null : next);
}

effect(() => {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
});
