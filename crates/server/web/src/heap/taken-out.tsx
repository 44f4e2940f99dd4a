// What was taken out of a dump before it was kept or sent, in words.
import type { Dump, Stripping } from "../api/types";
import { bytes, count, shown } from "../format";
import { texts } from "../texts";

export function TakenOut({ dump }: { dump: Dump }) {
  const t = texts.value.dump;
  const steps = dump.strippings ?? [];
  // Dumps of servers before this one have no steps.
  if (!steps.length) return dump.stripped ? <p class="note">{t.strippedText}</p> : null;
  return (
    <>
      {steps.map((step, at) => (
        <p class="note" key={at}>
          {sentences(step).map(shown).join(" ")}
        </p>
      ))}
    </>
  );
}

function sentences({ by, rules, figures }: Stripping): string[] {
  const t = texts.value.dump.taken;
  const limited = rules.keep_strings || rules.keep.length > 0;
  const said = [by === "server" ? t.server : t.sender];
  said.push(rules.keep_strings ? t.strings : rules.redact && !limited ? t.secrets : t.all);
  if (rules.keep.length) said.push(t.keep(rules.keep.join(", ")));
  if (rules.drop.length) said.push(t.drop(rules.drop.join(", ")));
  if (rules.redact && limited) said.push(t.overwritten);
  if (rules.redact_pattern.length) said.push(t.patterns(rules.redact_pattern.length));
  if (rules.fields) said.push(t.fields);
  if (rules.bitmaps) said.push(t.bitmaps);
  const threads = rules.thread_names ?? (figures.threads > 0 ? "number" : null);
  if (threads) said.push(t.threads[threads] ?? "");
  said.push(t.figures(bytes(figures.emptied), count(figures.texts), count(figures.secrets)));
  return said;
}
