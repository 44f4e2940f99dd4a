// What is counted, and for which thread.
import type { ProfileFacts } from "../api/types";
import { percent, shown } from "../format";
import { setQuery } from "../route";
import { texts } from "../texts";

export function ProfileTools({ facts, dimension, thread }: { facts: ProfileFacts; dimension: string | null; thread: string | null }) {
  const t = texts.value.profile;
  if (facts.dimensions.length < 2 && facts.threads.length < 2) return null;
  return (
    <div class="tools-line">
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
      {facts.threads.length > 1 && (
        <label>
          {t.thread}{" "}
          <select value={thread ?? ""} onChange={(event) => setQuery({ thread: event.currentTarget.value, zoom: null })}>
            <option value="">{t.allThreads}</option>
            {facts.threads.map((item) => (
              <option key={item.key} value={item.key}>
                {shown(item.name)} ({percent((100 * item.total) / Math.max(1, facts.total))})
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}
