// What can be done with a dump: its files, its name, note and labels, deletion.
import { useState } from "preact/hooks";
import { API, failureOf, send, type Failure } from "../api/client";
import { upsert } from "../api/events";
import { useMay } from "../api/role";
import type { Dump } from "../api/types";
import { shown } from "../format";
import { Problem } from "../parts/basics";
import { Confirm, Dialog } from "../parts/dialog";
import { Icon } from "../parts/icon";
import { openMenu, type MenuItem } from "../parts/menu";
import { texts } from "../texts";

export function DumpActions({ dump, onDeleted }: { dump: Dump; onDeleted: () => void }) {
  const t = texts.value.dump;
  const [asked, setAsked] = useState<"edit" | "delete" | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const mayChange = useMay("uploader");
  const mayDelete = useMay("admin");
  const items: MenuItem[] = mayChange ? [{ label: t.edit, run: () => setAsked("edit") }] : [];
  if (dump.kind === "heap" && dump.job?.state === "done") {
    items.push({ label: t.report, href: `${API}/dumps/${dump.id}/report.html`, outside: true }, { label: t.reportJson, href: `${API}/dumps/${dump.id}/report`, outside: true });
  }
  if (dump.job?.state === "done") {
    const has = (kind: Dump["kind"], part: string) => dump.kind === kind || (dump.kind === "profile" && typeof dump.summary?.[part] === "number");
    if (has("gc_log", "collections")) items.push({ label: t.gcPage, href: `${API}/dumps/${dump.id}/gc.html`, outside: true });
    if (has("thread_dump", "dumps")) items.push({ label: t.stacksPage, href: `${API}/dumps/${dump.id}/stacks.html`, outside: true });
  }
  items.push({ label: t.download, href: `${API}/dumps/${dump.id}/file`, outside: true });
  if (mayDelete) items.push("line", { label: t.delete, run: () => setAsked("delete"), danger: true });
  const remove = () =>
    send("DELETE", "dumps/" + dump.id).then(
      () => {
        setAsked(null);
        onDeleted();
      },
      (error: unknown) => {
        setAsked(null);
        setFailure(failureOf(error));
      },
    );
  return (
    <>
      <button type="button" class="bare" aria-haspopup="menu" aria-label={t.actions(shown(dump.name))} onClick={(event) => openMenu(t.actions(dump.name), items, event.currentTarget)}>
        <Icon name="more" />
      </button>
      {failure && <Problem failure={failure} />}
      {asked === "edit" && <Edit dump={dump} onClose={() => setAsked(null)} />}
      {asked === "delete" && <Confirm title={t.deleteTitle} text={t.deleteText(shown(dump.name))} action={t.delete} onYes={() => void remove()} onClose={() => setAsked(null)} />}
    </>
  );
}

function Edit({ dump, onClose }: { dump: Dump; onClose: () => void }) {
  const t = texts.value;
  const [failure, setFailure] = useState<Failure | null>(null);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const labels: Record<string, string> = {};
    for (const line of String(form.get("labels") ?? "").split("\n")) {
      const at = line.indexOf("=");
      const key = (at < 0 ? line : line.slice(0, at)).trim();
      if (key) labels[key] = at < 0 ? "" : line.slice(at + 1).trim();
    }
    const rules = String(form.get("rules") ?? "").split("\n").map((line) => line.trim()).filter((line) => line);
    const body = { name: String(form.get("name") ?? ""), note: String(form.get("note") ?? ""), labels };
    const sent = dump.kind !== "heap" && dump.kind !== "unknown" ? body : { ...body, fail_above: rules };
    try {
      const found = await send<Dump>("PATCH", "dumps/" + dump.id, sent);
      upsert(found ?? { ...dump, ...body });
      onClose();
    } catch (error) {
      setFailure(failureOf(error));
    }
  };
  const lines = Object.entries(dump.labels).map(([key, value]) => `${key}=${value}`);
  return (
    <Dialog title={t.dump.editTitle} onClose={onClose}>
      <form onSubmit={(event) => void save(event)} class="fields">
        <label>
          {t.dump.nameLabel}
          <input name="name" required maxLength={255} defaultValue={dump.name} />
        </label>
        <label>
          {t.dump.noteLabel}
          <textarea name="note" rows={3} defaultValue={dump.note ?? ""} />
        </label>
        <label>
          {t.dump.labelsLabel}
          <textarea name="labels" rows={3} spellcheck={false} class="mono" defaultValue={lines.join("\n")} />
        </label>
        {(dump.kind === "heap" || dump.kind === "unknown") && (
          <label>
            {t.rules.label}
            <textarea name="rules" rows={3} spellcheck={false} class="mono" placeholder="retained:com.example.Cache=100MB" defaultValue={(dump.rules ?? []).map((rule) => rule.rule).join("\n")} />
          </label>
        )}
        {failure && <Problem failure={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" class="primary">
            {t.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
