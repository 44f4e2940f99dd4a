// The small parts that every view uses.
import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Failure } from "../api/client";
import { abridged, shown } from "../format";
import { follow } from "../route";
import { language, texts } from "../texts";
import { said } from "../texts/said";

/** A link within the page. */
export function A(props: { href: string; class?: string | undefined; title?: string | undefined; current?: boolean; children: ComponentChildren; label?: string | undefined }) {
  return (
    <a href={props.href} class={props.class} title={props.title} aria-label={props.label} aria-current={props.current ? "page" : undefined} onClick={follow}>
      {props.children}
    </a>
  );
}

/** Text from a dump: a text node, isolated from what is around it. A very long one is abridged unless it is the `whole` name. */
export function Name({ text, mono = true, whole = false }: { text: string | null | undefined; mono?: boolean; whole?: boolean }) {
  const all = shown(text ?? "");
  const short = whole ? all : abridged(all);
  return (
    <bdi class={mono ? "foreign mono" : "foreign"} title={short === all ? undefined : all}>
      {short}
    </bdi>
  );
}

/** The name of what is inspected. Its place scrolls, so keys have to reach a long one. */
export function WholeName({ text }: { text: string | null | undefined }) {
  return (
    <h2 class="object-name" tabIndex={(text?.length ?? 0) > 120 ? 0 : undefined}>
      <Name text={text} whole />
    </h2>
  );
}

/** A name of parts that breaks after its dots where it has to. */
export function Dotted({ text }: { text: string | null | undefined }) {
  const parts = shown(text ?? "").split(/(?<=[.$/])/);
  return (
    <bdi class="foreign mono dotted">
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

/** What went wrong, with the server's title and detail. */
export function Problem({ failure, again }: { failure: Failure; again?: (() => void) | undefined }) {
  const t = texts.value;
  const { title, type, detail, status } = failure.problem;
  const known = t.problems[type ?? title];
  return (
    <div class="problem" role="alert">
      <strong>{known ?? shown(said(title || t.problems["unknown"]!))}</strong>
      {status > 0 && <span class="dim"> {status}</span>}
      {detail && (
        <p>
          <Lines text={said(detail)} />
        </p>
      )}
      {/* A wrong request stays wrong. */}
      {again && status !== 400 && (
        <button type="button" onClick={again}>
          {t.retry}
        </button>
      )}
    </div>
  );
}

/** Text of the server in lines, as it has them; other control characters are shown as codes. */
export function Lines({ text }: { text: string }) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  return (
    <>
      {lines.map((line, index) => (
        <span class="text-line" key={index}>
          {shown(line)}
        </span>
      ))}
    </>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** Grey lines where content is about to be. */
export function Skeleton({ lines = 6 }: { lines?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="hidden-text">{texts.value.loading}</span>
      {Array.from({ length: lines }, (_, i) => (
        <i key={i} style={{ width: `${92 - ((i * 37) % 50)}%` }} />
      ))}
    </div>
  );
}

export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Over plain HTTP, or without permission: as below.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden-text";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function Copy({ text, label, children }: { text: string; label?: string; children?: ComponentChildren }) {
  const t = texts.value;
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1200);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button type="button" class="small" aria-label={label} title={label} onClick={() => void copyText(text).then(() => setDone(true))}>
      {done ? t.copied : (children ?? t.copy)}
    </button>
  );
}

/** A share as a bar; the number stands beside it, so readers of screens lose nothing. */
export function Bar({ share }: { share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <i style={{ width: `${Math.max(0, Math.min(100, share))}%` }} />
    </span>
  );
}

/** The server's notes are clauses: they begin small and end without a full stop. */
export function sentence(note: string): string {
  const words = shown(said(note));
  // A sentence without a translation stays English, with its full stop.
  const isTranslated = language.value === "zh" && words !== shown(note);
  const end = /[.!?\u3002\uff01]$/.test(words) ? "" : isTranslated ? "\u3002" : ".";
  return words.charAt(0).toUpperCase() + words.slice(1) + end;
}

/** What is good to know and no warning, behind a summary. */
export function Asides({ title, lines, raw = false }: { title: string; lines: string[] | undefined; raw?: boolean }) {
  if (!lines?.length) return null;
  return (
    <details class="asides">
      <summary>{title}</summary>
      <ul class={raw ? "mono" : undefined}>
        {lines.map((line, index) => (
          <li key={index}>{raw ? shown(line) : sentence(line)}</li>
        ))}
      </ul>
    </details>
  );
}

export function Notes({ notes }: { notes: string[] | undefined }) {
  if (!notes?.length) return null;
  return (
    <>
      {notes.map((note) => (
        <p class="note" key={note}>
          {sentence(note)}
        </p>
      ))}
    </>
  );
}
