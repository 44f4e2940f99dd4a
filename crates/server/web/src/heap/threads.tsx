// Threads to choose from; the chosen one with its stack and locals.
import { useState } from "preact/hooks";
import { useGet } from "../api/client";
import type { Dump, Row, ThreadFacts, ThreadLocal } from "../api/types";
import { isSelectedRow, rowActions, selectObject } from "../grid/actions";
import { Table } from "../grid/table";
import { bytes, count, shown } from "../format";
import { A, Copy, Name, Problem, Skeleton } from "../parts/basics";
import type { MenuItem } from "../parts/menu";
import { address, setQuery, withQuery } from "../route";
import { texts } from "../texts";
import { useAddressState } from "./state";

export function Threads({ dump }: { dump: Dump }) {
  const t = texts.value;
  const state = useAddressState();
  const thread = address.value.query.get("thread");
  const actions = (row: Row): MenuItem[] => {
    const items = rowActions(dump.id, row);
    return row.object ? [{ label: t.actions.stack, href: withQuery({ thread: row.object }) }, ...items] : items;
  };
  const pick = (row: Row) => {
    if (row.object) setQuery({ thread: row.object });
  };
  return (
    <div class="split">
      <Table path={`dumps/${dump.id}/threads`} state={state} label={t.views["threads"]![0]} actions={actions} onPick={pick} isSelected={(row) => (thread ? row.object === thread : isSelectedRow(row))} beside files />
      <section class="stack-part" aria-labelledby="stack-title" tabIndex={0}>
        {thread ? <Stack key={thread} dump={dump} thread={thread} /> : <p class="dim" id="stack-title">{t.thread.pick}</p>}
      </section>
    </div>
  );
}

function Stack({ dump, thread }: { dump: Dump; thread: string }) {
  const t = texts.value.thread;
  const short = address.value.query.get("locals") === "1";
  const { value, failure, again } = useGet<ThreadFacts>(`dumps/${dump.id}/threads/${encodeURIComponent(thread)}`);
  const title = (
    <h2 id="stack-title">
      <A href={selectObject(thread)}>
        <Name text={value?.name ?? thread} mono={false} />
      </A>
    </h2>
  );
  if (failure) return <>{title}<Problem failure={failure} again={again} /></>;
  if (!value) return <>{title}<Skeleton /></>;
  const frames = short ? value.frames.filter((frame) => frame.locals.length) : value.frames;
  const text = value.frames.map((frame) => "    at " + frame.method).join("\n");
  return (
    <>
      <div class="stack-head">
        {title}
        {value.state && <span class="label">{shown(value.state)}</span>}
        <span class="spring" />
        <label class="check">
          <input type="checkbox" checked={short} onChange={(event) => setQuery({ locals: event.currentTarget.checked ? "1" : null }, true)} /> {t.withLocals}
        </label>
        <Copy text={`"${shown(value.name)}"\n${shown(text)}`} label={texts.value.profile.copyStack} />
      </div>
      {Object.keys(value.properties).length > 0 && (
        <dl class="facts compact">
          {Object.entries(value.properties).map(([key, item]) => (
            <div key={key}>
              <dt>{shown(key)}</dt>
              <dd>{shown(String(item))}</dd>
            </div>
          ))}
        </dl>
      )}
      {!value.frames.length && <p class="dim">{t.none}</p>}
      <ol class="frames">
        {frames.map((frame, index) => (
          <li key={index}>
            <Name text={frame.method} />
            {frame.locals.length > 0 && <Locals locals={frame.locals} />}
          </li>
        ))}
        {value.other_locals?.length > 0 && (
          <li>
            <span class="dim">{t.other}</span>
            <Locals locals={value.other_locals} />
          </li>
        )}
      </ol>
    </>
  );
}

const MAX_LOCALS = 200;

function Locals({ locals }: { locals: ThreadLocal[] }) {
  const [whole, setWhole] = useState(false);
  const seen = whole ? locals : locals.slice(0, MAX_LOCALS);
  return (
    <ul>
      {seen.map((local, at) => (
        <li key={at} title={local.kind}>
          <A href={selectObject(local.object)}>
            <Name text={local.name} />
          </A>
          {local.retained !== null && <span class="dim number">{texts.value.suspects.keeps(bytes(local.retained))}</span>}
        </li>
      ))}
      {seen.length < locals.length && (
        <li>
          <button type="button" class="link" onClick={() => setWhole(true)}>
            {texts.value.table.moreRows(count(locals.length - seen.length))}
          </button>
        </li>
      )}
    </ul>
  );
}
