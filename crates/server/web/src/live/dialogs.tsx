// Questions before something that the JVM feels, and how far a dump is.
import { useState } from "preact/hooks";
import { dumping } from "../api/events";
import type { LiveJvm } from "../api/types";
import { bytes, shown, time } from "../format";
import { Dialog } from "../parts/dialog";
import { Progress } from "../start/running";
import { texts } from "../texts";

export function DumpDialog({ onYes, onClose }: { onYes: (live: boolean) => void; onClose: () => void }) {
  const t = texts.value;
  const [live, setLive] = useState(true);
  return (
    <Dialog title={t.live.dumpTitle} onClose={onClose}>
      <p>{t.live.dumpText}</p>
      <label class="check">
        <input type="checkbox" checked={live} onChange={(event) => setLive(event.currentTarget.checked)} /> {t.live.dumpLive}
      </label>
      <div class="buttons">
        <button type="button" autofocus onClick={onClose}>
          {t.cancel}
        </button>
        <button type="button" class="danger" onClick={() => onYes(live)}>
          {t.live.dump}
        </button>
      </div>
    </Dialog>
  );
}

/** The usual name of what is kept of a recording. */
export const keptName = (jvm: LiveJvm) => shown(`${jvm.name} ${time(Date.now())}`).slice(0, 200);

/** Before the other clock begins, with which what was recorded so far goes. */
export function ClockDialog({ name, onYes, onClose }: { name: string; onYes: (keeps: boolean) => void; onClose: () => void }) {
  const t = texts.value;
  const [keeps, setKeeps] = useState(true);
  return (
    <Dialog title={t.live.clockTitle(name)} onClose={onClose}>
      <p>{t.live.clockText}</p>
      <label class="check">
        <input type="checkbox" checked={keeps} onChange={(event) => setKeeps(event.currentTarget.checked)} /> {t.live.clockKeep}
      </label>
      <div class="buttons">
        <button type="button" onClick={onClose}>
          {t.cancel}
        </button>
        <button type="button" class="primary" autofocus onClick={() => onYes(keeps)}>
          {t.live.clockSwitch}
        </button>
      </div>
    </Dialog>
  );
}

export function KeepDialog({ jvm, onYes, onClose }: { jvm: LiveJvm; onYes: (name: string) => void; onClose: () => void }) {
  const t = texts.value;
  const [name, setName] = useState(() => keptName(jvm));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onYes(name.trim());
  };
  return (
    <Dialog title={t.live.keepTitle} onClose={onClose}>
      <form class="fields" onSubmit={submit}>
        <p>{t.live.keepText}</p>
        <label>
          {t.dump.nameLabel}
          <input autofocus required maxLength={255} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <div class="buttons">
          <button type="button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" class="primary">
            {t.live.keep}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The JVM tells nobody how large its dump will be: bytes, without a share. */
export function DumpProgress({ id, name }: { id: string; name: string }) {
  const t = texts.value.live;
  const written = dumping.value[id] ?? 0;
  return (
    <div class="running-item">
      <p class="running-facts" role="status">
        <span>{t.dumping}</span>
        {written > 0 && <span>{t.written(bytes(written))}</span>}
      </p>
      <Progress done={written} total={null} label={shown(name)} />
    </div>
  );
}
