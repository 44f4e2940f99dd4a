// The threads of a running JVM as they are now: states, stacks, locks, and who waits for whom.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { failureOf, getJson, type Failure } from "../api/client";
import type { Column, LiveJvm, LiveThread, LiveThreads, Row } from "../api/types";
import { count, lasted, shown, timeOfDay } from "../format";
import { Grid } from "../grid/grid";
import { Local } from "../grid/local";
import { useAddressState } from "../heap/state";
import { A, Copy, Empty, Name, Notes, Problem, Skeleton } from "../parts/basics";
import type { MenuItem } from "../parts/menu";
import { address, setQuery, withQuery } from "../route";
import { texts } from "../texts";
import { said } from "../texts/said";

/** How often threads are asked for while somebody follows them, in milliseconds. */
const FOLLOW = 2000;

const columns = (): Column[] => {
  const t = texts.value.live;
  return [
    { key: "name", label: t.threadName, kind: "text" },
    { key: "thread_state", label: t.threadState, kind: "text" },
    { key: "method", label: t.threadTop, kind: "text" },
    { key: "cpu", label: t.threadCpu, kind: "millis" },
    { key: "waits", label: t.waitsFor, kind: "text" },
  ];
};

/** Names are not unique; the thread's number in the system is, where it is known. */
const keyOf = (thread: LiveThread) => (thread.os_id === null ? thread.name : String(thread.os_id));

/** A thread as jstack prints it. */
function asText(thread: LiveThread): string {
  const lines = [`"${shown(thread.name)}" ${shown(thread.state)}`, ...thread.frames.map((frame) => "    at " + shown(frame))];
  if (thread.waits_for) lines.push(`    waits for ${shown(thread.waits_for.lock)}${thread.waits_for.owner === null ? "" : `, which "${shown(thread.waits_for.owner)}" holds`}`);
  for (const lock of thread.holds) lines.push("    holds " + shown(lock));
  return lines.join("\n");
}

function useThreads(id: string, asks: boolean) {
  const [value, setValue] = useState<(LiveThreads & { at: number }) | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const abort = useRef(new AbortController());
  const load = async () => {
    setBusy(true);
    try {
      const found = await getJson<LiveThreads>(`jvms/${encodeURIComponent(id)}/threads`, abort.current.signal);
      setValue({ ...found, at: Date.now() });
      setFailure(null);
    } catch (error) {
      if (abort.current.signal.aborted) return;
      setFailure(failureOf(error));
    }
    setBusy(false);
  };
  useEffect(() => {
    abort.current = new AbortController();
    if (asks) void load();
    return () => abort.current.abort();
  }, [id, asks]);
  return { value, failure, busy, load };
}

export function LiveThreadsView({ id, jvm }: { id: string; jvm: LiveJvm }) {
  const t = texts.value;
  const state = useAddressState();
  // What works hardest comes first.
  const sort = state.sort ?? "-cpu";
  const { value, failure, busy, load } = useThreads(id, jvm.can.threads);
  const [follows, setFollows] = useState(false);
  useEffect(() => {
    if (!follows || busy || failure) return;
    const timer = setTimeout(() => void load(), FOLLOW);
    return () => clearTimeout(timer);
  }, [follows, busy, failure]);
  const rows = useMemo(
    () => value?.threads.map((thread): Row => ({ name: thread.name, thread_state: thread.state, cpu: thread.cpu_ms, waits: thread.waits_for ? thread.waits_for.lock + (thread.waits_for.owner === null ? "" : ` ← ${thread.waits_for.owner}`) : null, method: thread.frames[0] ?? null, key: keyOf(thread) })) ?? [],
    [value],
  );
  const model = useMemo(() => value && Object.assign(new Local(columns(), rows, sort, state.filter), { stays: true }), [value, rows, sort, state.filter, texts.value]);
  const chosen = address.value.query.get("thread");
  const thread = value?.threads.find((item) => keyOf(item) === chosen);
  if (!jvm.can.threads) return <Empty>{t.live.noThreads}</Empty>;
  const actions = (row: Row): MenuItem[] => [{ label: t.actions.stack, href: withQuery({ thread: String(row["key"]) }) }, { label: t.actions.copyName, copy: String(row["name"]) }];
  return (
    <>
      {value?.deadlocks.map((lock, index) => (
        <div class="problem" role="alert" key={index}>
          <strong>{t.live.deadlock}</strong>
          <p>{shown(said(lock.sentence))}</p>
          <p class="suspect-links">
            {lock.threads.map((name) => (
              <A key={name} href={withQuery({ thread: keyOf(value.threads.find((item) => item.name === name) ?? ({ name, os_id: null } as LiveThread)) })}>
                <Name text={name} mono={false} />
              </A>
            ))}
          </p>
        </div>
      ))}
      <div class="tools-line">
        <input type="search" class="filter mono" aria-label={t.table.filter} placeholder={t.table.filter} aria-invalid={model?.isBad} spellcheck={false} autocomplete="off" value={state.filter} onInput={(event) => state.set({ filter: event.currentTarget.value })} />
        <button type="button" disabled={busy} onClick={() => void load()}>
          {t.live.refresh}
        </button>
        <label class="check">
          <input type="checkbox" checked={follows} onChange={(event) => setFollows(event.currentTarget.checked)} /> {t.live.follow}
        </label>
        {value && <Copy text={value.threads.map(asText).join("\n\n")}>{t.live.copyThreads}</Copy>}
        <span class="dim rows" role="status">
          {value && model ? `${t.live.threadCount(count(model.total))}, ${timeOfDay(value.at)}${value.deadlocks.length ? "" : "; " + t.live.noDeadlock}` : ""}
        </span>
      </div>
      {failure && <Problem failure={failure} again={() => void load()} />}
      <Notes notes={value?.notes} />
      {!model && !failure && <Skeleton lines={10} />}
      {model && (
        <div class="split">
          <div class="table-part">
            <Grid model={model} label={t.live.views["threads"]!} sort={sort} onSort={(next) => state.set({ sort: next })} actions={actions} onPick={(row) => setQuery({ thread: String(row["key"]) })} isSelected={(row) => row["key"] === chosen} empty={state.filter ? t.table.nothing : t.table.empty} />
          </div>
          <section class="stack-part" aria-labelledby="stack-title" tabIndex={0}>
            {thread ? <Stack thread={thread} /> : <p class="dim" id="stack-title">{chosen ? t.live.threadGone : t.thread.pick}</p>}
          </section>
        </div>
      )}
    </>
  );
}

function Stack({ thread }: { thread: LiveThread }) {
  const t = texts.value;
  const { waits_for: waits } = thread;
  return (
    <>
      <div class="stack-head">
        <h2 id="stack-title">
          <Name text={thread.name} mono={false} />
        </h2>
        <span class="label">{shown(thread.state)}</span>
        <span class="spring" />
        <Copy text={asText(thread)} label={t.profile.copyStack} />
      </div>
      <dl class="facts compact">
        {thread.os_id !== null && (
          <div>
            <dt>{t.live.osId}</dt>
            <dd>{thread.os_id}</dd>
          </div>
        )}
        {thread.cpu_ms !== null && (
          <div>
            <dt>{t.live.threadCpu}</dt>
            <dd>{lasted(thread.cpu_ms)}</dd>
          </div>
        )}
        {waits && (
          <div>
            <dt>{t.live.waitsFor}</dt>
            <dd>
              <Name text={waits.lock} />
              {waits.owner !== null && (
                <span>
                  {t.live.heldBy} <Name text={waits.owner} mono={false} />
                </span>
              )}
            </dd>
          </div>
        )}
        {thread.holds.length > 0 && (
          <div>
            <dt>{t.live.holds}</dt>
            <dd>
              {thread.holds.map((lock) => (
                <Name key={lock} text={lock} />
              ))}
            </dd>
          </div>
        )}
      </dl>
      {!thread.frames.length && <p class="dim">{t.live.noFrames}</p>}
      <ol class="frames">
        {thread.frames.map((frame, index) => (
          <li key={index}>
            <Name text={frame} />
          </li>
        ))}
      </ol>
    </>
  );
}
