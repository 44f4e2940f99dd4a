// The language of the page: as the browser asks, or as chosen. Texts of the server stay as they come.
import { computed, effect, signal } from "@preact/signals";
import { en, type Texts } from "./en";
import { zh } from "./zh";

export type Language = "en" | "zh";
const CATALOGUES: Record<Language, Texts> = { en, zh };

function first(): Language {
  const chosen = setting("language");
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.languages?.some((tag) => tag.toLowerCase().startsWith("zh")) && !navigator.languages[0]?.startsWith("en") ? "zh" : "en";
}

/** A setting of this browser, or null; without storage nothing is kept. */
export function setting(key: string): string | null {
  try {
    return localStorage.getItem("hprof-rs " + key);
  } catch {
    return null;
  }
}

export function keepSetting(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem("hprof-rs " + key);
    else localStorage.setItem("hprof-rs " + key, value);
  } catch {
    // The setting lasts as long as the page.
  }
}

export const language = signal<Language>(first());
export const texts = computed<Texts>(() => CATALOGUES[language.value]);

/** The phase of a job in words. */
export function phaseName(phase: string | null): string {
  const { phases } = texts.value;
  return phases[phase ?? "queued"] ?? phase ?? "";
}

export function choose(next: Language): void {
  language.value = next;
  keepSetting("language", next);
}

effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-Hans" : "en";
});
