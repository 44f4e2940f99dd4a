// Methods with what they cost, and the call tree in both directions.
import type { Row } from "../api/types";
import { Table } from "../grid/table";
import { useAddressState } from "../heap/state";
import { Choice } from "../heap/table-page";
import type { MenuItem } from "../parts/menu";
import { address, go, setQuery, to } from "../route";
import { texts } from "../texts";
import type { Source } from "./source";

interface Props {
  source: Source;
  dimension: string | null;
  thread: string | null;
}

/** A name as a regular expression that finds nothing else. */
const exactly = (name: string) => "^" + name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + "$";

function actionsOf({ source, dimension, thread }: Props, row: Row): MenuItem[] {
  const t = texts.value;
  const name = typeof row["name"] === "string" ? row["name"] : null;
  if (!name) return [];
  return [
    { label: t.profile.views["flame"]!, href: to(`${source.page}/flame`, { q: exactly(name), dimension, thread }) },
    { label: t.actions.copyName, copy: name },
  ];
}

export function Methods({ source, dimension, thread }: Props) {
  const state = useAddressState();
  // In the graph above the table, or in the view that has one.
  const pick = (row: Row) => {
    const name = String(row["name"] ?? "");
    if (!name) return;
    if (/\/(methods|tree)$/.test(address.value.path)) go(to(`${source.page}/flame`, { q: exactly(name), dimension, thread }));
    else setQuery({ q: exactly(name) }, true);
  };
  return <Table path={`${source.api}/profile/methods`} tick={source.tick} params={{ ...source.params, dimension, thread }} state={state} label={texts.value.profile.views["methods"]!} actions={(row) => actionsOf({ source, dimension, thread }, row)} onPick={pick} order="-own" files />;
}

export function CallTree({ source, dimension, thread }: Props) {
  const t = texts.value.profile;
  const state = useAddressState();
  const invert = address.value.query.get("invert") === "1";
  return (
    <>
      <Choice label={t.direction} options={[["down", t.topDown], ["up", t.bottomUp]]} value={invert ? "up" : "down"} onPick={(value) => setQuery({ invert: value === "up" ? "1" : null, open: null })} />
      <Table key={String(invert)} path={`${source.api}/profile/tree`} tick={source.tick} named params={{ ...source.params, dimension, thread, invert: invert ? "true" : null }} state={state} label={t.views["tree"]!} tree actions={(row) => actionsOf({ source, dimension, thread }, row)} order="-total" />
    </>
  );
}
