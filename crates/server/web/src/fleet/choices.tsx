// What the views of the fleet share: the service, the size, and when to ask again.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { lastChange } from "../api/events";
import type { Row } from "../api/types";
import { shown } from "../format";
import { Choice } from "../heap/table-page";
import type { MenuItem } from "../parts/menu";
import { setQuery } from "../route";
import { texts } from "../texts";

/** Changes when an analysis is done, so that what is shown is asked for again. */
export function useDone(): string {
  const done = useRef("");
  const last = lastChange.value;
  if (last?.job.state === "done") done.current = String(last.job.id);
  return done.current || "0";
}

/** What can be done with a row about a class. */
export const nameActions = (row: Row): MenuItem[] => [{ label: texts.value.actions.copyName, copy: String(row["name"]) }];

/** A heading beside a row of buttons, which has it as its name. */
export function Labelled({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <span class="labelled">
      <span class="dim" aria-hidden="true">
        {label}
      </span>
      {children}
    </span>
  );
}

export function MeasureChoice({ value }: { value: string }) {
  const t = texts.value.fleet;
  return <Choice label={t.measure} options={["retained", "shallow"].map((by) => [by, t.measures[by]!])} value={value} onPick={(by) => setQuery({ by: by === "retained" ? null : by })} />;
}

const serviceName = (name: string) => (name === "unknown" ? `${name} (${texts.value.fleet.noLabel})` : shown(name));

/** The service in the address; with `all` there may be none. */
export function ServiceSelect({ services, value, all }: { services: string[]; value: string | null; all?: boolean }) {
  const t = texts.value.fleet;
  const names = value !== null && !services.includes(value) ? [...services, value] : services;
  return (
    <label>
      {t.service}{" "}
      <select value={value ?? ""} onChange={(event) => setQuery({ service: event.currentTarget.value, old: null, new: null })}>
        {all && <option value="">{t.allServices}</option>}
        {names.map((name) => (
          <option key={name} value={name}>
            {serviceName(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
