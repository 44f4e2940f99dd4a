// Names of frames: their kind, their package, their colour; the same rules as the flame graph that
// `hprof-rs flamegraph` writes.
import { shown } from "../format";

const JDK = /^(java|javax|jdk|sun|com\.sun|oracle)\./;

/** 0 program, 1 JDK, 2 class of objects, 3 other, 4 native code, 5 kernel. */
export type Kind = 0 | 1 | 2 | 3 | 4 | 5;
export const HUES: Record<Kind, number> = { 0: 30, 1: 112, 2: 206, 3: -1, 4: 338, 5: 268 };

export function kindOf(name: string, isClass: boolean): Kind {
  if (name.startsWith("[kernel] ") || name.endsWith("_[k]")) return 5;
  if (name.startsWith("[native] ") || name.includes("::")) return 4;
  if (name.startsWith("<") || name.startsWith("[")) return 3;
  return isClass ? 2 : JDK.test(name) ? 1 : 0;
}

export function packageOf(name: string): string {
  if (name.startsWith("<")) return "";
  const parts = name.split(".");
  let end = 0;
  while (end < parts.length - 1 && end < 3 && /^[a-z_]/.test(parts[end]!)) end++;
  return parts.slice(0, Math.max(1, end)).join(".");
}

/** FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/). */
export function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return sum >>> 0;
}

export function hue(degrees: number, shade: number, dark: boolean): string {
  if (degrees < 0) return dark ? "#8c9197" : "#cdd1d6";
  const light = (dark ? 56 : 70) + ((shade >>> 4) % 9);
  return `hsl(${degrees + (shade % 16)} ${dark ? 42 : 72}% ${light}%)`;
}

/** Red for what grew, blue for what shrank, by how much. */
export function changeColour(share: number, dark: boolean): string {
  if (Math.abs(share) < 1e-9) return dark ? "#7b8087" : "#eceef1";
  const strength = Math.sqrt(Math.min(1, Math.abs(share)));
  const degrees = share > 0 ? 4 : 214;
  return dark ? `hsl(${degrees} ${25 + 45 * strength}% ${68 - 14 * strength}%)` : `hsl(${degrees} 90% ${94 - 28 * strength}%)`;
}

/** The part of a name that fits: without package, without class, then cut. */
export function shorten(name: string, letters: number): string {
  let text = name;
  if (text.length > letters) {
    const parts = text.split(".");
    if (parts.length > 2) text = parts.slice(-2).join(".");
    if (text.length > letters && parts.length > 1) text = parts[parts.length - 1]!;
  }
  return text.length > letters ? text.slice(0, Math.max(1, letters - 1)) + "\u2026" : text;
}

export const frameName = (name: string) => shown(name);
