// Sentences that the server sends are English. Those that are common have a translation, whole or by a
// pattern, in the catalogue of a language; others stay as they come.
import { language } from ".";
import { PATTERNS, WHOLE } from "./zh-said";

/** A pattern for a whole sentence, and its words; `again` translates a part of it. */
export type Said = [RegExp, (again: (part: string) => string, ...parts: [string, string, string, string, string]) => string];

/** Longer texts are no sentences, and patterns would search them for long. */
const MAX_TEXT = 1500;
/** A sentence, its subject, and the root in it. */
const MAX_DEPTH = 4;

const AGAIN = /; ask again in some seconds$/;

/** A sentence of the server in the language of the page, or as it came. */
export function said(text: string): string {
  if (language.value === "zh") return text.length <= MAX_TEXT ? translated(text, 0) : text;
  // Sentences for programs that ask; the page does so by itself.
  return text.replace(AGAIN, "; the table completes itself");
}

function translated(text: string, depth: number): string {
  if (Object.hasOwn(WHOLE, text)) return WHOLE[text]!;
  if (depth >= MAX_DEPTH) return text;
  for (const [pattern, words] of PATTERNS) {
    const found = pattern.exec(text);
    if (!found) continue;
    const part = (at: number) => found[at] ?? "";
    return words((text) => translated(text, depth + 1), part(1), part(2), part(3), part(4), part(5));
  }
  return text;
}
