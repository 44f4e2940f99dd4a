// The recording of a running JVM as it grows: timeline, flame graph, methods, call tree.
import { useGet } from "../api/client";
import type { LiveJvm, ProfileFacts } from "../api/types";
import { count, duration } from "../format";
import { Empty, Notes, Problem, Skeleton } from "../parts/basics";
import { amountOf } from "../pictures/flame-graph";
import { FlameView } from "../profile/flame";
import type { Source } from "../profile/source";
import { CallTree, Methods } from "../profile/tables";
import { busyParam, ProfileChoices } from "../profile/tools";
import { address, setQuery } from "../route";
import { texts } from "../texts";
import { Timeline } from "./timeline";

interface Props {
  id: string;
  jvm: LiveJvm;
  view: string;
  tick: string;
  isFrozen: boolean;
  /** True before anything is recorded. */
  isEmpty: boolean;
  freeze: (on: boolean) => void;
}

export function LiveProfile(props: Props) {
  const t = texts.value.live;
  const { jvm } = props;
  if (props.isEmpty) return <Empty>{jvm.modes.length ? t.waiting : jvm.can.record ? t.nothing : t.noRecord}</Empty>;
  return <Recording {...props} />;
}

function Recording({ id, jvm, view, tick, isFrozen, freeze }: Props) {
  const t = texts.value;
  const { query } = address.value;
  const asked = Number(query.get("last"));
  const last = Number.isFinite(asked) && asked > 0 ? Math.ceil(asked) : null;
  const source: Source = { api: "jvms/" + encodeURIComponent(id), page: "/jvms/" + encodeURIComponent(id), tick, params: { last: last === null ? null : String(last), ...busyParam() } };
  const range = last === null ? "" : "?last=" + last;
  const { value: facts, failure, again } = useGet<ProfileFacts>(`${source.api}/profile${range}`, tick);
  // Tables without a choice take the first of the moment: a switch of the clock changes it before the facts are here.
  const dimension = query.get("dimension") ?? facts?.dimensions[0]?.key ?? null;
  const thread = query.get("thread");
  const counted = facts?.dimensions.find((item) => item.key === dimension) ?? facts;
  return (
    <>
      <Timeline id={id} tick={tick} last={last} onPick={(seconds) => setQuery({ last: seconds === null ? null : String(seconds) }, true)}>
        <span class="dim" role="status">
          {facts && counted ? `${amountOf(counted.unit)(counted.total)}${facts.seconds === undefined ? "" : " " + t.live.in(duration(facts.seconds))}` : t.live.samples(count(jvm.samples))}
        </span>
        {facts && <ProfileChoices facts={facts} dimension={dimension} thread={thread} />}
        <span class="spring" />
        <button type="button" class="small" aria-pressed={isFrozen} disabled={!jvm.live} title={t.live.freezeHint} onClick={() => freeze(!isFrozen)}>
          {t.live.freeze}
        </button>
      </Timeline>
      {failure && <Problem failure={failure} again={again} />}
      {!facts && !failure && <Skeleton />}
      {facts && (
        <>
          <Notes notes={facts.notes} />
          {view === "flame" && <FlameView alone source={source} facts={facts} dimension={dimension} thread={thread} />}
          {view === "methods" && <Methods source={source} dimension={query.get("dimension")} thread={thread} />}
          {view === "tree" && <CallTree source={source} dimension={query.get("dimension")} thread={thread} />}
        </>
      )}
    </>
  );
}
