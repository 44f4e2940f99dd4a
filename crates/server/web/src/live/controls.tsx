// What is recorded, what that costs, and the buttons: attach, modes, keep, dump, detach.
import { useRef, useState } from "preact/hooks";
import { failureOf, send, type Failure } from "../api/client";
import { upsert } from "../api/events";
import { useMay } from "../api/role";
import type { Dump, LiveJvm, Mode } from "../api/types";
import { bytes, duration, percent, shown } from "../format";
import { A, Notes, Problem, sentence } from "../parts/basics";
import { Confirm } from "../parts/dialog";
import { said } from "../texts/said";
import { texts } from "../texts";
import { setQuery } from "../route";
import { ClockDialog, DumpDialog, DumpProgress, KeepDialog, keptName } from "./dialogs";

const MODES: Mode[] = ["cpu", "wall", "alloc", "lock"];
/** A recording has one of them. */
const CLOCKS: Mode[] = ["cpu", "wall"];

interface Props {
  id: string;
  jvm: LiveJvm;
  take: (jvm: LiveJvm) => void;
  isEnded: boolean;
}

type Asked = "dump" | "keep" | "detach" | "wall" | "cpu" | null;

export function Controls({ id, jvm, take, isEnded }: Props) {
  const t = texts.value.live;
  const mayAct = useMay("admin");
  const [asked, setAsked] = useState<Asked>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [made, setMade] = useState<Dump | null>(null);
  // A clock may begin at any time, the others only with the recording.
  const offered = useRef(new Set<Mode>(jvm.place === "network" ? [] : CLOCKS)).current;
  for (const mode of jvm.modes) offered.add(mode);
  const act = async <T,>(action: string, body: unknown): Promise<T | null> => {
    setBusy(action);
    setFailure(null);
    setAsked(null);
    try {
      return await send<T>("POST", `jvms/${encodeURIComponent(id)}/${action}`, body);
    } catch (error) {
      setFailure(failureOf(error));
      return null;
    } finally {
      setBusy(null);
    }
  };
  const change = async (action: "attach" | "start" | "stop" | "detach", body: unknown) => {
    const now = await act<LiveJvm>(action, body);
    // An answer without a JVM says no more than that it is done.
    if (now && Array.isArray(now.modes)) take(now);
    else if (now !== null) take({ ...jvm, modes: [], live: action !== "detach" });
  };
  const make = async (action: "dump" | "keep", body: unknown) => {
    setMade(null);
    const dump = await act<Dump>(action, body);
    if (!dump) return;
    upsert(dump);
    setMade(dump);
    return dump;
  };
  // The agent counts by one clock: the other one begins the recording anew.
  const isOther = (mode: Mode) => CLOCKS.includes(mode) && jvm.clock !== null && jvm.clock !== mode;
  const begin = async (mode: Mode, keeps: boolean) => {
    setMade(null);
    if (keeps && !(await make("keep", { name: keptName(jvm) }))) return;
    setQuery({ dimension: null, zoom: null, thread: null, last: null }, true);
    await change("start", { modes: [mode] });
  };
  return (
    <section class="live-controls" aria-label={t.controls}>
      {isEnded && <p class="note">{t.ended}</p>}
      {!isEnded && jvm.ended && <p class="note">{sentence(jvm.ended)}</p>}
      <Notes notes={jvm.notes} />
      {mayAct && !isEnded && !jvm.live && jvm.can.record && <Attach jvm={jvm} busy={busy === "attach"} onAttach={(body) => void change("attach", body)} />}
      {!jvm.can.record && jvm.reason && <p class="note">{sentence(jvm.reason)}</p>}
      <div class="live-line">
        <State jvm={jvm} isEnded={isEnded} />
        {jvm.live && !isEnded && mayAct && (
          <div class="live-modes" role="group" aria-label={t.modes}>
            {MODES.filter((mode) => offered.has(mode)).map((mode) => {
              const isOn = jvm.modes.includes(mode);
              // Locks are recorded to the end; other modes stop and start.
              const stays = mode === "lock";
              return (
                <button key={mode} type="button" class={stays ? "small stays" : "small"} aria-pressed={isOn} disabled={busy !== null || stays} title={stays ? t.staysOn : t.modeAbout[mode]} onClick={() => (isOther(mode) ? setAsked(mode as "wall" | "cpu") : void change(isOn ? "stop" : "start", { modes: [mode] }))}>
                  {t.modeNames[mode]}
                </button>
              );
            })}
          </div>
        )}
        {jvm.cost && jvm.live && <Cost cost={jvm.cost} />}
        <span class="spring" />
        {mayAct ? (
          <div class="live-buttons">
            {(jvm.samples > 0 || jvm.live || jvm.ended !== null || (jvm.place === "network" && jvm.agent)) && (
              <button type="button" class="small" disabled={busy !== null} onClick={() => setAsked("keep")}>
                {t.keep}
              </button>
            )}
            {!isEnded && jvm.can.dump && (
              <button type="button" class="small" disabled={busy !== null} onClick={() => setAsked("dump")}>
                {t.dump}
              </button>
            )}
            {jvm.live && !isEnded && (
              <button type="button" class="small" disabled={busy !== null} onClick={() => setAsked("detach")}>
                {jvm.place === "network" ? t.unwatch : busy === "detach" ? t.detaching : t.detach}
              </button>
            )}
          </div>
        ) : (
          <span class="dim">{t.readOnly}</span>
        )}
      </div>
      {busy === "dump" && <DumpProgress id={id} name={jvm.name} />}
      {(busy === "start" || busy === "stop" || busy === "keep") && (
        <p class="hidden-text" role="status">
          {texts.value.loading}
        </p>
      )}
      {failure && <Problem failure={failure} />}
      {made && (
        <p class="note good" role="status">
          {t.made} <A href={`/dumps/${made.id}`}>{shown(made.name)}</A>
        </p>
      )}
      {asked === "dump" && <DumpDialog onYes={(live) => void make("dump", { live })} onClose={() => setAsked(null)} />}
      {asked === "keep" && <KeepDialog jvm={jvm} onYes={(name) => void make("keep", name ? { name } : {})} onClose={() => setAsked(null)} />}
      {(asked === "wall" || asked === "cpu") && <ClockDialog name={t.modeNames[asked]!} onYes={(keeps) => void begin(asked, keeps)} onClose={() => setAsked(null)} />}
      {asked === "detach" && <Confirm title={jvm.place === "network" ? t.unwatch : t.detachTitle} text={jvm.place === "network" ? t.unwatchText : t.detachText} action={jvm.place === "network" ? t.unwatch : t.detach} onYes={() => void change("detach", {})} onClose={() => setAsked(null)} />}
    </section>
  );
}

function State({ jvm, isEnded }: { jvm: LiveJvm; isEnded: boolean }) {
  const t = texts.value.live;
  const isRecording = jvm.live && !isEnded && jvm.modes.length > 0;
  const words = isEnded ? t.stateEnded : isRecording ? t.recording : jvm.live ? t.pausedState : jvm.ended !== null ? t.stateOver : jvm.agent ? t.agentLoaded : t.notAttached;
  const seconds = isRecording && jvm.since !== null ? (Date.now() - jvm.since) / 1000 : null;
  return (
    <span class={isRecording ? "live-state on" : "live-state"} role="status">
      {words}
      {seconds !== null && seconds >= 0 && <span class="dim"> {duration(seconds)}</span>}
    </span>
  );
}

function Cost({ cost }: { cost: NonNullable<LiveJvm["cost"]> }) {
  const t = texts.value.live;
  const parts = [cost.cpu_percent !== null && t.costCpu(percent(cost.cpu_percent)), cost.memory_bytes !== null && t.costMemory(bytes(cost.memory_bytes))].filter((part) => part);
  const text = said(cost.sentence);
  return (
    <span class="live-cost" title={shown(text)}>
      {parts.length ? `${t.cost}: ${parts.join(", ")}` : shown(text)}
    </span>
  );
}

/** The choice of modes for a JVM that is not recorded. */
function Attach({ jvm, busy, onAttach }: { jvm: LiveJvm; busy: boolean; onAttach: (body: { modes: Mode[]; options?: string }) => void }) {
  const t = texts.value.live;
  const isFar = jvm.place === "network";
  const [modes, setModes] = useState<Mode[]>(isFar ? jvm.offers : ["cpu"]);
  const [options, setOptions] = useState("");
  const toggle = (mode: Mode, on: boolean) => setModes(MODES.filter((item) => (item === mode ? on : modes.includes(item) && !(on && CLOCKS.includes(mode) && CLOCKS.includes(item)))));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const text = options.trim();
    onAttach({ modes, ...(text ? { options: text } : {}) });
  };
  if (!jvm.attachable && !jvm.agent) return jvm.reason ? <p class="note">{sentence(jvm.reason)}</p> : null;
  return (
    <form class="attach" onSubmit={submit}>
      <fieldset>
        <legend>{t.choose}</legend>
        {MODES.filter((mode) => jvm.offers.includes(mode)).map((mode) => (
          <label key={mode} class="attach-mode">
            <input type="checkbox" checked={modes.includes(mode)} onChange={(event) => toggle(mode, event.currentTarget.checked)} />
            <span>
              <b>{t.modeNames[mode]}</b>
              <span class="dim">{t.modeAbout[mode]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {!isFar && (
        <details>
          <summary>{t.options}</summary>
          <label class="fields">
            <span class="dim">{t.optionsHint}</span>
            <input class="mono" value={options} spellcheck={false} autocomplete="off" onInput={(event) => setOptions(event.currentTarget.value)} />
          </label>
        </details>
      )}
      <p class="attach-go">
        <button type="submit" class="primary" disabled={busy || !modes.length}>
          {isFar ? t.watch : busy ? t.attaching : t.attach}
        </button>
        <span class="dim">{isFar ? t.watchText : t.attachText}</span>
      </p>
    </form>
  );
}
