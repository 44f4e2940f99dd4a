// Several logs side by side: figures of collections, or what moved between thread dumps.
import { useGet } from "./api/client";
import type { GcComparison, ThreadsTogether, Unit } from "./api/types";
import { NotFound, useTitle } from "./app";
import { bytes, change, count, percent, perMinute, shown } from "./format";
import { millis, Rows, Section, Threads } from "./logs";
import { A, Name, Problem, Skeleton } from "./parts/basics";
import { address } from "./route";
import { texts } from "./texts";
import { said } from "./texts/said";

export function ComparePage({ view }: { view: string }) {
  const t = texts.value;
  const dumps = (address.value.query.get("dumps") ?? "").split(",").filter((id) => /^[0-9a-zA-Z_-]{1,64}$/.test(id));
  const title = view === "gc" ? t.together.gc : t.together.stacks;
  useTitle(title);
  if ((view !== "gc" && view !== "stacks") || dumps.length < 2) return <NotFound />;
  const path = `${view}?dumps=${dumps.join()}`;
  return (
    <div class="workspace log">
      <nav class="dump-bar" aria-label={t.place}>
        <A href="/" class="dim">
          {t.home}
        </A>
        <span class="dim" aria-hidden="true">
          /
        </span>
        <strong>{title}</strong>
      </nav>
      <main id="main" tabIndex={-1} class="view">
        <div class="view-head">
          <h1>{title}</h1>
        </div>
        {view === "gc" ? <Logs path={path} /> : <Dumps path={path} />}
      </main>
    </div>
  );
}

const show = (unit: Unit, value: number | null): string => {
  if (value === null) return "–";
  if (unit === "milliseconds") return millis(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes_per_second") return bytes(value) + "/s";
  if (unit === "percent") return percent(value);
  return unit === "per_minute" ? perMinute(value) : count(value);
};

function Logs({ path }: { path: string }) {
  const t = texts.value;
  const { value, failure, again } = useGet<GcComparison>(path);
  if (failure) return <Problem failure={failure} again={again} />;
  if (!value) return <Skeleton />;
  const head = value.logs.map((log) => (
    <A key={log.id} href={`/dumps/${log.id}`}>
      <Name text={log.name} mono={false} />
    </A>
  ));
  const rows = value.figures.map(({ name, unit, values }) => {
    const [first, last] = [values[0], values[values.length - 1]];
    const isKnown = first && last !== null && last !== undefined;
    // How long a log is says nothing of the program, and a share of a share would be read as the share itself.
    const grew = !isKnown || name === "duration" ? "–" : unit === "percent" ? t.together.points(change(last - first, (points) => points.toFixed(1))) : change((100 * last) / first - 100, percent);
    return [t.together.figures[name] ?? name, ...values.map((value) => show(unit, value)), grew];
  });
  return (
    <>
      <Rows titles={[t.logs.figure, ...head, t.together.change]} rows={rows} numbers={value.logs.map((_, at) => at + 1).concat(value.logs.length + 1)} />
      {value.figures.some((figure) => figure.values.includes(null)) && <p class="dim">{t.together.unknown}</p>}
      {value.logs.map((log) => (
        <Section key={log.id} title={`${t.logs.findings}: ${shown(log.name)}`}>
          {log.collector && <p>{shown(log.collector)}</p>}
          {log.findings.length === 0 && <p>{t.logs.nothing}</p>}
          {log.findings.map((finding) => (
            <article key={finding.id} class={finding.severity === "serious" ? "problem" : "note"}>
              <strong>{shown(said(finding.fact))}</strong>
              <p>{shown(said(finding.advice))}</p>
            </article>
          ))}
        </Section>
      ))}
    </>
  );
}

function Dumps({ path }: { path: string }) {
  const t = texts.value.together;
  const { value, failure, again } = useGet<ThreadsTogether>(path);
  if (failure) return <Problem failure={failure} again={again} />;
  if (!value) return <Skeleton />;
  return (
    <>
      <ol class="compared">
        {value.files.map((file) => (
          <li key={file.id}>
            <A href={`/dumps/${file.id}`}>
              <Name text={file.name} mono={false} />
            </A>
            {file.dumps > 1 && ` (${t.dumps(count(file.dumps))})`}
          </li>
        ))}
      </ol>
      <Threads found={value} />
    </>
  );
}
