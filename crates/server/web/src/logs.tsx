// Logs that are no heap dump and no profile: what a garbage collection log or thread dumps show.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { API, useGet } from "./api/client";
import type { Dump, FindingsReport, GcReport, Moved, Page, Spread, ThreadReport } from "./api/types";
import { useTitle } from "./app";
import { HeapOverTime, LongestPauses } from "./gc-heap";
import { DumpTitle } from "./dump";
import { bytes, count, duration, percent, shown, time } from "./format";
import { Dotted, Name, Notes, Problem, Skeleton } from "./parts/basics";
import { Together } from "./start/together";
import { texts } from "./texts";
import { said } from "./texts/said";

/** Frames of a stack that is open at first: a longer one hides what is below it. */
const OPEN_FRAMES = 100;

/** Frames of each thread of a deadlock. */
const DEADLOCK_FRAMES = 8;

/** Rows that a table shows; the report that can be downloaded has all. */
const ROWS = 50;

export const millis = (value: number | null | undefined) => (value === null || value === undefined ? "–" : value >= 10_000 ? `${count(value / 1000)}\u00a0s` : `${value < 10 ? value.toFixed(2) : count(value)}\u00a0ms`);

/** What a log or a recording shows: collections (`gc`), thread dumps (`stacks`), or findings, which recordings alone have. */
export type LogView = "gc" | "stacks" | "findings";

export function LogWorkspace({ dump }: { dump: Dump }) {
  useTitle(dump.name);
  const view: LogView = dump.kind === "gc_log" ? "gc" : "stacks";
  return (
    <div class="workspace log">
      <DumpTitle dump={dump} />
      <main id="main" tabIndex={-1} class="view">
        <div class="view-head">
          <h1>{texts.value.dump.kinds[dump.kind]}</h1>
          <ReportPage dump={dump} view={view} />
        </div>
        <LogReport dump={dump} view={view} />
        <CompareWith dump={dump} view={view} />
      </main>
    </div>
  );
}

export function ReportPage({ dump, view }: { dump: Dump; view: LogView }) {
  return (
    <p>
      <a href={`${API}/dumps/${encodeURIComponent(dump.id)}/${view}.html`} download>
        {texts.value.logs.page}
      </a>
    </p>
  );
}

export function LogReport({ dump, view }: { dump: Dump; view: LogView }) {
  const { value, failure, again } = useGet<ThreadReport | GcReport | FindingsReport>(`dumps/${dump.id}/${view}`);
  return (
    <>
      {failure && <Problem failure={failure} again={again} />}
      {!value && !failure && <Skeleton />}
      {value && "report" in value && <Threads found={value} />}
      {value && "logs" in value && <Collections found={value} />}
      {value && "findings" in value && <Findings found={value} />}
    </>
  );
}

/** Other files of this kind, to be chosen for a comparison. */
function CompareWith({ dump, view }: { dump: Dump; view: LogView }) {
  const t = texts.value.logs;
  const list = useGet<Page<Dump>>("dumps?limit=200");
  const [chosen, setChosen] = useState<string[]>([]);
  const others = (list.value?.items ?? []).filter((item) => item.id !== dump.id && item.kind === dump.kind && (!item.job || item.job.state === "done"));
  const pick = (id: string, on: boolean) => setChosen([...chosen.filter((item) => item !== id), ...(on ? [id] : [])]);
  return (
    <Section title={t.compareWith}>
      {list.value && !others.length && <p>{view === "gc" ? t.noOtherLog : t.noOtherDumps}</p>}
      {others.map((item) => (
        <label key={item.id} class="check">
          <input type="checkbox" checked={chosen.includes(item.id)} onChange={(event) => pick(item.id, event.currentTarget.checked)} /> {shown(item.name)} ({time(item.uploaded_at)})
        </label>
      ))}
      {others.length > 0 && <Together dumps={[dump, ...others.filter((item) => chosen.includes(item.id))]} />}
    </Section>
  );
}

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Says that a list is longer than what is shown. */
function Cut({ shown, all }: { shown: number; all: number }) {
  return all > shown ? <p class="dim">{texts.value.logs.cut(count(shown), count(all))}</p> : null;
}

/** A small table. `numbers` are the columns of amounts, whatever their units. */
export function Rows({ titles, rows, numbers = [] }: { titles: ComponentChildren[]; rows: (string | number | ComponentChildren)[][]; numbers?: number[] }) {
  const isNumeric = (column: number) => numbers.includes(column) || typeof rows[0]?.[column] === "number";
  return (
    <>
      <div class="scroll" tabIndex={0}>
        <table class="plain">
          <thead>
            <tr>
              {titles.map((title, column) => (
                <th key={column} scope="col" class={isNumeric(column) ? "numeric" : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, ROWS).map((row, at) => (
              <tr key={at}>
                {row.map((cell, column) => (
                  <td key={column} class={isNumeric(column) ? "numeric" : undefined}>
                    {typeof cell === "number" ? count(cell) : cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Cut shown={ROWS} all={rows.length} />
    </>
  );
}

const states = (found: Record<string, number>) =>
  Object.entries(found)
    .sort((a, b) => b[1] - a[1])
    .map(([state, n]) => `${count(n)} ${state}`)
    .join(", ");

export function Threads({ found }: { found: Pick<ThreadReport, "notes" | "report"> }) {
  const t = texts.value.logs;
  const { report } = found;
  const last = report.dumps[report.dumps.length - 1];
  const stacks = report.stacks.filter((group) => group.frames.length > 0);
  return (
    <>
      <Notes notes={found.notes} />
      {last && (
        <p>
          {t.threads(count(last.threads))}: {states(last.states)}. {t.dumps(count(report.dumps.length))}
        </p>
      )}
      <Section title={t.deadlocks}>
        {report.deadlocks.length === 0 && <p>{t.none}</p>}
        {report.deadlocks.map((deadlock, at) => (
          <ul key={at} class="problem">
            {deadlock.steps.map((step) => (
              <li key={step.thread}>
                <Name text={step.thread} /> {t.waitsFor} <Name text={lockOf(step)} />, {t.heldBy} <Name text={step.owner} />
                {(step.frames ?? []).length > 0 && (
                  <ol class="frames">
                    {step.frames!.slice(0, DEADLOCK_FRAMES).map((frame, depth) => (
                      <li key={depth}>
                        <Name text={frame} />
                      </li>
                    ))}
                  </ol>
                )}
              </li>
            ))}
          </ul>
        ))}
      </Section>
      {report.moved && <WhatMoved moved={report.moved} />}
      <Section title={t.locks}>
        {report.locks.length === 0 ? (
          <p>{t.none}</p>
        ) : (
          <Rows
            titles={[t.waiting, t.lock, t.owner, t.where]}
            rows={report.locks.map((lock) => [lock.waiting, <Dotted text={`${lock.class} ${lock.id}`} />, <Name text={lock.owner ?? t.nobody} mono={false} />, <Dotted text={lock.owner_frame} />])}
          />
        )}
      </Section>
      <Section title={t.pools}>
        <Rows titles={[t.count, t.pool, t.states, t.frame]} rows={report.pools.map((pool) => [pool.threads, <Name text={pool.name} mono={false} />, states(pool.states), <Dotted text={pool.frame} />])} />
      </Section>
      <Section title={t.stacks}>
        {stacks.slice(0, ROWS)
          .map((group, at) => (
            <details key={at} open={at < 2 && group.frames.length <= OPEN_FRAMES}>
              <summary>
                {count(group.threads)} × <Name text={group.frames[0]} /> <span class="dim">({states(group.states)})</span>
              </summary>
              <p class="dim">{shown(group.names.join(", "))}</p>
              <ol class="frames">
                {group.frames.map((frame, depth) => (
                  <li key={depth}>
                    <Name text={frame} />
                  </li>
                ))}
              </ol>
            </details>
          ))}
        <Cut shown={ROWS} all={stacks.length} />
      </Section>
    </>
  );
}

/** The lock of a step: its class, and its address unless that names the class already. */
const lockOf = (step: { lock: string; lock_id?: string }) => (step.lock_id?.startsWith(step.lock) ? step.lock_id : [step.lock, step.lock_id].filter((part) => part).join(" "));

/** The changes from the first dump to the last. */
function WhatMoved({ moved }: { moved: Moved }) {
  const t = texts.value.logs;
  const within = moved.elapsed_ms === null ? "" : t.within(millis(moved.elapsed_ms));
  return (
    <Section title={t.moved}>
      <p>
        {within}
        {t.movedText(count(moved.started), count(moved.ended), count(moved.idle))}
      </p>
      <h3>{t.busy}</h3>
      {moved.busy.length === 0 ? (
        <p>{t.notBusy}</p>
      ) : (
        <Rows
          numbers={[0, 1]}
          titles={["CPU", t.share, t.thread, t.innermost]}
          rows={moved.busy.map((it) => [millis(it.cpu_ms), it.share === null ? "–" : percent(100 * it.share), <Name text={it.name} mono={false} />, <Dotted text={it.frame} />])}
        />
      )}
      <h3>{t.stuck}</h3>
      {moved.stuck.length === 0 ? (
        <p>{t.notStuck}</p>
      ) : (
        <Rows titles={[t.thread, t.states, t.owner, t.innermost]} rows={moved.stuck.map((it) => [<Name text={it.name} mono={false} />, it.state, <Name text={it.owner ?? ""} mono={false} />, <Dotted text={it.frame} />])} />
      )}
    </Section>
  );
}

type Named = Spread & { name: string };

/** A table of durations. Those that the log does not tell are null. */
function Spreads({ rows }: { rows: (Named | (Pick<Named, "name" | "count"> & { [figure in "sum_ms" | "p50_ms" | "p95_ms" | "p99_ms" | "p999_ms" | "max_ms"]: null }))[] }) {
  const t = texts.value.logs;
  if (!rows.length) return <p>{t.none}</p>;
  return (
    <Rows
      numbers={[1, 2, 3, 4, 5, 6, 7]}
      titles={[t.name, t.count, t.sum, "p50", "p95", "p99", "p99.9", t.longest]}
      rows={rows.map((row) => [<Name text={row.name} mono={false} />, row.count, millis(row.sum_ms), millis(row.p50_ms), millis(row.p95_ms), millis(row.p99_ms), millis(row.p999_ms), millis(row.max_ms)])}
    />
  );
}

/** A cycle that took no time does not exist: the log has no times of it. */
/** The share of the time without a pause; not all of it where there were pauses. */
const withoutPause = (share: number, pauses: number) => pauses > 0 && share >= 0.9995 ? ">" + percent(99.9) : percent(100 * share);

const isTimed = (cycle: Spread) => cycle.max_ms > 0;

function Collections({ found }: { found: GcReport }) {
  const t = texts.value.logs;
  const log = found.logs[0];
  if (!log) return null;
  // Such a log has stops or cycles, but not their pauses.
  const hasPauses = log.pauses.count > 0 || log.throughput !== null;
  const ofPauses = (figure: string) => (hasPauses ? figure : "–");
  const rate = log.allocation?.per_second;
  return (
    <>
      <Notes notes={log.notes} />
      <p>{[log.collector, log.jvm].filter((it) => it).map((it) => shown(it!)).join(", ")}</p>
      <Rows
        numbers={[1]}
        titles={[t.figure, t.value]}
        rows={[
          [t.pauses, ofPauses(count(log.pauses.count))],
          [t.sum, ofPauses(millis(log.pauses.sum_ms))],
          [t.longest, ofPauses(millis(log.pauses.max_ms))],
          [t.throughput, log.throughput === null ? "–" : withoutPause(log.throughput, log.pauses.count)],
          [t.full, count(log.counts.full)],
          [t.allocation, rate === null || rate === undefined ? "–" : `${bytes(rate)}/s`],
          [t.afterwards, log.heap.peak_after === null ? "–" : bytes(log.heap.peak_after)],
        ]}
      />
      {!hasPauses && <p class="dim">{t.noPauses}</p>}
      <Section title={t.findings}>
        {log.findings.length === 0 && <p>{t.nothing}</p>}
        {log.findings.map((finding) => (
          <article key={finding.id} class={finding.severity === "serious" ? "problem" : "note"}>
            <strong>{shown(said(finding.fact))}</strong>
            <p>{shown(said(finding.advice))}</p>
          </article>
        ))}
      </Section>
      {log.timeline && log.pauses.count > 0 && <Timeline timeline={log.timeline} label={t.timeline} />}
      <HeapOverTime log={log} />
      <LongestPauses log={log} />
      <Section title={t.kinds}>
        <Spreads rows={log.kinds} />
      </Section>
      <Section title={t.causes}>
        <Spreads rows={log.causes} />
      </Section>
      {log.cycles.length > 0 && (
        <Section title={t.cycles}>
          <Spreads rows={log.cycles.map((cycle) => (isTimed(cycle) ? cycle : { ...cycle, sum_ms: null, p50_ms: null, p95_ms: null, p99_ms: null, p999_ms: null, max_ms: null }))} />
          {!log.cycles.every(isTimed) && <p class="dim">{t.noCycleTimes}</p>}
        </Section>
      )}
      {log.stops.count > 0 && (
        <Section title={t.stops}>
          <Spreads rows={[{ ...log.stops, name: t.allStops }, ...(log.reaching.count ? [{ ...log.reaching, name: t.reaching }] : []), ...log.operations]} />
        </Section>
      )}
    </>
  );
}

/** The findings of a recording: those that call for something, then the others. */
function Findings({ found }: { found: FindingsReport }) {
  const t = texts.value.logs;
  const alarms = found.findings.filter((finding) => finding.level !== "ok");
  const healthy = found.findings.filter((finding) => finding.level === "ok");
  return (
    <>
      <Notes notes={found.notes} />
      {found.change_sentence && <p>{shown(found.change_sentence)}</p>}
      {alarms.length === 0 && <p>{t.nothing}</p>}
      {alarms.map((finding) => (
        <article key={finding.rule} class={finding.level === "serious" ? "problem" : "note"}>
          <strong>{shown(finding.headline)}</strong>
          {finding.cause && <p>{shown(finding.cause)}</p>}
          {finding.next && <p>{shown(finding.next)}</p>}
        </article>
      ))}
      {healthy.length > 0 && (
        <Section title={t.fine}>
          <ul>
            {healthy.map((finding) => (
              <li key={finding.rule}>{shown(finding.headline)}</li>
            ))}
          </ul>
        </Section>
      )}
      {found.not_judged.length > 0 && (
        <Section title={t.notJudged}>
          <Rows titles={[t.rule, t.needs]} rows={found.not_judged.map((it) => [<Name text={it.rule} mono={false} />, <Name text={it.needs.join(", ")} mono={false} />])} />
        </Section>
      )}
    </>
  );
}

/** The longest pause of each stretch of time, as bars. */
const at = (millis: number) => duration(millis / 1000);

function Timeline({ timeline, label }: { timeline: NonNullable<GcReport["logs"][0]["timeline"]>; label: string }) {
  const most = Math.max(...timeline.buckets.map((bucket) => bucket.max_ms), 0.001);
  const t = texts.value.logs;
  const until = timeline.from_ms + timeline.buckets.length * timeline.width_ms;
  const hasFull = timeline.buckets.some((bucket) => bucket.full > 0);
  const width = 1000 / Math.max(timeline.buckets.length, 1);
  return (
    <Section title={label}>
      <svg class="log-timeline" viewBox="0 0 1000 120" preserveAspectRatio="none" role="img" aria-label={`${label}: ${millis(most)}`}>
        {timeline.buckets.map((bucket, at) => (
          <rect key={at} x={at * width} width={Math.max(width - 0.5, 0.5)} y={120 - (118 * bucket.max_ms) / most} height={(118 * bucket.max_ms) / most} class={bucket.full > 0 ? "full" : ""}>
            <title>{`${millis(timeline.from_ms + at * timeline.width_ms)}: ${millis(bucket.max_ms)}`}</title>
          </rect>
        ))}
      </svg>
      <p class="dim">{t.timelineScale(millis(most), at(timeline.from_ms), at(until))}</p>
      {hasFull && (
        <p class="legend">
          <span class="key full-pause">{t.timelineFull}</span>
          <span class="key other-pause">{t.timelineOther}</span>
        </p>
      )}
    </Section>
  );
}
