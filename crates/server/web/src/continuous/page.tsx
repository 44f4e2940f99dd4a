// Profiles that programs push: service, kind and time are chosen; a lane of values, a flame graph, a difference.
import { useEffect, useState } from "preact/hooks";
import { useGet } from "../api/client";
import type { CostsOverTime, Flame, SeriesList } from "../api/types";
import { useTitle } from "../app";
import { shown } from "../format";
import { A, Empty, Notes, Problem, Skeleton } from "../parts/basics";
import { FlameGraph } from "../pictures/flame-graph";
import { useFlameState } from "../profile/flame";
import { address, setQuery } from "../route";
import { texts } from "../texts";
import { Lane, moment, type Span } from "./lane";
import { Moved } from "./moved";

const SPANS = ["900", "3600", "21600", "86400", "604800"];
const USUAL = "3600";
const SERVICE = "service.name";
const COMMAND = "hprof-rs record PID --push URL --every 10s";

const quoted = (text: string) => '"' + text.replace(/[\\"]/g, "\\$&") + '"';

function path(view: string, params: Record<string, string | number | null>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value !== null && value !== "") query.set(key, String(value));
  return `continuous/${view}?${query}`;
}

/** The end of the time that is looked at: the one in the address, or now. */
function useEnd(): [number, () => void] {
  const fixed = Number(address.value.query.get("end"));
  const [now, setNow] = useState(() => Date.now() + 1000);
  const refresh = () => {
    setNow(Date.now() + 1000);
    setQuery({ end: null, from: null, to: null, zoom: null });
  };
  return [fixed > 0 ? fixed : now, refresh];
}

export function ContinuousPage() {
  const t = texts.value.continuous;
  useTitle(t.title);
  const { query } = address.value;
  const asked = query.get("last") ?? USUAL;
  const last = SPANS.includes(asked) ? asked : USUAL;
  const [end, refresh] = useEnd();
  const start = end - Number(last) * 1000;
  const series = useGet<SeriesList>(path("series", { from: start, to: end }));
  const services = series.value?.labels[SERVICE] ?? [];
  return (
    <div class="workspace continuous">
      <nav class="dump-bar" aria-label={texts.value.place}>
        <A href="/" class="dim">
          {texts.value.home}
        </A>
        <span class="dim" aria-hidden="true">
          /
        </span>
        <strong>{t.title}</strong>
      </nav>
      <main id="main" tabIndex={-1} class="view" aria-labelledby="view-title">
        <div class="view-head">
          <h1 id="view-title">{t.heading}</h1>
          <p class="dim about">{t.about}</p>
        </div>
        <div class="tools-line">
          <label>
            {t.span}{" "}
            <select value={last} onChange={(event) => setQuery({ last: event.currentTarget.value === USUAL ? null : event.currentTarget.value, from: null, to: null, zoom: null })}>
              {SPANS.map((seconds) => (
                <option key={seconds} value={seconds}>
                  {t.spans[seconds]}
                </option>
              ))}
            </select>
          </label>
          <span class="dim">{t.until(moment(end))}</span>
          <button type="button" onClick={refresh}>
            {t.refresh}
          </button>
        </div>
        {series.failure && <Problem failure={series.failure} again={series.again} />}
        {!series.value && !series.failure && <Skeleton />}
        {series.value && <Notes notes={series.value.notes} />}
        {series.value && !services.length && (
          <Empty>
            <p>{t.empty}</p>
            <code>{COMMAND}</code>
          </Empty>
        )}
        {series.value && services.length > 0 && <Chosen list={series.value} services={services} start={start} end={end} />}
      </main>
    </div>
  );
}

/** The choices that the series offer, and the pictures of what is chosen. */
function Chosen({ list, services, start, end }: { list: SeriesList; services: string[]; start: number; end: number }) {
  const t = texts.value.continuous;
  const { query } = address.value;
  const named = query.get("service");
  const service = named ?? services[0]!;
  const ofService = list.series.filter((one) => one.labels[SERVICE] === service);
  const titles = new Map(ofService.map((one) => [one.kind, one.title]));
  const kinds = [...titles.keys()];
  const wanted = query.get("kind");
  const kind = wanted ?? ["samples", "wall", "time"].find((usual) => titles.has(usual)) ?? kinds[0] ?? "samples";
  if (!titles.has(kind)) titles.set(kind, kind);
  const groups = Object.keys(t.groups).filter((label) => label === "thread" || (list.labels[label]?.length ?? 0) > 1);
  const by = query.get("by") ?? "";
  const more = query.get("more") ?? "";
  const selector = [`${SERVICE}=${quoted(service)}`, more].filter((part) => part).join(",");
  const names = services.includes(service) ? services : [...services, service];
  const label = ([key, text]: [string, string]) => (
    <option key={key} value={key}>
      {shown(text)}
    </option>
  );
  return (
    <>
      <div class="tools-line" role="group" aria-label={t.tools}>
        <label>
          {t.service}{" "}
          <select value={service} onChange={(event) => setQuery({ service: event.currentTarget.value, kind: null, zoom: null })}>
            {names.map((name) => label([name, name]))}
          </select>
        </label>
        <label>
          {t.kind}{" "}
          <select value={kind} onChange={(event) => setQuery({ kind: event.currentTarget.value, zoom: null })}>
            {[...titles].map(label)}
          </select>
        </label>
        <label>
          {t.by}{" "}
          <select value={by} onChange={(event) => setQuery({ by: event.currentTarget.value, zoom: null })}>
            <option value="">{t.ungrouped}</option>
            {groups.map((group) => label([group, t.groups[group]!]))}
          </select>
        </label>
        <More value={more} />
      </div>
      <Pictures key={kind} params={{ selector, kind, by }} whole={{ from: start, to: end }} classes={/^(live|allocated|native)-/.test(kind)} />
    </>
  );
}

/** More conditions, which count when typing ends. */
function More({ value }: { value: string }) {
  const t = texts.value.continuous;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const done = () => setQuery({ more: typed, zoom: null });
  return (
    <label>
      {t.more}{" "}
      <input type="text" class="filter mono" placeholder={t.moreHint} spellcheck={false} autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} onBlur={done} onKeyDown={(event) => event.key === "Enter" && done()} />
    </label>
  );
}

interface Shown {
  params: Record<string, string>;
  whole: Span;
  classes: boolean;
}

function Pictures({ params, whole, classes }: Shown) {
  const t = texts.value.continuous;
  const { query } = address.value;
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  const window = from > 0 && to > from ? { from, to } : null;
  const compares = query.get("compare") === "1";
  const invert = query.get("invert") === "1";
  const [state, set] = useFlameState();
  const lane = useGet<CostsOverTime>(path("values", { ...params, ...whole }));
  const asked = { ...params, ...(window ?? whole), least: "0.0005", invert: invert ? "true" : null };
  const flame = useGet<Flame>(path(compares ? "compare" : "flame", asked));
  // The end is fixed as soon as a part is chosen, so that a link shows the same.
  const pick = (span: Span | null) => setQuery({ from: span && String(span.from), to: span && String(span.to), end: span ? String(whole.to) : undefined, zoom: null }, true);
  const words = texts.value.profile;
  return (
    <>
      {lane.failure && <Problem failure={lane.failure} again={lane.again} />}
      {lane.value && <Notes notes={lane.value.lanes.length ? lane.value.notes : []} />}
      {lane.value && lane.value.lanes.length > 0 && <Lane costs={lane.value} chosen={window} onPick={pick} />}
      {flame.failure && !lane.failure && <Problem failure={flame.failure} again={flame.again} />}
      {!flame.value && !flame.failure && <Skeleton />}
      {flame.value && <Notes notes={flame.value.notes} />}
      {flame.value && (
        <FlameGraph flame={flame.value} state={state} set={set} inverted={invert} leavesAreClasses={classes}>
          <button type="button" aria-pressed={invert} title={words.invertHint} onClick={() => setQuery({ invert: invert ? null : "1", zoom: null })}>
            {words.invert}
          </button>
          <button type="button" aria-pressed={compares} title={t.compareHint} onClick={() => setQuery({ compare: compares ? null : "1", zoom: null })}>
            {t.compare}
          </button>
        </FlameGraph>
      )}
      {compares && <Moved params={{ ...params, ...(window ?? whole) }} />}
    </>
  );
}
