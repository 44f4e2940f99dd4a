// Numbers, times and foreign text as they are shown. Sizes have the units of the report: kB = 1000 bytes.
import { language } from "./texts";

const memo = new Map<string, Intl.NumberFormat>();

function numbers(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = language.value + JSON.stringify(options);
  let found = memo.get(key);
  if (!found) memo.set(key, (found = new Intl.NumberFormat(language.value, options)));
  return found;
}

export const count = (n: number): string => numbers({ maximumFractionDigits: 0 }).format(n);

const UNITS = ["kB", "MB", "GB", "TB", "PB"];

export function bytes(n: number): string {
  const sign = n < 0 ? "\u2212" : "";
  let size = Math.abs(n);
  if (size < 1000) return sign + count(size) + "\u00a0B";
  let unit = -1;
  do {
    size /= 1000;
    unit++;
  } while (size >= 999.95 && unit < UNITS.length - 1);
  return sign + numbers({ minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(size) + "\u00a0" + UNITS[unit];
}

/** A share in percent, 0 to 100. */
export function percent(n: number): string {
  if (n > 0 && n < 0.05) return "<" + numbers({ minimumFractionDigits: 1 }).format(0.1) + "%";
  return numbers({ minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(n) + "%";
}

/** A change, with its sign. */
export function change(n: number, show: (n: number) => string): string {
  // A change that rounds to nothing has no sign.
  if (show(Math.abs(n)) === show(0)) return show(0);
  return n > 0 ? "+" + show(n) : n < 0 && !show(n).startsWith("\u2212") ? "\u2212" + show(-n) : show(n);
}

export const time = (millis: number): string =>
  new Intl.DateTimeFormat(language.value, { dateStyle: "medium", timeStyle: "short" }).format(millis);

export const timeOfDay = (millis: number): string => new Intl.DateTimeFormat(language.value, { timeStyle: "medium" }).format(millis);

/** How long ago, in the largest unit that fits. */
export function ago(millis: number, now = Date.now()): string {
  const seconds = Math.round((millis - now) / 1000);
  const format = new Intl.RelativeTimeFormat(language.value, { numeric: "auto" });
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]] as const) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit);
  }
  return format.format(Math.min(0, seconds), "second");
}

/** Seconds as 8 s, 3:07 min or 2:05 h. */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return s + "\u00a0s";
  const two = (n: number) => String(n).padStart(2, "0");
  return s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60) + "\u00a0min" : Math.floor(s / 3600) + ":" + two(Math.floor((s % 3600) / 60)) + "\u00a0h";
}

/** A rate with one digit after the point. */
export const perMinute = (n: number): string => numbers({ minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(n);

/** How long something took or ran, in milliseconds: 870 ms, 12.3 s, 3:07 min. */
export const lasted = (millis: number): string =>
  millis < 1000 ? count(millis) + "\u00a0ms" : millis < 60_000 ? numbers({ minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(millis / 1000) + "\u00a0s" : duration(millis / 1000);

// Control characters, zero-width ones, those that change the direction of text, lone surrogates, tags.
const HIDDEN = /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffc]|[\u{e0000}-\u{e0fff}]/gu;
const MAX_SHOWN = 4000;
const MAX_HEX = 24;

const MAX_NAME = 240;
const MAX_HEAD = 160;
const MAX_TAIL = 60;

/** A name of which the middle is left out if it would fill a view. */
export const abridged = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_HEAD)}\u2026${name.slice(-MAX_TAIL)}` : name);

/** A sentence whose names are abridged. */
export const abridgedIn = (sentence: string): string => sentence.replace(/\S+/g, abridged);

/** Text from a dump: what would be invisible or change what is around it is written as its code. */
export function shown(text: string): string {
  const short = text.length > MAX_SHOWN ? text.slice(0, MAX_SHOWN) + "\u2026" : text;
  const hidden = short.match(HIDDEN)?.length ?? 0;
  // Contents that are no text at all, such as those of arrays.
  if (hidden >= 4 && hidden * 4 >= short.length) {
    const units = [...short];
    const hex = units.slice(0, MAX_HEX).map((unit) => unit.codePointAt(0)!.toString(16).padStart(2, "0"));
    return hex.join(" ") + (units.length > MAX_HEX ? " \u2026" : "");
  }
  return short.replace(HIDDEN, (hidden) => "\\u{" + hidden.codePointAt(0)!.toString(16) + "}");
}
