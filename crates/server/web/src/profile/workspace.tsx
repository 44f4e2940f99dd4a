// The workspace of a profile: what is counted, and the four ways to look at it.
import { useEffect, useRef } from "preact/hooks";
import { API, useGet } from "../api/client";
import type { Dump, ProfileFacts } from "../api/types";
import { NotFound, useTitle } from "../app";
import { DumpTitle } from "../dump";
import { LogReport, ReportPage, type LogView } from "../logs";
import { A, Asides, Empty, Notes, Problem, Skeleton } from "../parts/basics";
import { address, to } from "../route";
import { shown } from "../format";
import { texts } from "../texts";
import { amountOf } from "../pictures/flame-graph";
import { CompareProfiles } from "./compare";
import { FlameView } from "./flame";
import { SlowView } from "./slow";
import { finished } from "./source";
import { CallTree, Methods } from "./tables";
import { busyParam, ProfileTools } from "./tools";

const VIEWS = ["flame", "methods", "tree", "compare"];

/** The views of a recording beside those of profiles. */
const partsOf = (dump: Dump): LogView[] => {
  const has = (part: string) => typeof dump.summary?.[part] === "number";
  return [...(has("findings") ? (["findings"] as const) : []), ...(has("collections") ? (["gc"] as const) : []), ...(has("dumps") ? (["stacks"] as const) : [])];
};

/** A recording may have collections and thread dumps, and no samples. */
const hasProfile = (dump: Dump): boolean => !Array.isArray(dump.summary?.["profiles"]) || dump.summary["profiles"].length > 0;

export function ProfileWorkspace({ dump, rest }: { dump: Dump; rest: string[] }) {
  const t = texts.value.profile;
  const parts = partsOf(dump);
  const isProfile = hasProfile(dump) || parts.length === 0;
  const view = rest[0] ?? (isProfile ? VIEWS[0]! : parts[0]!);
  const part = parts.find((item) => item === view);
  const title = t.views[view] ?? "";
  useTitle(title, dump.name);
  const nav = useRef<HTMLElement>(null);
  // On a phone the views are wider than the screen.
  useEffect(() => nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [view]);
  const { value: facts, failure, again } = useGet<ProfileFacts>(part ? null : `dumps/${dump.id}/profile`);
  // It is known whether calls were timed once the head is there.
  const hasSlow = isProfile && (facts ? !!facts.slow : view === "slow");
  const views: string[] = [...(isProfile ? VIEWS : []), ...(hasSlow ? ["slow"] : []), ...parts];
  if (!views.includes(view)) return <NotFound />;
  const source = { ...finished(dump.id), params: busyParam() };
  const { query } = address.value;
  const dimension = query.get("dimension") ?? facts?.dimensions[0]?.key ?? null;
  const thread = query.get("thread");
  const counted = facts?.dimensions.find((item) => item.key === dimension) ?? facts;
  // What is counted and for which thread goes along from view to view.
  const keep = { dimension: query.get("dimension"), thread, idle: query.get("idle") };
  return (
    <div class={part ? "workspace profile log" : "workspace profile"}>
      <DumpTitle dump={dump} />
      <nav class="profile-views" ref={nav} aria-label={texts.value.nav.label}>
        {views.map((id) => (
          <A key={id} href={to(`/dumps/${dump.id}/${id}`, keep)} current={id === view}>
            {t.views[id]}
          </A>
        ))}
      </nav>
      <main id="main" tabIndex={-1} class={"view profile-" + view} aria-labelledby="view-title">
        <div class="view-head">
          <h1 id="view-title">{title}</h1>
          <p class="dim about">{facts && counted && view !== "slow" ? `${shown("label" in counted ? counted.label : facts.title)}; ${t.total} ${amountOf(counted.unit)(counted.total)}` : ""}</p>
          {counted && !part && (
            <p>
              <a href={`${API}/dumps/${encodeURIComponent(dump.id)}/profile.html`} download>
                {t.page}
              </a>
            </p>
          )}
        </div>
        {failure && <Problem failure={failure} again={again} />}
        {part && (
          <>
            <ReportPage dump={dump} view={part} />
            <LogReport key={part} dump={dump} view={part} />
          </>
        )}
        {!part && !facts && !failure && <Skeleton />}
        {facts?.slow && view === "slow" && <SlowView slow={facts.slow} />}
        {facts && facts.dimensions.length === 0 && view !== "slow" && (
          <>
            {facts.notes.length > 1 && <Notes notes={facts.notes} />}
            <Empty>{t.empty}</Empty>
          </>
        )}
        {facts && facts.dimensions.length > 0 && view !== "slow" && (
          <>
            <Notes notes={facts.notes} />
            <ProfileTools facts={facts} dimension={dimension} thread={thread} />
            {view === "flame" && <FlameView source={source} facts={facts} dimension={dimension} thread={thread} />}
            {view === "methods" && <Methods source={source} dimension={dimension} thread={thread} />}
            {view === "tree" && <CallTree source={source} dimension={dimension} thread={thread} />}
            {view === "compare" && <CompareProfiles dump={dump} facts={facts} dimension={dimension} thread={thread} />}
          </>
        )}
        {facts && <Asides title={t.remarks} lines={facts.remarks} raw />}
      </main>
    </div>
  );
}
