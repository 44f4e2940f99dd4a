// The flame graph of one profile; what is searched, zoomed and chosen is in the address.
import { useGet } from "../api/client";
import type { Dump, Flame, ProfileFacts } from "../api/types";
import { Notes, Problem, Skeleton } from "../parts/basics";
import { FlameGraph, type FlameState } from "../pictures/flame-graph";
import { address, setQuery } from "../route";
import { Methods } from "./tables";
import { texts } from "../texts";

export function useFlameState(): [FlameState, (part: Partial<FlameState>) => void] {
  const { query } = address.value;
  const state: FlameState = {
    zoom: query.get("zoom") ?? "",
    search: query.get("q") ?? "",
    order: query.get("order") === "name" ? "name" : "heavy",
    colours: query.get("colours") === "package" ? "package" : "kind",
    icicle: query.get("icicle") === "1",
  };
  const set = (part: Partial<FlameState>) => {
    const changes: Record<string, string | null> = {};
    if (part.zoom !== undefined) changes["zoom"] = part.zoom;
    if (part.search !== undefined) changes["q"] = part.search;
    if (part.order) changes["order"] = part.order === "name" ? "name" : null;
    if (part.colours) changes["colours"] = part.colours === "package" ? "package" : null;
    if (part.icicle !== undefined) changes["icicle"] = part.icicle ? "1" : null;
    // "Back" zooms out; it does not replay what was typed.
    setQuery(changes, part.zoom === undefined);
  };
  return [state, set];
}

export function flamePath(dump: string, view: "flame" | "compare", params: Record<string, string | null>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) if (value) query.set(key, value);
  return `dumps/${encodeURIComponent(dump)}/profile/${view}?${query}`;
}

export function FlameView({ dump, facts, dimension, thread }: { dump: Dump; facts: ProfileFacts; dimension: string | null; thread: string | null }) {
  const t = texts.value.profile;
  const [state, set] = useFlameState();
  const invert = address.value.query.get("invert") === "1";
  const { value, failure, again } = useGet<Flame>(flamePath(dump.id, "flame", { dimension, thread, least: "0.0005", invert: invert ? "true" : null }));
  return (
    <>
      {failure && <Problem failure={failure} again={again} />}
      {!value && !failure && <Skeleton />}
      {value && <Notes notes={value.notes} />}
      {value && (
        <FlameGraph flame={value} state={state} set={set} inverted={invert} leavesAreClasses={facts.kind === "allocation"}>
          <button type="button" aria-pressed={invert} title={t.invertHint} onClick={() => setQuery({ invert: invert ? null : "1", zoom: null })}>
            {t.invert}
          </button>
        </FlameGraph>
      )}
      {value && <Methods dump={dump} dimension={dimension} thread={thread} />}
    </>
  );
}
