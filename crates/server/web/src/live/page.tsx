// A running JVM: what is recorded of it and what it does now, with the controls above.
import { useEffect, useState } from "preact/hooks";
import { failureOf, getJson, type Failure } from "../api/client";
import { endings, growth, type Growth } from "../api/events";
import type { LiveJvm } from "../api/types";
import { NotFound, useTitle } from "../app";
import { duration, shown } from "../format";
import { A, Name, Problem, Skeleton } from "../parts/basics";
import { address, to } from "../route";
import { texts } from "../texts";
import { Controls } from "./controls";
import { LiveHistogram } from "./histogram";
import { LiveMemoryView } from "./memory";
import { LiveProfile } from "./profile";
import { LiveThreadsView } from "./threads";

/** How often state and cost are asked for beside the events, in milliseconds. */
const REFRESH = 3000;
const RECORDED = ["flame", "methods", "tree"];
const NOW = ["histogram", "threads", "memory"];

function useJvm(id: string): { jvm: LiveJvm | null; failure: Failure | null; take: (jvm: LiveJvm) => void } {
  const [jvm, setJvm] = useState<LiveJvm | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const endingsSeen = endings.value[id];
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const load = async () => {
      try {
        setJvm(await getJson<LiveJvm>("jvms/" + encodeURIComponent(id), abort.signal));
        setFailure(null);
      } catch (error) {
        if (abort.signal.aborted) return;
        const found = failureOf(error);
        setFailure(found);
        // A JVM that is unknown does not come back under its id.
        if (found.problem.status === 404) return;
      }
      timer = window.setTimeout(() => void load(), REFRESH);
    };
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [id, endingsSeen]);
  return { jvm, failure, take: setJvm };
}

/** How far a recording is: the server pushes that more often than it is asked for, also of one that began since. */
function grownOf(jvm: LiveJvm | null): Growth {
  const asked = { since: jvm?.since ?? 0, revision: jvm?.revision ?? 0, samples: jvm?.samples ?? 0 };
  const pushed = jvm && growth.value[jvm.id];
  return pushed && pushed.since === asked.since && pushed.revision > asked.revision ? pushed : asked;
}

export function LivePage({ id, view }: { id: string; view: string }) {
  const t = texts.value;
  const { jvm, failure, take } = useJvm(id);
  const [frozen, setFrozen] = useState<string | null>(null);
  // A recording that has ended holds still by itself, and the next one is not to begin like that.
  const isLive = jvm?.live ?? true;
  useEffect(() => {
    if (!isLive) setFrozen(null);
  }, [isLive]);
  const title = t.live.views[view] ?? "";
  useTitle(title, jvm?.name ?? t.live.title);
  if (!title || (!jvm && failure?.problem.status === 404)) return <NotFound />;
  const grown = grownOf(jvm);
  const tick = `${grown.since}.${grown.revision}.${grown.samples}`;
  // The network reaches the agent only, which has neither.
  const isFar = jvm?.place === "network";
  // What one looks at goes along between the views of a recording.
  const { query } = address.value;
  const keep = { last: query.get("last"), dimension: query.get("dimension"), idle: query.get("idle"), thread: RECORDED.includes(view) ? query.get("thread") : null };
  return (
    <div class="workspace profile live">
      <nav class="dump-bar" aria-label={texts.value.place}>
        <A href="/" class="dim">
          {t.home}
        </A>
        <span class="dim" aria-hidden="true">
          /
        </span>
        <strong title={shown(jvm?.name ?? id)}>
          <Name text={jvm?.name ?? id} mono={false} />
        </strong>
        {jvm && <Facts jvm={jvm} />}
      </nav>
      <main id="main" tabIndex={-1} class={"view live-" + view} aria-labelledby="view-title">
        {jvm ? <Controls id={id} jvm={jvm} take={take} isEnded={jvm.ended !== null && !jvm.live && !jvm.attachable} /> : !failure && <Skeleton lines={3} />}
        {failure && <Problem failure={failure} />}
        <nav class="profile-views" aria-label={t.nav.label}>
          {[...RECORDED, ...(isFar ? [] : NOW)].map((name) => (
            <A key={name} href={to(`/jvms/${encodeURIComponent(id)}/${name}`, RECORDED.includes(name) ? keep : {})} current={name === view}>
              {t.live.views[name]}
            </A>
          ))}
        </nav>
        <h1 id="view-title" class="hidden-text">
          {title}
        </h1>
        {jvm && RECORDED.includes(view) && <LiveProfile id={id} jvm={jvm} view={view} tick={frozen ?? tick} isFrozen={frozen !== null} isEmpty={grown.revision === 0} freeze={(on) => setFrozen(on ? tick : null)} />}
        {jvm && view === "histogram" && <LiveHistogram id={id} jvm={jvm} />}
        {jvm && view === "memory" && <LiveMemoryView id={id} jvm={jvm} />}
        {jvm && view === "threads" && <LiveThreadsView id={id} jvm={jvm} />}
      </main>
    </div>
  );
}

function Facts({ jvm }: { jvm: LiveJvm }) {
  const t = texts.value;
  return (
    <p class="dump-facts">
      {jvm.pid ? <span>PID {jvm.pid}</span> : null}
      {jvm.version && (
        <span>
          {t.start.jvmVersion} {shown(jvm.version)}
        </span>
      )}
      {jvm.user && (
        <span>
          {t.start.jvmUser} {shown(jvm.user)}
        </span>
      )}
      {jvm.host && <span>{shown(jvm.host)}</span>}
      {jvm.uptime !== null && (
        <span>
          {t.start.jvmUptime} {duration(jvm.uptime)}
        </span>
      )}
      {jvm.container && <span>{t.live.container}</span>}
      {jvm.place === "network" && <span>{t.live.network}</span>}
    </p>
  );
}
