// The flame graph of one profile; what is searched, zoomed and chosen is in the address.
import { useGet } from "../api/client";
import type { Flame, ProfileFacts } from "../api/types";
import { Notes, Problem, Skeleton } from "../parts/basics";
import { FlameGraph, type FlameState } from "../pictures/flame-graph";
import type { Order } from "../pictures/flame-layout";
import { address, setQuery } from "../route";
import type { Source } from "./source";
import { Methods } from "./tables";
import { texts } from "../texts";

/** `usual` is the order without a word in the address: by name, frames of a growing graph keep their places. */
export function useFlameState(usual: Order = "heavy"): [FlameState, (part: Partial<FlameState>) => void] {
  const { query } = address.value;
  const asked = query.get("order");
  const state: FlameState = {
    zoom: query.get("zoom") ?? "",
    search: query.get("q") ?? "",
    order: asked === "name" || asked === "heavy" ? asked : usual,
    colours: query.get("colours") === "package" ? "package" : "kind",
    icicle: query.get("icicle") === "1",
  };
  const set = (part: Partial<FlameState>) => {
    const changes: Record<string, string | null> = {};
    if (part.zoom !== undefined) changes["zoom"] = part.zoom;
    if (part.search !== undefined) changes["q"] = part.search;
    if (part.order) changes["order"] = part.order === usual ? null : part.order;
    if (part.colours) changes["colours"] = part.colours === "package" ? "package" : null;
    if (part.icicle !== undefined) changes["icicle"] = part.icicle ? "1" : null;
    // "Back" zooms out; it does not replay what was typed.
    setQuery(changes, part.zoom === undefined);
  };
  return [state, set];
}

export function flamePath(source: Source, view: "flame" | "compare", params: Record<string, string | null>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...source.params, ...params })) if (value) query.set(key, value);
  return `${source.api}/profile/${view}?${query}`;
}

/** `alone` leaves the height to the picture; otherwise the methods stand below it. */
export function FlameView({ source, facts, dimension, thread, alone = false }: { source: Source; facts: ProfileFacts; dimension: string | null; thread: string | null; alone?: boolean }) {
  const t = texts.value.profile;
  const [state, set] = useFlameState(source.tick === null ? "heavy" : "name");
  const invert = address.value.query.get("invert") === "1";
  const { value, failure, again } = useGet<Flame>(flamePath(source, "flame", { dimension, thread, least: "0.0005", invert: invert ? "true" : null }), source.tick);
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
      {value && !alone && <Methods source={source} dimension={dimension} thread={thread} />}
    </>
  );
}
