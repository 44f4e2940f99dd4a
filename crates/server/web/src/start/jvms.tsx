// The JVMs of the server's machine and those that stream to it, if the server lists them.
import { useEffect, useState } from "preact/hooks";
import { getJson, useGet } from "../api/client";
import type { Jvm, Page, ServerFacts } from "../api/types";
import { count, duration, shown } from "../format";
import { A, Name, sentence } from "../parts/basics";
import { texts } from "../texts";

const REFRESH = 10_000;
/** JVMs that are listed at once, so that analyses stay in sight. */
const MAX_SHOWN = 5;

export function Jvms() {
  // Browsers write each refused request to their console: one that must be refused is not sent.
  const offered = useGet<ServerFacts>("server").value?.jvms === true;
  return offered ? <List /> : null;
}

function List() {
  const t = texts.value.start;
  const [items, setItems] = useState<Jvm[] | null>(null);
  const [isWhole, setWhole] = useState(false);
  useEffect(() => {
    let timer = 0;
    const abort = new AbortController();
    const load = async () => {
      try {
        setItems((await getJson<Page<Jvm>>("jvms", abort.signal)).items);
      } catch {
        // The banner tells of a lost connection; the list stays as it was.
      }
      if (!abort.signal.aborted) timer = window.setTimeout(() => void load(), REFRESH);
    };
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  if (items === null) return null;
  // What is recorded first, then what can be; the newest of each first, as people come for what they have just started.
  const rank = (jvm: Jvm) => (jvm.live ? 0 : jvm.attachable ? 1 : 2);
  const age = (jvm: Jvm) => jvm.uptime ?? Number.MAX_SAFE_INTEGER;
  const sorted = [...items].sort((a, b) => rank(a) - rank(b) || age(a) - age(b) || (b.pid ?? 0) - (a.pid ?? 0));
  return (
    <section aria-labelledby="jvms-title">
      <h2 id="jvms-title">{t.jvms}</h2>
      {!items.length && <p class="dim">{t.noJvms}</p>}
      {items.length > 0 && (
        <ul class="recent">
          {(isWhole ? sorted : sorted.slice(0, MAX_SHOWN)).map((jvm) => (
            <JvmLine key={jvm.id} jvm={jvm} />
          ))}
        </ul>
      )}
      {!isWhole && sorted.length > MAX_SHOWN && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          {texts.value.table.moreRows(count(sorted.length - MAX_SHOWN))}
        </button>
      )}
    </section>
  );
}

function JvmLine({ jvm }: { jvm: Jvm }) {
  const t = texts.value;
  const s = t.start;
  const address = `/jvms/${encodeURIComponent(jvm.id)}`;
  return (
    <li class="dump">
      <div class="dump-main">
        <p class="dump-title">
          <A href={address}>
            <Name text={jvm.name} mono={false} />
          </A>
          {jvm.live ? <span class="label on">{s.recorded}</span> : jvm.agent && <span class="label">{s.attached}</span>}
          {jvm.container && <span class="label">{t.live.container}</span>}
          {jvm.place === "network" && <span class="label">{t.live.network}</span>}
        </p>
        <p class="dump-facts">
          {jvm.pid ? <span>PID {jvm.pid}</span> : null}
          {jvm.version && (
            <span>
              {s.jvmVersion} {shown(jvm.version)}
            </span>
          )}
          {jvm.user && (
            <span>
              {s.jvmUser} {shown(jvm.user)}
            </span>
          )}
          {jvm.host && <span>{shown(jvm.host)}</span>}
          {jvm.uptime !== null && (
            <span>
              {s.jvmUptime} {duration(jvm.uptime)}
            </span>
          )}
        </p>
        {!jvm.attachable && !jvm.live && jvm.reason && <p class="dim">{sentence(jvm.reason)}</p>}
      </div>
      {(jvm.attachable || jvm.live) && (
        <div class="dump-tools">
          <A href={address} class="button" label={`${s.openJvm}: ${shown(jvm.name)}`}>
            {s.openJvm}
          </A>
        </div>
      )}
    </li>
  );
}
