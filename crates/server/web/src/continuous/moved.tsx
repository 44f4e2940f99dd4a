// The methods whose own costs grew or shrank most against the time before.
import { useGet } from "../api/client";
import type { Mover, Movers } from "../api/types";
import { change, shown } from "../format";
import { Rows } from "../logs";
import { Notes, Problem, Skeleton } from "../parts/basics";
import { amountOf } from "../pictures/flame-graph";
import { texts } from "../texts";

/** Rows of each table. */
const LIMIT = "10";

export function Moved({ params }: { params: Record<string, string | number> }) {
  const t = texts.value.continuous;
  const query = new URLSearchParams({ limit: LIMIT });
  // Groups are of the flame graph; methods are summed over them.
  for (const [key, value] of Object.entries(params)) if (key !== "by") query.set(key, String(value));
  const answer = useGet<Movers>(`continuous/movers?${query}`);
  if (answer.failure) return <Problem failure={answer.failure} again={answer.again} />;
  if (!answer.value) return <Skeleton />;
  const { grew, shrank, notes, unit } = answer.value;
  const amount = amountOf(unit);
  const rows = (movers: Mover[]) => movers.map((one) => [shown(one.method), change(one.change, amount), amount(one.before), amount(one.after)]);
  const table = (title: string, movers: Mover[]) =>
    movers.length > 0 && (
      <section aria-label={title}>
        <h2>{title}</h2>
        <Rows titles={[...t.moved]} rows={rows(movers)} numbers={[1, 2, 3]} />
      </section>
    );
  return (
    <>
      {table(t.grew, grew)}
      {table(t.shrank, shrank)}
      {!grew.length && !shrank.length && <p class="dim">{t.unmoved}</p>}
      <Notes notes={notes} />
    </>
  );
}
