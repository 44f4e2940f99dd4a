// A table of the server with its tools: filter, number of rows, files; and what it says if it has none.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { API } from "../api/client";
import type { Row } from "../api/types";
import { count, shown } from "../format";
import { Empty, Notes, Problem, sentence, Skeleton } from "../parts/basics";
import type { MenuItem } from "../parts/menu";
import { texts } from "../texts";
import { Grid } from "./grid";
import type { Model } from "./model";
import { Remote } from "./remote";
import { Tree } from "./tree";

/** Where sort and filter are kept: in the address for a view, in the component for the inspector. */
export interface Kept {
  sort: string | null;
  filter: string;
  /** Which rows of a tree are expanded, as its model writes it. */
  open?: string;
  set: (part: { sort?: string | null; filter?: string; open?: string }) => void;
}

export function useLocalState(): Kept {
  const [state, setState] = useState<{ sort: string | null; filter: string }>({ sort: null, filter: "" });
  return { ...state, set: (part) => setState({ ...state, ...part }) };
}

export interface TableProps {
  /** Below /api/v1, without parameters. */
  path: string;
  params?: Record<string, string | null | undefined>;
  state: Kept;
  label: string;
  /** A tree: rows are expanded by `node`. */
  tree?: boolean;
  /** A tree whose rows are known by their names, as their nodes are places that change. */
  named?: boolean;
  start?: string | null;
  /** Changes when the server has more: what is shown is asked for again. */
  tick?: string | null;
  actions?: (row: Row) => MenuItem[];
  onPick?: (row: Row) => void;
  isSelected?: (row: Row) => boolean;
  most?: number;
  /** It shares its line with another part: rows are blocks where columns would be cut off. */
  beside?: boolean;
  /** Leaves the tools away while there is nothing to filter. */
  plain?: boolean;
  /** The order that the server gives without `sort`, for the arrow in the header. */
  order?: string;
  tools?: ComponentChildren;
  files?: boolean;
}

export function Table(props: TableProps) {
  const t = texts.value.table;
  const { path, state, tree, start } = props;
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(props.params ?? {})) if (value) query.set(key, value);
  if (state.sort) query.set("sort", state.sort);
  if (state.filter) query.set("filter", state.filter);
  const text = query.toString();
  const request = `${path}?${text}${text ? "&" : ""}`;
  const model = useMemo<Model>(
    () => (tree ? new Tree((node) => `${request}${node ? `node=${encodeURIComponent(node)}&` : ""}`, start ?? null, { named: props.named ?? false, open: state.open ?? "", onOpen: (open) => state.set({ open }) }) : new Remote(request)),
    [request, tree, start],
  );
  useEffect(() => () => model.stop(), [model]);
  useEffect(() => {
    if (props.tick) model.refresh?.();
  }, [model, props.tick]);
  void model.version.value;
  // Headers and columns of the last answer stay while the next is under way, so that nothing jumps.
  const last = useRef<Model | null>(null);
  if (model.ready) last.current = model;
  const shownModel = model.ready ? model : (last.current ?? model);
  const isEmpty = model.ready && model.total === 0 && !state.filter;
  return (
    <div class={props.most ? "table-part grows" : "table-part"}>
      {!isEmpty && <Notes notes={shownModel.notes} />}
      {isEmpty && shownModel.notes.length > 0 && (
        <Empty>
          {shownModel.notes.map((note) => (
            <p key={note}>{sentence(note)}</p>
          ))}
        </Empty>
      )}
      {!(isEmpty && shownModel.notes.length > 0) && !(props.plain && (isEmpty || (model.ready && model.total < 12 && !state.filter))) && (
        <div class="tools-line">
          {props.tools}
          <Filter value={state.filter} onChange={(filter) => state.set({ filter })} failed={model.failure?.problem.status === 400 && !!state.filter} />
          {!tree && model.ready && (
            <span class="dim rows" role="status">
              {t.rows(count(model.total))}
            </span>
          )}
          {props.files && !isEmpty && (
            <span class="files">
              <a href={`${API}/${request}format=csv`} download>
                {t.csv}
              </a>
              <a href={`${API}/${request}format=json`} download>
                {t.json}
              </a>
            </span>
          )}
        </div>
      )}
      {model.failure && <Problem failure={model.failure} again={() => model.again()} />}
      {!shownModel.ready && !model.failure && <Skeleton lines={10} />}
      {shownModel.ready && !(isEmpty && shownModel.notes.length > 0) && (
        <Grid model={shownModel} label={shown(props.label)} sort={state.sort ?? props.order ?? null} onSort={(sort) => state.set({ sort })} actions={props.actions} onPick={props.onPick} isSelected={props.isSelected}
          {...(props.most ? { most: props.most } : {})} beside={props.beside ?? false} empty={state.filter ? t.nothing : t.empty} />
      )}
    </div>
  );
}

/** The filter waits until typing pauses. */
function Filter({ value, onChange, failed }: { value: string; onChange: (value: string) => void; failed: boolean }) {
  const t = texts.value.table;
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The address changed: "back", or a link.
    if (value !== sent.current) {
      sent.current = value;
      setTyped(value);
    }
  }, [value]);
  useEffect(() => {
    if (typed === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed;
      onChange(typed);
    }, 250);
    return () => clearTimeout(timer);
  }, [typed]);
  return <input type="search" class="filter mono" placeholder={t.filter} aria-label={t.filter} aria-invalid={failed} title={failed ? t.badFilter : undefined} spellcheck={false} autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />;
}
