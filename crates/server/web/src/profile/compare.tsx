// Two profiles in one flame graph: red for what grew, blue for what shrank.
import { useGet } from "../api/client";
import type { Dump, Flame, Page, ProfileFacts } from "../api/types";
import { shown, time } from "../format";
import { A, Empty, Notes, Problem, Skeleton } from "../parts/basics";
import { FlameGraph } from "../pictures/flame-graph";
import { address, setQuery, to } from "../route";
import { texts } from "../texts";
import { flamePath, useFlameState } from "./flame";
import { counts, finished } from "./source";
import { busyParam } from "./tools";

export function CompareProfiles({ dump, facts, dimension, thread }: { dump: Dump; facts: ProfileFacts; dimension: string | null; thread: string | null }) {
  const t = texts.value;
  const [state, set] = useFlameState();
  const other = address.value.query.get("with");
  const list = useGet<Page<Dump>>("dumps?limit=200");
  const others = (list.value?.items ?? []).filter((item) => item.id !== dump.id && item.kind === "profile" && (!item.job || item.job.state === "done") && (item.id === other || counts(item, dimension)));
  // The server calls the profile in the path "before".
  const { value, failure, again } = useGet<Flame>(other ? flamePath(finished(other), "compare", { with: dump.id, dimension, thread, ...busyParam() }) : null);
  if (list.value && !others.length && !other) return <Empty>{t.profile.none}</Empty>;
  return (
    <>
      <div class="tools-line">
        <label>
          {t.profile.with}{" "}
          <select value={other ?? ""} onChange={(event) => setQuery({ with: event.currentTarget.value, zoom: null })}>
            <option value="">{t.profile.choose}</option>
            {others.map((item) => (
              <option key={item.id} value={item.id}>
                {shown(item.name)} ({time(item.uploaded_at)})
              </option>
            ))}
          </select>
        </label>
        {other && <A href={to(`/dumps/${encodeURIComponent(other)}/compare`, { with: dump.id, dimension, thread })}>{t.compare.swap}</A>}
        {!other && <span class="dim">{t.profile.chooseText}</span>}
      </div>
      {failure && <Problem failure={failure} again={again} />}
      {other && !value && !failure && <Skeleton />}
      {value && <Notes notes={value.notes} />}
      {value && <FlameGraph flame={value} state={state} set={set} inverted={false} leavesAreClasses={facts.kind === "allocation"} />}
    </>
  );
}
