// The heap at a glance: sums, the main suspect, what keeps most, facts of the JVM.
import { useGet } from "../api/client";
import type { Dump, Overview as Facts, Suspect } from "../api/types";
import { selectObject } from "../grid/actions";
import { bytes, count, percent, shown, time } from "../format";
import { A, Bar, Name, Problem, Skeleton } from "../parts/basics";
import { texts } from "../texts";
import { said } from "../texts/said";
import { Rules } from "../start/rules";
import { FileNotes } from "./file-notes";
import { Linked } from "./linked";
import { TakenOut } from "./taken-out";

export function Overview({ dump }: { dump: Dump }) {
  const t = texts.value;
  const o = t.overview;
  const { value: facts, failure, again } = useGet<Facts>(`dumps/${dump.id}/overview`);
  const suspects = useGet<{ items: Suspect[] }>(`dumps/${dump.id}/suspects`);
  if (failure) return <Problem failure={failure} again={again} />;
  if (!facts) return <Skeleton />;
  const s = facts.summary;
  const cards: [number | undefined, string, string | null, boolean][] = [
    [s["live_bytes"], o.live, "dominators", true],
    [s["live_objects"], o.liveObjects, "histogram", false],
    [s["unreached_bytes"], o.unreached, "unreachable", true],
    [s["classes"], o.classes, "histogram", false],
    [s["loaders"], o.loaders, "loaders", false],
    [s["threads"], o.threads, "threads", false],
    [s["roots"], o.roots, "roots", false],
  ];
  const first = suspects.value?.items[0];
  return (
    <div class="page-body">
      <FileNotes dump={dump} facts={facts} />
      <TakenOut dump={dump} />
      <Rules dump={dump} />
      {s["live_objects"] === 0 && <p class="note">{o.nothingAlive}</p>}
      {(facts.observations ?? []).map((observation, index) => (
        <section key={index} class="card-block" aria-label={o.observation}>
          <p class="lead-line">
            <Linked text={said(observation.title)} />
          </p>
          <ul>
            {observation.sentences.map((sentence, at) => (
              <li key={at}>
                <Linked text={said(sentence)} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {first && (
        <section class="card-block lead" aria-labelledby="main-suspect">
          <h2 id="main-suspect">{o.suspect}</h2>
          <p class="lead-line">
            <Linked text={said(first.title)} object={first.object} />
          </p>
          <Bar share={first.percent} />
          <p>
            <A href={`/dumps/${dump.id}/suspects`}>{o.toSuspects}</A>
          </p>
        </section>
      )}
      <ul class="cards">
        {cards.map(
          ([value, label, view, size]) =>
            value !== undefined && (
              <li key={label} class="card">
                <A href={`/dumps/${dump.id}/${view}`}>
                  <b>{size ? bytes(value) : count(value)}</b>
                  <span>{label}</span>
                </A>
              </li>
            ),
        )}
      </ul>
      {facts.biggest.length > 0 && (
        <section aria-labelledby="biggest">
          <h2 id="biggest">{o.biggest}</h2>
          <ol class="biggest">
            {facts.biggest.slice(0, 12).map((item, index) => (
              <li key={index}>
                <span class="biggest-name">{item.object ? <A href={selectObject(item.object)}><Name text={item.name} /></A> : <Name text={item.name} />}</span>
                <Bar share={item.percent} />
                <span class="number">{percent(item.percent)}</span>
                <span class="number dim">{bytes(item.retained)}</span>
              </li>
            ))}
          </ol>
          <p>
            <A href={`/dumps/${dump.id}/dominators`}>{o.toTree}</A>
          </p>
        </section>
      )}
      {Object.keys(facts.jvm).length > 0 && (
        <section aria-labelledby="jvm-facts">
          <h2 id="jvm-facts">{o.jvm}</h2>
          <dl class="facts">
            {Object.entries(facts.jvm).filter(([, value]) => String(value) !== "").map(([key, value]) => (
              <div key={key}>
                <dt>{shown(key)}</dt>
                <dd>
                  <Name text={String(value)} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      <p class="dim">
        {facts.created_at !== null && facts.created_at !== undefined ? o.taken(time(facts.created_at)) + ". " : ""}
        {shown(said(facts.model ?? ""))}
      </p>
    </div>
  );
}
