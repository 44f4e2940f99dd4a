// The text of a query, with completion of tables, columns and words of SQL.
import { useId, useRef, useState } from "preact/hooks";
import type { Schema } from "../api/types";
import { texts } from "../texts";

const WORDS = "SELECT FROM WHERE GROUP BY ORDER BY LIMIT JOIN ON AND OR NOT IN LIKE IS NULL AS DESC ASC DISTINCT COUNT SUM AVG MIN MAX CASE WHEN THEN ELSE END HAVING UNION WITH".split(" ");
const MAX_SHOWN = 8;

interface Props {
  value: string;
  onChange: (value: string) => void;
  onRun: () => void;
  onCancel: () => void;
  schema: Schema | null;
  busy: boolean;
}

export function QueryInput({ value, onChange, onRun, onCancel, schema, busy }: Props) {
  const t = texts.value.sql;
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [found, setFound] = useState<string[]>([]);
  const [at, setAt] = useState(0);

  const complete = () => {
    const box = area.current!;
    const word = /[A-Za-z_]\w*$/.exec(box.value.slice(0, box.selectionStart))?.[0] ?? "";
    if (word.length < 2) return setFound([]);
    const all = [...(schema?.tables ?? []).flatMap((table) => [table.name, ...table.columns.map((column) => column.name)]), ...WORDS];
    const low = word.toLowerCase();
    const fit = [...new Set(all)].filter((name) => name.toLowerCase().startsWith(low) && name.toLowerCase() !== low);
    setFound(fit.slice(0, MAX_SHOWN));
    setAt(0);
  };
  const take = (name: string) => {
    const box = area.current!;
    const word = /[A-Za-z_]\w*$/.exec(box.value.slice(0, box.selectionStart))?.[0] ?? "";
    // At once, caret included: the next key may come before the next frame.
    box.focus();
    box.setRangeText(name, box.selectionStart - word.length, box.selectionEnd, "end");
    onChange(box.value);
    setFound([]);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      setFound([]);
      onRun();
    } else if (!found.length) return;
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length);
    } else if (event.key === "Tab" || event.key === "Enter") {
      event.preventDefault();
      take(found[at]!);
    } else if (event.key === "Escape") {
      event.preventDefault();
      setFound([]);
    }
  };
  return (
    <div class="query">
      <label for={id} class="hidden-text">
        {t.query}
      </label>
      <div class="query-box">
        <textarea id={id} ref={area} class="mono" rows={5} spellcheck={false} autocomplete="off" autocapitalize="off" placeholder="SELECT name, objects, retained FROM classes ORDER BY retained DESC LIMIT 20" value={value} aria-describedby={id + "-hint"} aria-autocomplete="list"
          aria-controls={found.length ? id + "-list" : undefined} aria-activedescendant={found.length ? `${id}-${at}` : undefined}
          onInput={(event) => (onChange(event.currentTarget.value), complete())} onKeyDown={onKey} onBlur={() => setTimeout(() => setFound([]), 150)} />
        {found.length > 0 && (
          <ul class="completions" role="listbox" id={id + "-list"} aria-label={t.completions}>
            {found.map((name, index) => (
              <li key={name} id={`${id}-${index}`} role="option" aria-selected={index === at} class="mono" onMouseDown={(event) => (event.preventDefault(), take(name))}>
                {name}
              </li>
            ))}
          </ul>
        )}
      </div>
      <div class="tools-line">
        <button type="button" class="primary" disabled={!value.trim() || busy} onClick={onRun}>
          {busy ? t.running : t.run}
        </button>
        {busy && (
          <button type="button" onClick={onCancel}>
            {texts.value.cancel}
          </button>
        )}
        <span class="dim" id={id + "-hint"}>
          {t.runKey}
        </span>
      </div>
    </div>
  );
}
