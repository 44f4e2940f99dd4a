// Where files come in: dropped anywhere on the page, chosen, or named by a path on the server.
import { useEffect, useRef, useState } from "preact/hooks";
import { failureOf, send, useGet, type Failure } from "../api/client";
import { useMay } from "../api/role";
import type { Dump, ServerFacts } from "../api/types";
import { A, Name, Problem } from "../parts/basics";
import { Icon } from "../parts/icon";
import { shown } from "../format";
import { texts } from "../texts";
import { add, already, arrived, listedIds } from "./uploads";

export function DropZone() {
  const t = texts.value.start;
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Enter and leave come for every element below; the count tells when the file leaves the page.
    let depth = 0;
    const files = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!files(event)) return;
      depth++;
      setOver(true);
    };
    const leave = () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) setOver(false);
    };
    const hover = (event: DragEvent) => {
      if (files(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      depth = 0;
      setOver(false);
      if (!files(event)) return;
      event.preventDefault();
      add(event.dataTransfer!.files);
    };
    addEventListener("dragenter", enter);
    addEventListener("dragleave", leave);
    addEventListener("dragover", hover);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragenter", enter);
      removeEventListener("dragleave", leave);
      removeEventListener("dragover", hover);
      removeEventListener("drop", drop);
    };
  }, []);
  return (
    <section class={over ? "drop over" : "drop"} aria-label={t.uploads}>
      <div class="drop-main">
        <Icon name="upload" />
        <p class="drop-title">{over ? t.dropNow : t.drop}</p>
        <p class="dim">{t.or}</p>
        <input ref={input} id="files" type="file" multiple class="hidden-text" tabIndex={-1} aria-hidden="true" onChange={(event) => {
          add(event.currentTarget.files ?? []);
          event.currentTarget.value = "";
        }} />
        <button type="button" class="primary" onClick={() => input.current?.click()}>
          {t.choose}
        </button>
      </div>
      <ServerPath />
      <div role="status">
        {already.value.map(({ name, dump }, at) => (
          <p class="note" key={at}>
            {t.already(shown(name))}
            <A href={`/dumps/${dump.id}`}>
              <Name text={dump.name} mono={false} />
            </A>
          </p>
        ))}
      </div>
    </section>
  );
}

/** A file that the server reads where it lies; only if it allows folders. */
function ServerPath() {
  const t = texts.value.start;
  const facts = useGet<ServerFacts>("server");
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const mayOpen = useMay("admin");
  const roots = facts.value?.allowed_roots ?? [];
  if (!roots.length || !mayOpen) return null;
  const open = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const path = String(new FormData(form).get("path") ?? "").trim();
    if (!path) return;
    setBusy(true);
    already.value = [];
    const before = listedIds();
    try {
      const dump = await send<Dump>("POST", "dumps", { path });
      if (dump) arrived(path, dump, before);
      setFailure(null);
      form.reset();
    } catch (error) {
      setFailure(failureOf(error));
    }
    setBusy(false);
  };
  return (
    <details class="server-path">
      <summary>{t.path}</summary>
      <form class="line" onSubmit={(event) => void open(event)}>
        <label class="grow">
          <span class="hidden-text">{t.pathLabel}</span>
          <input name="path" placeholder={t.pathLabel} autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit" disabled={busy}>
          {t.open}
        </button>
      </form>
      <p class="dim">{t.roots(roots.join(", "))}</p>
      {failure && <Problem failure={failure} />}
    </details>
  );
}
