// The JVMs of the server's machine, if the server lists them.
import { useEffect, useState } from "preact/hooks";
import { failureOf, getJson, send, type Failure } from "../api/client";
import { upsert } from "../api/events";
import type { Dump, Jvm, Page } from "../api/types";
import { duration } from "../format";
import { Name, Problem } from "../parts/basics";
import { texts } from "../texts";

const REFRESH = 10_000;

export function Jvms() {
  const t = texts.value.start;
  const [items, setItems] = useState<Jvm[] | null>(null);
  useEffect(() => {
    let timer = 0;
    let stopped = false;
    const load = async () => {
      try {
        const found = (await getJson<Page<Jvm>>("jvms")).items;
        if (stopped) return;
        setItems(found);
        timer = window.setTimeout(() => void load(), REFRESH);
      } catch {
        // A server that lists no JVMs answers 404 or 501: there is nothing to show.
        if (!stopped) setItems(null);
      }
    };
    void load();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, []);
  if (items === null) return null;
  return (
    <section aria-labelledby="jvms-title">
      <h2 id="jvms-title">{t.jvms}</h2>
      {!items.length && <p class="dim">{t.noJvms}</p>}
      <ul class="recent">
        {items.map((jvm) => (
          <JvmLine key={jvm.pid} jvm={jvm} />
        ))}
      </ul>
    </section>
  );
}

function JvmLine({ jvm }: { jvm: Jvm }) {
  const t = texts.value.start;
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const act = async (action: "dump" | "attach" | "detach") => {
    setBusy(true);
    setFailure(null);
    try {
      const found = await send<Dump>("POST", `jvms/${jvm.pid}/${action}`, action === "attach" ? { options: "" } : {});
      if (action === "dump" && found) upsert(found);
    } catch (error) {
      setFailure(failureOf(error));
    }
    setBusy(false);
  };
  return (
    <li class="dump">
      <div class="dump-main">
        <p class="dump-title">
          <strong>
            <Name text={jvm.name} mono={false} />
          </strong>
          {jvm.agent && <span class="label">{t.attached}</span>}
        </p>
        <p class="dump-facts">
          <span>PID {jvm.pid}</span>
          <span>
            {t.jvmVersion} {jvm.version}
          </span>
          <span>
            {t.jvmUser} {jvm.user}
          </span>
          {jvm.uptime !== null && (
            <span>
              {t.jvmUptime} {duration(jvm.uptime)}
            </span>
          )}
        </p>
        {failure && <Problem failure={failure} />}
      </div>
      <div class="dump-tools">
        <button type="button" class="small" disabled={busy || !jvm.attachable} onClick={() => void act("dump")}>
          {busy ? t.dumping : t.dump}
        </button>
        <button type="button" class="small" disabled={busy || !jvm.attachable} onClick={() => void act(jvm.agent ? "detach" : "attach")}>
          {jvm.agent ? t.detach : t.attach}
        </button>
      </div>
    </li>
  );
}
