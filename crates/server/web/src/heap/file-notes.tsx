// What a heap dump lacks: in plain words what matters, the rest as information.
import type { Dump, Overview } from "../api/types";
import { Asides, Notes } from "../parts/basics";
import { texts } from "../texts";

/** What the reader says of a damaged file. */
const DAMAGE = /what is shown is the rest$/;
/** HotSpot writes a few roots of objects that it leaves out, in every dump. */
const LOST_ROOTS = /^([\d,]+) roots? (?:is an object|are objects) that the file lacks$/;
const FEW = 10;

/** What is wrong with the file of a dump: `cut` or `damaged`; null for sound ones, and for analyses of earlier versions. */
export const damageOf = (dump: Dump): "cut" | "damaged" | null => {
  const damage = dump.summary?.["damage"];
  return damage === "cut" || damage === "damaged" ? damage : null;
};

function isMinor(note: string, roots: number): boolean {
  const found = LOST_ROOTS.exec(note);
  return found !== null && Number(found[1]!.replaceAll(",", "")) <= Math.max(FEW, roots / 100);
}

export function FileNotes({ dump, facts }: { dump: Dump; facts: Overview }) {
  const t = texts.value.dump;
  const known = facts.notes.filter((note) => DAMAGE.test(note));
  const damage = damageOf(dump) ?? (known.length ? (known.some((note) => note.includes("the file ends")) ? "cut" : "damaged") : null);
  const minor = damage ? known : facts.notes.filter((note) => isMinor(note, facts.summary["roots"] ?? 0));
  return (
    <>
      {damage && (
        <p class="problem" role="note">
          {t.damageText[damage]}
        </p>
      )}
      <Notes notes={facts.notes.filter((note) => !minor.includes(note))} />
      <Asides title={t.aboutFile} lines={minor} />
    </>
  );
}
