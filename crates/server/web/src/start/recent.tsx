// What has been analysed, newest first, with the one sentence that matters.
import { useEffect, useRef, useState } from "preact/hooks";
import { failureOf, send, type Failure } from "../api/client";
import { dumps, listState, loadDumps, nextDumps, upsert } from "../api/events";
import { useMay } from "../api/role";
import type { Dump } from "../api/types";
import { ago, bytes, shown, time } from "../format";
import { A, Empty, Name, Problem, Skeleton } from "../parts/basics";
import { damageOf } from "../heap/file-notes";
import { Icon } from "../parts/icon";
import { texts } from "../texts";
import { said } from "../texts/said";
import { DumpActions } from "./actions";
import { RuleCount } from "./rules";
import { choose, Chosen, chosen } from "./together";

export function Recent() {
  const t = texts.value.start;
  const [typed, setTyped] = useState("");
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    const timer = setTimeout(() => void loadDumps(typed.trim()), 150);
    return () => clearTimeout(timer);
  }, [typed]);
  const done = dumps.value.filter((dump) => !dump.job || !["running", "queued"].includes(dump.job.state));
  const curl = `curl -T heap.hprof '${location.origin}/api/v1/dumps?name=heap.hprof' -H 'Authorization: Bearer TOKEN'`;
  return (
    <section aria-labelledby="recent-title">
      <div class="section-head">
        <h2 id="recent-title">{t.recent}</h2>
        <input type="search" aria-label={t.searchLabel} placeholder={texts.value.search} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </div>
      {listState.value === "loading" && <Skeleton lines={5} />}
      {listState.value === "failed" && (
        <button type="button" onClick={() => void loadDumps()}>
          {texts.value.retry}
        </button>
      )}
      {listState.value === "ready" && !done.length && (
        <Empty>
          {typed ? (
            t.nothingFound
          ) : (
            <>
              <p>{t.empty}</p>
              <code>{curl}</code>
            </>
          )}
        </Empty>
      )}
      <Chosen />
      {done.length > 0 && (
        <ul class="recent">
          {done.map((dump) => (
            <DumpLine key={dump.id} dump={dump} />
          ))}
        </ul>
      )}
      {nextDumps.value && (
        <button type="button" onClick={() => void loadDumps(typed.trim(), nextDumps.value)}>
          {texts.value.more}
        </button>
      )}
    </section>
  );
}

function DumpLine({ dump }: { dump: Dump }) {
  const t = texts.value;
  const [failure, setFailure] = useState<Failure | null>(null);
  const mayChange = useMay("uploader");
  const { job } = dump;
  const damage = damageOf(dump);
  const tell = (error: unknown) => setFailure(failureOf(error));
  const pin = () => send<Dump>("PATCH", "dumps/" + dump.id, { pinned: !dump.pinned }).then((found) => upsert(found ?? { ...dump, pinned: !dump.pinned }), tell);
  const retry = () => send("POST", `jobs/${encodeURIComponent(job!.id)}/retry`).then(() => setFailure(null), tell);
  return (
    <li class="dump">
      <input type="checkbox" class="dump-choice" aria-label={t.together.choose(shown(dump.name))} title={t.together.choose(shown(dump.name))} checked={chosen.value.includes(dump.id)} onChange={(event) => choose(dump.id, event.currentTarget.checked)} />
      <div class="dump-main">
        <p class="dump-title">
          <A href={`/dumps/${dump.id}`}>
            <Name text={dump.name} mono={false} />
          </A>
          {Object.entries(dump.labels).map(([key, value]) => (
            <span class="label" key={key}>
              {shown(key)}={shown(value)}
            </span>
          ))}
          {damage && (
            <span class="label warn" title={t.dump.damageText[damage]}>
              {t.dump.damage[damage]}
            </span>
          )}
          {(dump.stripped || (dump.strippings?.length ?? 0) > 0) && (
            <span class="label" title={dump.stripped ? t.dump.strippedText : t.dump.taken.sender}>
              {t.dump.stripped}
            </span>
          )}
        </p>
        {dump.headline && <p class="headline">{shown(said(dump.headline))}</p>}
        {dump.note && <p class="dump-note">{shown(dump.note)}</p>}
        <p class="dump-facts">
          <span>{t.dump.kinds[dump.kind]}</span>
          <span>{bytes(dump.bytes)}</span>
          <span title={time(dump.uploaded_at)}>{t.dump.uploaded(ago(dump.uploaded_at))}</span>
          <RuleCount dump={dump} />
          {job && job.state !== "done" && <span class={job.state === "failed" ? "bad" : undefined}>{t.states[job.state]}</span>}
        </p>
        {job?.state === "failed" && job.error && (
          <p class="bad">
            <Icon name="alert" /> {shown(said(job.error.title))}
            {job.error.detail ? ": " + shown(said(job.error.detail)) : ""}
          </p>
        )}
        {failure && <Problem failure={failure} />}
      </div>
      <div class="dump-tools">
        {mayChange && job && (job.state === "cancelled" || (job.state === "failed" && job.error?.can_retry !== false)) && (
          <button type="button" class="small" onClick={() => void retry()}>
            {t.start.retry}
          </button>
        )}
        <button type="button" class="bare" disabled={!mayChange} aria-pressed={dump.pinned} aria-label={`${t.dump.pin}: ${shown(dump.name)}`} title={dump.pinned ? t.dump.pinned : t.dump.pin} onClick={() => void pin()}>
          <Icon name="pin" />
        </button>
        <DumpActions dump={dump} onDeleted={() => (dumps.value = dumps.value.filter((item) => item.id !== dump.id))} />
      </div>
    </li>
  );
}
