// The menu of threads, for a thousand of them too: groups of names that differ in a number, a search, keys.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { ProfileFacts } from "../api/types";
import { count, percent, shown } from "../format";
import { texts } from "../texts";

/** Rows that are drawn at once; a search finds the others. */
const MAX_ROWS = 300;

interface Row {
  key: string;
  name: string;
  total: number;
  level: 1 | 2;
  /** Of a group. */
  threads?: number;
}

interface Props {
  facts: ProfileFacts;
  thread: string | null;
  /** Threads that wait for work are left out of what is shown. */
  isBusy: boolean;
  onPick: (thread: string | null) => void;
}

export function ThreadMenu({ facts, thread, isBusy, onPick }: Props) {
  const t = texts.value.profile;
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLSpanElement>(null);
  const chosen = facts.groups?.find((group) => group.key === thread) ?? facts.threads.find((item) => item.key === thread);
  const close = (returns: boolean) => {
    setOpen(false);
    if (returns) button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", away);
    addEventListener("popstate", away);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("popstate", away);
    };
  }, [isOpen]);
  return (
    <span class="thread-menu" ref={box}>
      <span class="dim" id={id}>
        {t.thread}
      </span>{" "}
      <button type="button" ref={button} class="thread-button" aria-haspopup="tree" aria-expanded={isOpen} aria-labelledby={`${id} ${id}-now`} onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" || isOpen) return;
          event.preventDefault();
          setOpen(true);
        }}>
        <span id={id + "-now"}>{chosen ? shown(chosen.name) : thread ? shown(thread) : t.allThreads}</span>
      </button>
      {isOpen && <List facts={facts} thread={thread} isBusy={isBusy} close={close} onPick={(key) => (close(true), onPick(key))} />}
    </span>
  );
}

/** The rows for a search: all groups and threads that it names, or groups with the threads of those that are open. */
function rowsOf(facts: ProfileFacts, search: string, open: ReadonlySet<string>, isBusy: boolean): { rows: Row[]; matching: number } {
  const cost = (item: { total: number; waits?: number }) => item.total - (isBusy ? (item.waits ?? 0) : 0);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const names = (name: string) => words.every((word) => name.toLowerCase().includes(word));
  const threads = facts.threads.map((item) => ({ ...item, total: cost(item) })).sort((a, b) => b.total - a.total);
  const groups = (facts.groups ?? []).map((group) => ({ ...group, total: cost(group), level: 1 as const }));
  const matching = threads.filter((item) => names(item.name));
  if (words.length) {
    const rows: Row[] = [...groups.filter((group) => names(group.name)), ...matching.map((item): Row => ({ key: item.key, name: item.name, total: item.total, level: 1 }))];
    return { rows, matching: matching.length };
  }
  const tops: Row[] = [...groups, ...threads.filter((item) => !item.group).map((item): Row => ({ key: item.key, name: item.name, total: item.total, level: 1 }))];
  tops.sort((a, b) => b.total - a.total);
  const rows = tops.flatMap((row): Row[] => (row.threads !== undefined && open.has(row.key) ? [row, ...threads.filter((item) => item.group === row.key).map((item): Row => ({ key: item.key, name: item.name, total: item.total, level: 2 }))] : [row]));
  return { rows, matching: threads.length };
}

function List({ facts, thread, isBusy, close, onPick }: { facts: ProfileFacts; thread: string | null; isBusy: boolean; close: (returns: boolean) => void; onPick: (key: string | null) => void }) {
  const t = texts.value.profile;
  const id = useId();
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set());
  const [at, setAt] = useState<string | null>(thread);
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const { rows: found, matching } = useMemo(() => rowsOf(facts, search, open, isBusy), [facts, search, open, isBusy]);
  const all: Row = { key: "", name: t.allThreads, total: facts.total - (isBusy ? (facts.dimensions[0]?.waits ?? 0) : 0), level: 1 };
  const rows = [...(search ? [] : [all]), ...found.slice(0, MAX_ROWS)];
  const whole = Math.max(1, all.total);
  const known = rows.findIndex((row) => row.key === (at ?? ""));
  const index = Math.max(0, known);
  const current = rows[index];
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    list.current?.querySelector(".here")?.scrollIntoView({ block: "nearest" });
  }, [index, rows.length]);
  const toggle = (row: Row, opens: boolean) => {
    const next = new Set(open);
    if (opens) next.add(row.key);
    else next.delete(row.key);
    setOpen(next);
  };
  const move = (to: number) => setAt(rows[Math.max(0, Math.min(rows.length - 1, to))]?.key ?? null);
  const onKey = (event: KeyboardEvent) => {
    const page = 8;
    const isGroup = current?.threads !== undefined && !search;
    if (event.key === "ArrowDown") move(index + 1);
    else if (event.key === "ArrowUp") move(index - 1);
    else if (event.key === "PageDown") move(index + page);
    else if (event.key === "PageUp") move(index - page);
    else if (event.key === "Home" && !search) move(0);
    else if (event.key === "End" && !search) move(rows.length - 1);
    else if (event.key === "ArrowRight" && isGroup) toggle(current, true);
    else if (event.key === "ArrowLeft" && isGroup && open.has(current.key)) toggle(current, false);
    else if (event.key === "ArrowLeft" && current?.level === 2) setAt(facts.threads.find((item) => item.key === current.key)?.group ?? null);
    else if (event.key === "Enter" && current) onPick(current.key || null);
    else if (event.key === "Escape") close(true);
    else if (event.key === "Tab") return close(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="thread-list">
      <input type="search" ref={field} aria-label={t.threadSearch} placeholder={t.threadSearch} aria-controls={id} aria-activedescendant={current ? `${id}-${index}` : undefined} spellcheck={false} autocomplete="off" value={search}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setAt(null);
        }}
        onKeyDown={onKey} />
      <p class="dim" role="status">
        {search ? t.threadsFound(count(matching), count(facts.threads.length)) : t.threadCount(count(facts.threads.length), count(facts.groups?.length ?? 0))}
      </p>
      <div role="tree" id={id} ref={list} class="thread-rows" aria-label={t.thread}>
        {rows.map((row, place) => {
          const isGroup = row.threads !== undefined;
          const unfolds = isGroup && !search;
          return (
            <div key={row.key} id={`${id}-${place}`} role="treeitem" aria-level={row.level} aria-selected={row.key === (thread ?? "")} aria-expanded={unfolds ? open.has(row.key) : undefined} class={"thread-row level-" + row.level + (place === index ? " here" : "")} onClick={() => onPick(row.key || null)}>
              <span class="thread-fold" aria-hidden="true" onClick={(event) => {
                if (!unfolds) return;
                event.stopPropagation();
                setAt(row.key);
                toggle(row, !open.has(row.key));
                field.current?.focus();
              }}>
                {unfolds ? (open.has(row.key) ? "▾" : "▸") : ""}
              </span>
              <span class="thread-name" title={shown(row.name)}>
                {shown(row.name)}
              </span>
              {isGroup && <span class="dim thread-size">{t.threadsOf(count(row.threads!))}</span>}
              <span class="thread-share">{percent((100 * row.total) / whole)}</span>
            </div>
          );
        })}
      </div>
      {!rows.length && <p class="dim">{t.noThread}</p>}
      {found.length > MAX_ROWS && <p class="dim">{t.moreThreads(count(found.length - MAX_ROWS))}</p>}
    </div>
  );
}
