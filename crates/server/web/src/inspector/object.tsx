// An object: what it is, and its fields, entries, references and path in tabs.
import { useGet } from "../api/client";
import type { Dump, ObjectFacts, PathAnswer } from "../api/types";
import { rowActions, pickRow, selectClass, selectObject, type Shown } from "../grid/actions";
import { Table, useLocalState } from "../grid/table";
import { bytes, count, percent, shown, time } from "../format";
import { Path } from "../heap/path";
import { A, Bar, Empty, Name, Problem, Skeleton, WholeName } from "../parts/basics";
import { address, setQuery } from "../route";
import { texts } from "../texts";
import { said } from "../texts/said";

const TABLE_HEIGHT = 420;

export function ObjectBody({ dump, id }: { dump: Dump; id: string }) {
  const t = texts.value.inspector;
  const { value: facts, failure, again } = useGet<ObjectFacts>(`dumps/${dump.id}/objects/${encodeURIComponent(id)}`);
  if (failure) return <Problem failure={failure} again={again} />;
  if (!facts) return <Skeleton />;
  const isCollection = facts.value?.kind === "collection";
  const tabs: Shown[] = [...(isCollection ? (["entries"] as const) : []), ...(facts.is_class ? (["statics"] as const) : []), "fields", "out", "in", "path", "retained"];
  const asked = address.value.query.get("show") as Shown | null;
  const tab = asked && tabs.includes(asked) ? asked : tabs[0]!;
  return (
    <>
      <WholeName text={facts.name} />
      <dl class="facts compact">
        <div>
          <dt>{texts.value.by["class"]}</dt>
          <dd>
            <ClassLink of={facts.class} />
          </dd>
        </div>
        <div>
          <dt>{t.retained}</dt>
          <dd>
            {facts.is_live === false ? <span class="label warn">{t.unreached}</span> : facts.retained === null ? "–" : bytes(facts.retained)}
            {facts.is_live !== false && facts.percent !== null && facts.percent !== undefined && (
              <>
                {" "}
                <span class="dim">{percent(facts.percent)}</span> <Bar share={facts.percent} />
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>{t.shallow}</dt>
          <dd>{bytes(facts.shallow)}</dd>
        </div>
        {facts.dominator && (
          <div>
            <dt>{t.dominator}</dt>
            <dd>
              <A href={selectObject(facts.dominator.object)}>
                <Name text={facts.dominator.name} />
              </A>
            </dd>
          </div>
        )}
        {facts.length !== null && facts.length !== undefined && (
          <div>
            <dt>{t.length}</dt>
            <dd>{count(facts.length)}</dd>
          </div>
        )}
        <LoaderLine loader={facts.loader} object={facts.loader_object} />
        {facts.trace?.[0] && (
          <div>
            <dt>{t.allocator}</dt>
            <dd>
              <Name text={facts.trace[0]} />
            </dd>
          </div>
        )}
        {facts.root && facts.root.length > 0 && (
          <div>
            <dt>{t.root}</dt>
            <dd>{facts.root.map((root) => <span key={root} class="label">{shown(said(root))}</span>)}</dd>
          </div>
        )}
      </dl>
      {facts.value && facts.value.text !== "" && (
        <figure class="value">
          <figcaption>
            {t.value} <span class="dim">({t.kinds[facts.value.kind] ?? shown(facts.value.kind)}{facts.value.truncated ? ", " + t.truncated : ""})</span>
          </figcaption>
          <pre tabIndex={0}>{meaning(facts.value)}</pre>
        </figure>
      )}
      {facts.trace && facts.trace.length > 1 && (
        <details>
          <summary>{t.trace}</summary>
          <ol class="frames">
            {facts.trace.map((frame, index) => (
              <li key={index}>
                <Name text={frame} />
              </li>
            ))}
          </ol>
        </details>
      )}
      <Tabs tabs={tabs} tab={tab} />
      <Panel key={tab} dump={dump} id={id} tab={tab} />
    </>
  );
}

/** A date is in the reader's words as well, a size of a collection in those of the page. */
function meaning({ kind, text }: { kind: string; text: string }): string {
  const millis = kind === "date" ? Date.parse(text) : NaN;
  if (Number.isFinite(millis)) return `${time(millis)}\n${shown(text)}`;
  const size = kind === "collection" ? /^size (\d+)$/.exec(text) : null;
  return size ? texts.value.inspector.size(count(Number(size[1]))) : shown(text);
}

export function ClassLink({ of }: { of: { id: string | null; name: string } }) {
  if (!of.id) return <Name text={of.name} />;
  return (
    <A href={selectClass(of.id)}>
      <Name text={of.name} />
    </A>
  );
}

export function LoaderLine({ loader, object }: { loader: string | null; object: string | null }) {
  const t = texts.value.inspector;
  if (!loader) return null;
  return (
    <div>
      <dt>{t.loader}</dt>
      <dd>
        {object ? (
          <A href={selectObject(object)}>
            <Name text={loader} />
          </A>
        ) : (
          <Name text={loader} />
        )}
      </dd>
    </div>
  );
}

function Tabs({ tabs, tab }: { tabs: Shown[]; tab: Shown }) {
  const t = texts.value.inspector;
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (tabs.indexOf(tab) + step + tabs.length) % tabs.length;
    setQuery({ show: tabs[next]! }, true);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={t.title} onKeyDown={onKey}>
      {tabs.map((name) => (
        <button key={name} type="button" role="tab" id={"tab-" + name} aria-controls="tab-panel" aria-selected={name === tab} tabIndex={name === tab ? 0 : -1} title={t.tabTitles[name]} onClick={() => setQuery({ show: name }, true)}>
          {t.tabs[name]}
        </button>
      ))}
    </div>
  );
}

function Panel({ dump, id, tab }: { dump: Dump; id: string; tab: Shown }) {
  return (
    <div role="tabpanel" id="tab-panel" aria-labelledby={"tab-" + tab}>
      {tab === "path" ? <PathPanel dump={dump} id={id} /> : <TablePanel dump={dump} id={id} tab={tab} />}
    </div>
  );
}

function TablePanel({ dump, id, tab }: { dump: Dump; id: string; tab: Shown }) {
  const t = texts.value.inspector;
  const state = useLocalState();
  const base = `dumps/${dump.id}/objects/${encodeURIComponent(id)}/`;
  const [path, params] = { fields: [base + "fields", {}], statics: [base + "fields", { statics: "true" }], entries: [base + "entries", {}], out: [base + "references", { direction: "out" }], in: [base + "references", { direction: "in" }], retained: [base + "retained", {}] }[tab as "fields"] as [string, Record<string, string>];
  return <Table path={path} params={params} state={state} label={t.tabTitles[tab] ?? t.tabs[tab] ?? tab} plain most={TABLE_HEIGHT} onPick={(row) => pickRow(entry(row))} actions={(row) => rowActions(dump.id, entry(row))} />;
}

/** An entry of a collection stands for its value, or for its key if the value is no object. */
function entry(row: Record<string, unknown>): Record<string, unknown> {
  if (row["object"] || (!row["value_object"] && !row["key_object"])) return row;
  return { ...row, object: row["value_object"] ?? row["key_object"] };
}

function PathPanel({ dump, id }: { dump: Dump; id: string }) {
  const t = texts.value.inspector;
  const { value, failure, again } = useGet<PathAnswer>(`dumps/${dump.id}/objects/${encodeURIComponent(id)}/path`);
  if (failure) return <Problem failure={failure} again={again} />;
  if (!value) return <Skeleton lines={4} />;
  return value.items.length ? <Path items={value.items} root={value.root} end={id} /> : <Empty>{t.noPath}</Empty>;
}

