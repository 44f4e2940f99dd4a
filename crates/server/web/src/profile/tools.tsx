// What is counted, for which thread, and if threads that wait for work are among them.
import { useEffect } from "preact/hooks";
import type { ProfileFacts } from "../api/types";
import { percent, shown } from "../format";
import { address, setQuery } from "../route";
import { texts } from "../texts";
import { ThreadMenu } from "./threads-menu";

interface Props {
  facts: ProfileFacts;
  dimension: string | null;
  thread: string | null;
}

/** Threads that wait for work are hidden unless the address says otherwise. */
export const isBusy = () => address.value.query.get("idle") !== "1";

/** The parameter of requests for it. */
export const busyParam = () => ({ busy: isBusy() ? "true" : null });

export function ProfileTools(props: Props) {
  const { facts, dimension } = props;
  if (facts.dimensions.length < 2 && facts.threads.length < 2 && !waitsOf(facts, dimension)) return null;
  return (
    <div class="tools-line">
      <ProfileChoices {...props} />
    </div>
  );
}

const waitsOf = (facts: ProfileFacts, dimension: string | null) => facts.dimensions.find((item) => item.key === dimension)?.waits ?? 0;

/** The same without a line of its own. */
export function ProfileChoices({ facts, dimension, thread }: Props) {
  const t = texts.value.profile;
  return (
    <>
      {facts.dimensions.length > 1 && (
        <label>
          {t.dimension}{" "}
          <select value={dimension ?? ""} onChange={(event) => setQuery({ dimension: event.currentTarget.value, zoom: null })}>
            {facts.dimensions.map((item) => (
              <option key={item.key} value={item.key}>
                {shown(item.label)}
              </option>
            ))}
          </select>
        </label>
      )}
      {facts.threads.length > 1 && <ThreadMenu facts={facts} thread={thread} isBusy={isBusy()} onPick={(key) => setQuery({ thread: key, zoom: null })} />}
      <Waiting facts={facts} dimension={dimension} />
    </>
  );
}

/** The switch that hides threads that wait for work; key `w`, as in downloaded pages. */
function Waiting({ facts, dimension }: { facts: ProfileFacts; dimension: string | null }) {
  const t = texts.value.profile;
  const waits = waitsOf(facts, dimension);
  const total = facts.dimensions.find((item) => item.key === dimension)?.total ?? 0;
  const isOn = isBusy();
  const toggle = () => setQuery({ idle: isOn ? "1" : null, zoom: null });
  useEffect(() => {
    if (!waits) return;
    const onKey = (event: KeyboardEvent) => {
      const isText = event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key !== "w" || isText || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      toggle();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [waits > 0, isOn]);
  if (!waits) return null;
  return (
    <label class="check" title={t.hideWaitingHint}>
      <input type="checkbox" checked={isOn} onChange={toggle} /> {t.hideWaiting(percent((100 * waits) / Math.max(1, total)))}
    </label>
  );
}
