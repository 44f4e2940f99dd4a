// The flame graph: a canvas that is laid out as far as frames are wide enough, with keys, search and zoom.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flame } from "../api/types";
import { bytes, change, count, percent } from "../format";
import { Copy } from "../parts/basics";
import { Icon } from "../parts/icon";
import { texts } from "../texts";
import { isDark } from "../theme";
import { draw, ROW, topOf, type Look } from "./flame-draw";
import { followWay, kidsOf, layout, matched, rootOf, wayTo, writeWay, type FlameBox, type Frame, type Order } from "./flame-layout";
import { frameName, type Kind, kindOf } from "./names";
import { Tip } from "./tip";

export interface FlameState {
  zoom: string;
  search: string;
  order: Order;
  colours: "kind" | "package";
  icicle: boolean;
}

interface Props {
  flame: Flame;
  state: FlameState;
  set: (part: Partial<FlameState>) => void;
  /** Callers: the frame above is called by this one. */
  inverted: boolean;
  leavesAreClasses: boolean;
  /** More tools, at the end of the line. */
  children?: ComponentChildren;
}

/** Changes below this share of the whole never have the full colour. */
const LEAST_CHANGE = 0.05;
const LEAST_HEIGHT = 140;

export const amountOf = (unit: string) => (value: number) => (unit === "bytes" ? bytes(value) : `${count(value)} ${texts.value.profile.units[unit] ?? unit}`);

function flagsOf(flame: Flame, search: string): { flags: Uint8Array | null; bad: boolean } {
  if (!search) return { flags: null, bad: false };
  // Small letters find both, as in editors.
  const how = search === search.toLowerCase() ? "iu" : "u";
  let pattern: RegExp;
  let bad = false;
  try {
    pattern = new RegExp(search, how);
  } catch {
    bad = true;
    pattern = new RegExp(search.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), how);
  }
  return { flags: Uint8Array.from(flame.frames, (name) => (pattern.test(name) ? 1 : 0)), bad };
}

export function FlameGraph({ flame, state, set, inverted, leavesAreClasses, children }: Props) {
  const t = texts.value.profile;
  const scroll = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState<[number, number]>([0, 0]);
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState<Frame | null>(null);
  const [hover, setHover] = useState<{ box: FlameBox; x: number; y: number } | null>(null);
  const { order, icicle } = state;
  const root = useMemo(() => rootOf(flame), [flame, order]);
  const zoom = useMemo(() => followWay(root, state.zoom, flame, order) ?? root, [root, state.zoom]);
  const rows = useMemo(() => (size[0] > 0 ? layout(flame, zoom, root, size[0], order) : []), [flame, zoom, root, size[0]]);
  const { flags, bad } = useMemo(() => flagsOf(flame, state.search), [flame, state.search]);
  const total = useMemo(() => (flags ? matched(zoom.node, flags) : 0), [flags, zoom]);
  const differs = root.node.d !== undefined;
  const mostChange = useMemo(() => (differs ? Math.max(LEAST_CHANGE * root.node.v, ...kidsOf(root, flame, order).map((kid) => Math.abs(kid.node.d ?? 0))) : null), [root]);
  const kinds = useMemo(() => new Set(flame.frames.map((name) => kindOf(name, false))), [flame]);
  const look: Look = { dark: isDark(), byPackage: state.colours === "package", mostChange, flags, leavesAreClasses, icicle };
  const amount = amountOf(flame.unit);
  const full = rows.length * ROW;

  // The root, or the frame that is zoomed into, stays in sight until the user scrolls away from it. `top` is where the page
  // itself scrolled to.
  const held = useRef({ isPinned: true, top: 0, icicle, depth: 0 });
  Object.assign(held.current, { icicle, depth: zoom.depth });
  const pinned = (element: HTMLElement) => {
    // Frames outside of the zoomed one have the lower half at most.
    const left = Math.max(0, held.current.depth * ROW - element.clientHeight / 2);
    const most = Math.max(0, element.scrollHeight - element.clientHeight);
    return held.current.icicle ? Math.min(left, most) : Math.max(0, most - left);
  };
  const pin = () => {
    const element = scroll.current!;
    element.scrollTop = pinned(element);
    Object.assign(held.current, { isPinned: true, top: element.scrollTop });
  };
  const onScroll = (element: HTMLElement) => {
    setTop(element.scrollTop);
    setHover(null);
    if (element.scrollTop === held.current.top) return;
    Object.assign(held.current, { isPinned: Math.abs(pinned(element) - element.scrollTop) < 2, top: element.scrollTop });
  };

  useLayoutEffect(() => {
    const element = scroll.current!;
    const measure = () => {
      setSize([element.clientWidth, element.clientHeight]);
      // What is above and below takes its room later, and the box loses it at the end where the root is.
      if (held.current.isPinned) pin();
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const placed = useRef({ at: "", full: 0 });
  useLayoutEffect(() => {
    const element = scroll.current!;
    const at = state.zoom + icicle;
    // The outermost frames are what one begins with. A graph that grows stays where it is.
    if (placed.current.at !== at || placed.current.full === 0 || held.current.isPinned) pin();
    else if (!icicle) element.scrollTop += full - placed.current.full;
    placed.current = { at, full };
  }, [full, state.zoom, icicle]);
  useLayoutEffect(() => draw(canvas.current!, rows, top, look, chosen, hover?.box.narrow ? null : (hover?.box.frame ?? null), t.all));
  useEffect(() => {
    // The same frame in the new graph, if it has it.
    setChosen((old) => old && followWay(root, writeWay(old), flame, order, true));
  }, [root]);
  useEffect(() => {
    setHover((old) => {
      const box = old && boxAt(old);
      return box ? { ...old, box } : null;
    });
  }, [rows]);

  const boxAt = (at: { x: number; y: number }): FlameBox | null => {
    const place = canvas.current!.getBoundingClientRect();
    const y = at.y - place.top + top;
    const level = icicle ? Math.floor(y / ROW) : rows.length - 1 - Math.floor(y / ROW);
    const x = at.x - place.left;
    return rows[level]?.find((box) => x >= box.x && x < box.x + Math.max(1, box.w)) ?? null;
  };
  const zoomTo = (frame: Frame) => {
    setChosen(frame.above ? frame : null);
    set({ zoom: writeWay(frame) });
  };
  const choose = (frame: Frame) => {
    setChosen(frame);
    const element = scroll.current!;
    const y = topOf(frame.depth, rows.length, icicle);
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + ROW > element.scrollTop + element.clientHeight) element.scrollTop = y + ROW - element.clientHeight;
  };
  const step = (by: number) => {
    if (!flags) return;
    const seen = rows.flat().filter((box) => !box.narrow && !box.above && flags[box.frame.node.f]).map((box) => box.frame);
    if (!seen.length) return;
    const at = chosen ? seen.indexOf(chosen) : -1;
    choose(seen[at < 0 ? (by > 0 ? 0 : seen.length - 1) : (at + by + seen.length) % seen.length]!);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = chosen ?? zoom;
    const row = rows[at.depth] ?? [];
    const index = row.findIndex((box) => box.frame === at && !box.narrow);
    const { key } = event;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const by = key === "ArrowLeft" ? -1 : 1;
      for (let next = index + by; next >= 0 && next < row.length; next += by) {
        if (row[next]!.narrow) continue;
        choose(row[next]!.frame);
        break;
      }
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      if ((key === "ArrowDown") === icicle) {
        const next = rows[at.depth + 1]?.find((box) => !box.narrow && box.frame.above === at);
        if (next) choose(next.frame);
      } else if (at.above) choose(at.above);
    } else if (key === "Enter" || key === " ") zoomTo(at);
    else if (key === "Home" || key === "0") zoomTo(root);
    else if (key === "Escape") zoomTo(zoom.above ?? root);
    else if (key === "n") step(1);
    else if (key === "N") step(-1);
    else return;
    event.preventDefault();
  };
  const facts = (box: { frame: Frame; narrow: number; value: number }): [string, string] => {
    const all = root.node.v || 1;
    if (box.narrow) return [t.narrow(count(box.narrow)), `${amount(box.value)}, ${t.ofAll(percent((100 * box.value) / all))}; ${t.zoomIn}`];
    const { node, above, name } = box.frame;
    const parts = [`${amount(node.v)}, ${t.ofAll(percent((100 * node.v) / all))}`];
    if (above?.above && !inverted) parts.push(t.ofParent(percent((100 * node.v) / (above.node.v || 1))));
    if (node.s > 0 && node.s !== node.v) parts.push(`${t.self} ${amount(node.s)}`);
    if (node.d !== undefined) parts.push(`${t.change} ${change(node.d, amount)}`);
    return [above ? frameName(name) : t.all, parts.join("; ")];
  };
  const stack = chosen ? wayTo(chosen).map((frame) => frameName(frame.name)) : [];
  if (!inverted) stack.reverse();
  return (
    <div class="flame-part">
      <div class="tools-line" role="toolbar" aria-label={t.views["flame"]}>
        <Search value={state.search} bad={bad} onChange={(search) => set({ search })} onStep={step} />
        <button type="button" class="bare" aria-label={t.previous} title={t.previous} disabled={!flags} onClick={() => step(-1)}>↑</button>
        <button type="button" class="bare" aria-label={t.next} title={t.next} disabled={!flags} onClick={() => step(1)}>↓</button>
        <button type="button" disabled={!zoom.above} onClick={() => zoomTo(root)}>{t.reset}</button>
        <button type="button" aria-pressed={icicle} title={t.icicleHint} onClick={() => set({ icicle: !icicle })}>{t.icicle}</button>
        {children}
        <label>
          {t.order}{" "}
          <select value={order} onChange={(event) => set({ order: event.currentTarget.value as Order })}>
            <option value="heavy">{t.heavy}</option>
            <option value="name">{t.byName}</option>
          </select>
        </label>
        {!differs && (
          <label>
            {t.colours}{" "}
            <select value={state.colours} onChange={(event) => set({ colours: event.currentTarget.value as "kind" })}>
              <option value="kind">{t.byKind}</option>
              <option value="package">{t.byPackage}</option>
            </select>
          </label>
        )}
        {chosen && stack.length > 0 && <Copy text={stack.join("\n")} label={t.copyStack}>{t.copyStack}</Copy>}
        <span class="dim matched" role="status">{bad && `${t.badSearch} `}{flags ? t.matched(percent((100 * total) / (zoom.node.v || 1)), amount(total)) : ""}</span>
      </div>
      <div class="flame" ref={scroll} style={{ flexBasis: `${Math.max(full, ROW) + 2}px`, minHeight: `${Math.min(LEAST_HEIGHT, Math.max(full, ROW) + 2)}px` }} onScroll={(event) => onScroll(event.currentTarget)}>
        <div class="flame-room" style={{ height: `${Math.max(full, 1)}px` }}>
          <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription={t.views["flame"]} aria-label={t.graph} aria-describedby="flame-details" style={{ height: `${Math.min(size[1], Math.max(full, ROW))}px` }}
            onPointerMove={(event) => {
              if (event.pointerType === "touch") return;
              const box = boxAt(event);
              setHover(box ? { box, x: event.clientX, y: event.clientY } : null);
            }}
            onPointerLeave={() => setHover(null)}
            onClick={(event) => {
              const box = boxAt(event);
              if (box) zoomTo(box.frame);
            }}
            onKeyDown={onKey} />
        </div>
      </div>
      <p id="flame-details" class="flame-details" role="status">
        {!(root.node.v > 0) ? t.nothing : chosen ? <Facts facts={facts({ frame: chosen, narrow: 0, value: 0 })} /> : <span class="dim">{t.hint}</span>}
      </p>
      <Legend differs={differs} byPackage={look.byPackage} classes={leavesAreClasses} kinds={kinds} />
      {hover && <Tip x={hover.x} y={hover.y} facts={facts(hover.box)} />}
    </div>
  );
}

function Facts({ facts: [name, text] }: { facts: [string, string] }) {
  return (
    <>
      <b class="mono">{name}</b> <span class="dim">{text}</span>
    </>
  );
}

function Search(props: { value: string; bad: boolean; onChange: (value: string) => void; onStep: (by: number) => void }) {
  const t = texts.value.profile;
  const [typed, setTyped] = useState(props.value);
  useEffect(() => setTyped(props.value), [props.value]);
  useEffect(() => {
    if (typed === props.value) return;
    const timer = setTimeout(() => props.onChange(typed), 120);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <span class="with-icon">
      <Icon name="search" />
      <input type="search" class="filter" aria-label={t.search} placeholder={t.searchShort} aria-invalid={props.bad} spellcheck={false} autocomplete="off" value={typed} onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") props.onStep(event.shiftKey ? -1 : 1);
        }} />
    </span>
  );
}

function Legend({ differs, byPackage, classes, kinds }: { differs: boolean; byPackage: boolean; classes: boolean; kinds: Set<Kind> }) {
  const t = texts.value.profile;
  if (differs) return <p class="legend"><span class="key grew">{t.grew}</span><span class="key shrank">{t.shrank}</span></p>;
  if (byPackage) return null;
  return (
    <p class="legend">
      {t.kinds.map((kind, index) => ((index === 2 && !classes) || (index >= 4 && !kinds.has(index as Kind)) ? null : <span key={kind} class={"key kind-" + index}>{kind}</span>))}
    </p>
  );
}
