// Beside the query: tables with their columns, examples, queries that this browser has saved.
import { useState } from "preact/hooks";
import type { Failure } from "../api/client";
import type { Schema } from "../api/types";
import { shown } from "../format";
import { Problem, Skeleton } from "../parts/basics";
import { Icon } from "../parts/icon";
import { keepSetting, setting, texts } from "../texts";

type Saved = { title: string; sql: string };
const KEY = "queries";
const MAX_SAVED = 100;

function stored(): Saved[] {
  try {
    const found: unknown = JSON.parse(setting(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((item): item is Saved => typeof item?.title === "string" && typeof item?.sql === "string") : [];
  } catch {
    return [];
  }
}

interface Props {
  schema: Schema | null;
  failure: Failure | null;
  sql: string;
  onPick: (sql: string) => void;
  onRun: (sql: string) => void;
}

export function SchemaList({ schema, failure, sql, onPick, onRun }: Props) {
  const t = texts.value.sql;
  const [saved, setSaved] = useState(stored);
  const keep = (next: Saved[]) => {
    keepSetting(KEY, JSON.stringify(next.slice(0, MAX_SAVED)));
    setSaved(next);
  };
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const title = String(new FormData(form).get("title") ?? "").trim();
    if (!title || !sql.trim()) return;
    keep([{ title, sql }, ...saved.filter((item) => item.title !== title)]);
    form.reset();
  };
  return (
    <section class="schema" aria-label={t.schema} tabIndex={0}>
      <h2>{t.saved}</h2>
      <form class="line" onSubmit={save}>
        <input name="title" aria-label={t.saveName} placeholder={t.saveName} autocomplete="off" maxLength={80} />
        <button type="submit" disabled={!sql.trim()} aria-label={t.saveAs}>
          {texts.value.save}
        </button>
      </form>
      {!saved.length && <p class="dim">{t.noSaved}</p>}
      <ul class="plain">
        {saved.map((item) => (
          <li key={item.title} class="saved">
            <button type="button" class="link" title={item.sql} onClick={() => onRun(item.sql)}>
              {item.title}
            </button>
            <button type="button" class="bare" aria-label={t.removeSaved(item.title)} onClick={() => keep(saved.filter((other) => other !== item))}>
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      {failure && <Problem failure={failure} />}
      {!schema && !failure && <Skeleton lines={8} />}
      {schema && schema.examples.length > 0 && (
        <>
          <h2>{t.examples}</h2>
          <ul class="plain">
            {schema.examples.map((example) => (
              <li key={example.title}>
                <button type="button" class="link" title={example.sql} onClick={() => onRun(example.sql)}>
                  {shown(example.title)}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {schema && (
        <>
          <h2>{t.schema}</h2>
          {schema.tables.map((table) => (
            <details key={table.name}>
              <summary class="mono">{shown(table.name)}</summary>
              <p class="dim">{shown(table.about)}</p>
              <ul class="plain columns">
                {table.columns.map((column) => (
                  <li key={column.name}>
                    <button type="button" class="link mono" onClick={() => onPick(sql + (/\s$|^$/.test(sql) ? "" : " ") + column.name)}>
                      {shown(column.name)}
                    </button>{" "}
                    <span class="dim">
                      {shown(column.type)}
                      {column.about ? " – " + shown(column.about) : ""}
                    </span>
                  </li>
                ))}
              </ul>
            </details>
          ))}
        </>
      )}
    </section>
  );
}
