// Methods with what they cost, and the call tree in both directions.
import type { Dump, Row } from "../api/types";
import { Table } from "../grid/table";
import { useAddressState } from "../heap/state";
import { Choice } from "../heap/table-page";
import type { MenuItem } from "../parts/menu";
import { address, setQuery, to } from "../route";
import { texts } from "../texts";

interface Props {
  dump: Dump;
  dimension: string | null;
  thread: string | null;
}

/** A name as a regular expression that finds nothing else. */
const exactly = (name: string) => "^" + name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + "$";

function actionsOf(dump: Dump, row: Row): MenuItem[] {
  const t = texts.value;
  const name = typeof row["name"] === "string" ? row["name"] : null;
  if (!name) return [];
  return [
    { label: t.profile.views["flame"]!, href: to(`/dumps/${dump.id}/flame`, { q: exactly(name) }) },
    { label: t.actions.copyName, copy: name },
  ];
}

export function Methods({ dump, dimension, thread }: Props) {
  const state = useAddressState();
  return <Table path={`dumps/${dump.id}/profile/methods`} params={{ dimension, thread }} state={state} label={texts.value.profile.views["methods"]!} actions={(row) => actionsOf(dump, row)} order="-self" files />;
}

export function CallTree({ dump, dimension, thread }: Props) {
  const t = texts.value.profile;
  const state = useAddressState();
  const invert = address.value.query.get("invert") === "1";
  return (
    <>
      <Choice label={t.direction} options={[["down", t.topDown], ["up", t.bottomUp]]} value={invert ? "up" : "down"} onPick={(value) => setQuery({ invert: value === "up" ? "1" : null })} />
      <Table key={String(invert)} path={`dumps/${dump.id}/profile/tree`} params={{ dimension, thread, invert: invert ? "true" : null }} state={state} label={t.views["tree"]!} tree actions={(row) => actionsOf(dump, row)} order="-total" />
    </>
  );
}
