// Logs that are no heap dump and no profile: what a garbage collection log or thread dumps show.
import type { ComponentChildren } from "preact";
import { API, useGet } from "./api/client";
import type { Dump, GcReport, Spread, ThreadReport } from "./api/types";
import { useTitle } from "./app";
import { DumpTitle } from "./dump";
import { bytes, count, percent, shown } from "./format";
import { Name, Notes, Problem, Skeleton } from "./parts/basics";
import { texts } from "./texts";
import { said } from "./texts/said";

/** Rows that a table shows; the report that can be downloaded has all. */
const ROWS = 50;

const millis = (value: number | null | undefined) => (value === null || value === undefined ? "–" : value >= 10_000 ? `${count(value / 1000)} s` : `${value.toFixed(value < 10 ? 2 : 0)} ms`);

export function LogWorkspace({ dump }: { dump: Dump }) {
  const t = texts.value.logs;
  useTitle(dump.name);
  const { value, failure, again } = useGet<ThreadReport | GcReport>(`dumps/${dump.id}/report`);
  return (
    <div class="workspace log">
      <DumpTitle dump={dump} />
      <main id="main" tabIndex={-1} class="view">
        <div class="view-head">
          <h1>{texts.value.dump.kinds[dump.kind]}</h1>
          <p>
            <a href={`${API}/dumps/${encodeURIComponent(dump.id)}/report.html`} download>
              {t.page}
            </a>
          </p>
        </div>
        {failure && <Problem failure={failure} again={again} />}
        {!value && !failure && <Skeleton />}
        {value && "report" in value && <Threads found={value} />}
        {value && "logs" in value && <Collections found={value} />}
      </main>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** A small table; columns with a number are told by the cell. */
function Rows({ titles, rows }: { titles: string[]; rows: (string | number | ComponentChildren)[][] }) {
  return (
    <div class="scroll" tabIndex={0}>
      <table class="plain">
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} class={typeof cell === "number" ? "numeric" : undefined}>
                  {typeof cell === "number" ? count(cell) : cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const states = (found: Record<string, number>) =>
  Object.entries(found)
    .sort((a, b) => b[1] - a[1])
    .map(([state, n]) => `${count(n)} ${state}`)
    .join(", ");

function Threads({ found }: { found: ThreadReport }) {
  const t = texts.value.logs;
  const { report } = found;
  const last = report.dumps[report.dumps.length - 1];
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
                <Name text={step.thread} /> {t.waitsFor} <Name text={step.lock} />, {t.heldBy} <Name text={step.owner} />
              </li>
            ))}
          </ul>
        ))}
      </Section>
      <Section title={t.locks}>
        {report.locks.length === 0 ? (
          <p>{t.none}</p>
        ) : (
          <Rows
            titles={[t.waiting, t.lock, t.owner, t.where]}
            rows={report.locks.map((lock) => [lock.waiting, <Name text={`${lock.class} ${lock.id}`} />, <Name text={lock.owner ?? t.nobody} mono={false} />, <Name text={lock.owner_frame} />])}
          />
        )}
      </Section>
      <Section title={t.pools}>
        <Rows titles={[t.count, t.pool, t.states, t.frame]} rows={report.pools.map((pool) => [pool.threads, <Name text={pool.name} mono={false} />, states(pool.states), <Name text={pool.frame} />])} />
      </Section>
      <Section title={t.stacks}>
        {report.stacks
          .filter((group) => group.frames.length > 0)
          .slice(0, ROWS)
          .map((group, at) => (
            <details key={at} open={at < 2}>
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
      </Section>
    </>
  );
}

function spreads(rows: (Spread & { name: string })[]) {
  return rows.map((row) => [<Name text={row.name} mono={false} />, row.count, millis(row.sum_ms), millis(row.p50_ms), millis(row.p99_ms), millis(row.max_ms)]);
}

function Collections({ found }: { found: GcReport }) {
  const t = texts.value.logs;
  const log = found.logs[0];
  if (!log) return null;
  const titles = [t.name, t.count, t.sum, "p50", "p99", t.longest];
  const rate = log.allocation?.per_second;
  return (
    <>
      <Notes notes={log.notes} />
      <p>{[log.collector, log.jvm].filter((it) => it).map((it) => shown(it!)).join(", ")}</p>
      <Rows
        titles={[t.figure, t.value]}
        rows={[
          [t.pauses, count(log.pauses.count)],
          [t.sum, millis(log.pauses.sum_ms)],
          [t.longest, millis(log.pauses.max_ms)],
          [t.throughput, log.throughput === null ? "–" : percent(100 * log.throughput)],
          [t.full, count(log.counts.full)],
          [t.allocation, rate === null || rate === undefined ? "–" : `${bytes(rate)}/s`],
          [t.afterwards, log.heap.peak_after === null ? "–" : bytes(log.heap.peak_after)],
        ]}
      />
      <Section title={t.findings}>
        {log.findings.length === 0 && <p>{t.nothing}</p>}
        {log.findings.map((finding) => (
          <article key={finding.id} class={finding.severity === "serious" ? "problem" : "note"}>
            <strong>{shown(said(finding.fact))}</strong>
            <p>{shown(said(finding.advice))}</p>
          </article>
        ))}
      </Section>
      {log.timeline && <Timeline timeline={log.timeline} label={t.timeline} />}
      <Section title={t.kinds}>
        <Rows titles={titles} rows={spreads(log.kinds)} />
      </Section>
      <Section title={t.causes}>
        <Rows titles={titles} rows={spreads(log.causes)} />
      </Section>
    </>
  );
}

/** The longest pause of each stretch of time, as bars. */
function Timeline({ timeline, label }: { timeline: NonNullable<GcReport["logs"][0]["timeline"]>; label: string }) {
  const most = Math.max(...timeline.buckets.map((bucket) => bucket.max_ms), 0.001);
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
    </Section>
  );
}
