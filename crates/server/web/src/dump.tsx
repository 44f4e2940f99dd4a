// One dump: its workspace, or how far its analysis is.
import { useEffect, useState } from "preact/hooks";
import { failureOf, getJson, send, type Failure } from "./api/client";
import { dumps, upsert } from "./api/events";
import type { Dump } from "./api/types";
import { NotFound, useTitle } from "./app";
import { shown } from "./format";
import { damageOf } from "./heap/file-notes";
import { HeapWorkspace } from "./heap/workspace";
import { LogWorkspace } from "./logs";
import { A, Name, Problem, Skeleton } from "./parts/basics";
import { ProfileWorkspace } from "./profile/workspace";
import { go } from "./route";
import { DumpActions } from "./start/actions";
import { JobLine } from "./start/running";
import { texts } from "./texts";

/** A dump that the list may not contain, kept up to date by events once it is there. */
function useDump(id: string): { dump: Dump | null; failure: Failure | null } {
  const listed = dumps.value.find((dump) => dump.id === id) ?? null;
  const [own, setOwn] = useState<Dump | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  useEffect(() => {
    getJson<Dump>("dumps/" + encodeURIComponent(id)).then(setOwn, (error: unknown) => setFailure(failureOf(error)));
  }, [id]);
  const state = own?.job?.state;
  useEffect(() => {
    // Not in the list means no events: ask until it is done.
    if (listed || !own || (state !== "running" && state !== "queued")) return;
    const timer = setInterval(() => void getJson<Dump>("dumps/" + encodeURIComponent(id)).then(setOwn, () => undefined), 2000);
    return () => clearInterval(timer);
  }, [listed === null, state]);
  return { dump: listed ?? own, failure };
}

export function DumpPage({ id, rest }: { id: string; rest: string[] }) {
  const { dump, failure } = useDump(id);
  if (!dump) {
    if (failure?.problem.status === 404) return <NotFound />;
    return (
      <main id="main" tabIndex={-1} class="narrow">
        {failure ? <Problem failure={failure} /> : <Skeleton />}
      </main>
    );
  }
  const done = dump.job === null || dump.job.state === "done";
  if (!done) return <Waiting dump={dump} />;
  if (dump.kind === "thread_dump" || dump.kind === "gc_log") return <LogWorkspace dump={dump} />;
  return dump.kind === "profile" ? <ProfileWorkspace dump={dump} rest={rest} /> : <HeapWorkspace dump={dump} rest={rest} />;
}

function Waiting({ dump }: { dump: Dump }) {
  const t = texts.value;
  const job = dump.job!;
  const [failure, setFailure] = useState<Failure | null>(null);
  useTitle(dump.name);
  const retry = () =>
    send("POST", `jobs/${encodeURIComponent(job.id)}/retry`)
      .then(() => getJson<Dump>("dumps/" + dump.id))
      .then(upsert, (error: unknown) => setFailure(failureOf(error)));
  const goes = job.state === "running" || job.state === "queued";
  return (
    <main id="main" tabIndex={-1} class="narrow">
      <p>
        <A href="/">{t.home}</A>
      </p>
      <h1>
        <Name text={dump.name} mono={false} />
      </h1>
      {goes && (
        <div class="running-item">
          <p>
            <strong>{t.dump.notReady}.</strong> {t.dump.waitText}
          </p>
          <JobLine dump={dump} job={job} />
        </div>
      )}
      {job.state === "failed" && <Problem failure={{ problem: { title: job.error?.title ?? t.states["failed"]!, status: 0, ...(job.error ? { detail: job.error.detail } : {}) } } as Failure} again={job.error?.can_retry === false ? undefined : () => void retry()} />}
      {job.state === "cancelled" && (
        <div class="running-item">
          <p>{t.dump.cancelled}</p>
          <button type="button" onClick={() => void retry()}>
            {t.start.retry}
          </button>
        </div>
      )}
      {failure && <Problem failure={failure} />}
    </main>
  );
}

/** The line above a workspace: where one is, and what can be done with the whole dump. */
export function DumpTitle({ dump }: { dump: Dump }) {
  const t = texts.value;
  const damage = damageOf(dump);
  return (
    <nav class="dump-bar" aria-label={t.place}>
      <A href="/" class="dim">
        {t.home}
      </A>
      <span class="dim" aria-hidden="true">
        /
      </span>
      <strong title={shown(dump.name)}>
        <A href={`/dumps/${dump.id}`}>
          <Name text={dump.name} mono={false} />
        </A>
      </strong>
      {damage && (
        <span class="label warn" title={t.dump.damageText[damage]}>
          {t.dump.damage[damage]}
        </span>
      )}
      <DumpActions dump={dump} onDeleted={() => ((dumps.value = dumps.value.filter((item) => item.id !== dump.id)), go("/"))} />
    </nav>
  );
}
