// Leak suspects in sentences, with the path that keeps each alive.
import { useGet } from "../api/client";
import type { Dump, Suspect } from "../api/types";
import { selectObject } from "../grid/actions";
import { abridgedIn, bytes, count, percent, shown } from "../format";
import { A, Bar, Empty, Name, Problem, Skeleton } from "../parts/basics";
import { to } from "../route";
import { texts } from "../texts";
import { said } from "../texts/said";
import { Linked } from "./linked";
import { Path } from "./path";

export function Suspects({ dump }: { dump: Dump }) {
  const t = texts.value;
  const { value, failure, again } = useGet<{ items: Suspect[]; largest?: Suspect | null }>(`dumps/${dump.id}/suspects`);
  if (failure) return <Problem failure={failure} again={again} />;
  if (!value) return <Skeleton />;
  const all = value.items.length || !value.largest ? value.items : [value.largest];
  if (!all.length) return <Empty>{t.suspects.none}</Empty>;
  return (
    <div class="page-body">
      {!value.items.length && <p class="lead-line">{t.suspects.none} {t.suspects.largest}</p>}
      {all.map((suspect, index) => (
        <One key={index} dump={dump} suspect={suspect} index={index} />
      ))}
    </div>
  );
}

/** A suspect, or the largest object where there is none. */
function One({ dump, suspect, index }: { dump: Dump; suspect: Suspect; index: number }) {
  const t = texts.value.suspects;
  return (
    <article class="card-block suspect">
      <h2>
        {index + 1}. {abridgedIn(shown(said(suspect.title)))}
      </h2>
      <p class="suspect-share">
        <Bar share={suspect.percent} />
        <span class="number">{bytes(suspect.bytes)}</span>
        <span class="dim">{t.share(percent(suspect.percent))}</span>
      </p>
      <ul>
        {suspect.sentences.map((sentence, at) => (
          <li key={at}>
            <Linked text={said(sentence)} />
          </li>
        ))}
      </ul>
      {(suspect.object || suspect.code) && (
        <p class="suspect-links">
          {suspect.object && <A href={selectObject(suspect.object)}>{t.inspect}</A>}
          {suspect.object && <A href={to(`/dumps/${dump.id}/dominators`, { node: suspect.object, select: suspect.object })}>{t.tree}</A>}
          {suspect.code && <A href={to("/fleet/suspects", { suspect: suspect.code })}>{texts.value.fleet.toCarriers}</A>}
        </p>
      )}
      {suspect.path.length > 0 && (
        <details open={index === 0}>
          <summary>{t.path}</summary>
          <Path items={suspect.path} root={suspect.root} blame={suspect.accumulation?.object} end={suspect.object} />
        </details>
      )}
      {suspect.children.length > 0 && (
        <details open={index === 0}>
          <summary>{t.children}</summary>
          <ul class="shares">
            {suspect.children.slice(0, 12).map((child, at) => (
              <li key={at}>
                <span class="number">{bytes(child.bytes)}</span>
                <span>
                  {count(child.count)} × <Name text={child.class} />
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  );
}
