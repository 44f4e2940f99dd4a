// The SQL console: a query, its result as table or chart, the schema beside it, saved queries.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { failureOf, send, useGet, type Failure } from "../api/client";
import type { Dump, QueryAnswer, Row, Schema } from "../api/types";
import { pickRow, rowActions } from "../grid/actions";
import { Grid } from "../grid/grid";
import { Local } from "../grid/local";
import { count } from "../format";
import { A, Notes, Problem } from "../parts/basics";
import { address, setQuery, to } from "../route";
import { texts } from "../texts";
import { Chart } from "./chart";
import { QueryInput } from "./query-input";
import { SchemaList } from "./schema";
import { Choice } from "./table-page";

const LIMIT = 10_000;
/** Objects whose paths are merged: they are part of the address. */
const MAX_PATHS = 200;

export function SqlConsole({ dump }: { dump: Dump }) {
  const t = texts.value.sql;
  const schema = useGet<Schema>(`dumps/${dump.id}/query/schema`);
  const asked = address.value.query.get("sql") ?? "";
  const [sql, setSql] = useState(asked);
  const [answer, setAnswer] = useState<QueryAnswer | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const under = useRef<AbortController | null>(null);
  const run = async (text: string) => {
    under.current?.abort();
    const abort = (under.current = new AbortController());
    setBusy(true);
    setFailure(null);
    if (text !== address.value.query.get("sql")) setQuery({ sql: text });
    try {
      setAnswer(await send<QueryAnswer>("POST", `dumps/${dump.id}/query`, { sql: text, limit: LIMIT }, abort.signal));
    } catch (error) {
      if (abort.signal.aborted) return;
      setFailure(failureOf(error));
      setAnswer(null);
    }
    setBusy(false);
  };
  // A link with a query shows its result; "back" shows the query before.
  useEffect(() => {
    setSql(asked);
    if (asked) void run(asked);
    else setAnswer(null);
  }, [asked]);
  useEffect(() => () => under.current?.abort(), []);
  return (
    <div class="sql">
      <div class="sql-main">
        <QueryInput value={sql} onChange={setSql} onRun={() => sql.trim() && void run(sql)} schema={schema.value} busy={busy} onCancel={() => (under.current?.abort(), setBusy(false))} />
        {failure && <Problem failure={failure} />}
        {!answer && !failure && !busy && <p class="dim">{t.first}</p>}
        {answer && <Result dump={dump} answer={answer} />}
      </div>
      <SchemaList schema={schema.value} failure={schema.failure} sql={sql} onPick={setSql} onRun={(text) => (setSql(text), void run(text))} />
    </div>
  );
}

function Result({ dump, answer }: { dump: Dump; answer: QueryAnswer }) {
  const t = texts.value.sql;
  const as = address.value.query.get("as") === "chart" ? "chart" : "table";
  const [sort, setSort] = useState<string | null>(null);
  // Two columns of a query may have one name: rows are keyed by place.
  const columns = useMemo(() => answer.columns.map((column, index) => ({ ...column, key: "c" + index })), [answer]);
  const rows = useMemo(() => answer.rows.map((cells) => rowOf(cells, columns)), [answer]);
  const objects = useMemo(() => [...new Set(rows.flatMap((row) => (row.object ? [String(row.object)] : [])))].slice(0, MAX_PATHS), [rows]);
  const model = useMemo(() => new Local(columns, rows, sort), [columns, rows, sort]);
  return (
    <>
      <div class="tools-line">
        <Choice label={t.query} options={[["table", t.asTable], ["chart", t.asChart]]} value={as} onPick={(value) => setQuery({ as: value === "chart" ? value : null }, true)} />
        <span class="dim rows" role="status">
          {t.rows(count(answer.rows.length), count(answer.millis))}
        </span>
        {objects.length > 0 && (
          <A href={to(`/dumps/${dump.id}/merged`, { objects: objects.join(",") })} class="button small">
            {t.paths(count(objects.length))}
          </A>
        )}
        <button type="button" class="small" onClick={() => saveCsv(answer)}>
          {t.csv}
        </button>
      </div>
      {answer.truncated && <Notes notes={[t.truncated]} />}
      {as === "chart" ? <Chart columns={columns} rows={rows} /> : <Grid model={model} label={t.query} sort={sort} onSort={setSort} actions={(row) => rowActions(dump.id, row)} onPick={pickRow} empty={texts.value.table.empty} />}
      <Notes notes={answer.notes} />
    </>
  );
}

const IDENTIFIER = /^0x[0-9a-f]{2,16}$/;

/** The first cell that is an identifier makes the row one about that object. */
function rowOf(cells: QueryAnswer["rows"][number], columns: { key: string }[]): Row {
  const row: Row = {};
  cells.forEach((cell, index) => {
    row[columns[index]!.key] = cell;
    if (!row.object && typeof cell === "string" && IDENTIFIER.test(cell)) row.object = cell;
  });
  return row;
}

/** RFC 4180. A cell that a spreadsheet would take for a formula is quoted as text. */
function csvCell(cell: unknown): string {
  let text = cell === null || cell === undefined ? "" : String(cell);
  if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function saveCsv(answer: QueryAnswer): void {
  const lines = [answer.columns.map((column) => csvCell(column.label)), ...answer.rows.map((row) => row.map(csvCell))];
  const url = URL.createObjectURL(new Blob([lines.map((line) => line.join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = "query.csv";
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
