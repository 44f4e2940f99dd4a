// What keeps the heap alive, as areas. Each level is asked of the server when it is entered.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useGet } from "../api/client";
import type { Area, Dump, ObjectFacts } from "../api/types";
import { objectActions } from "../grid/actions";
import { bytes, percent, shown } from "../format";
import { A, Empty, Name, Problem, Skeleton } from "../parts/basics";
import { openMenu } from "../parts/menu";
import { squarify, type Box } from "../pictures/squarify";
import { address, setQuery, to, withQuery } from "../route";
import { texts } from "../texts";

const COLOURS = 8;
const TITLE = 18;

interface Placed extends Box<Area> {
  depth: number;
}

/** Equal classes have equal colours. */
function colourOf(name: string): number {
  let hash = 0;
  for (const letter of name.split(/[ @]/)[0] ?? "") hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return hash % COLOURS;
}

function place(area: Area, x: number, y: number, w: number, h: number, depth: number, out: Placed[]): void {
  // The small objects of an area have one place together, after all others.
  const children = [...area.children].sort((a, b) => Number(a.node === null) - Number(b.node === null) || b.bytes - a.bytes);
  for (const box of squarify(children, x, y, w, h, area.bytes)) {
    if (box.w < 3 || box.h < 3) continue;
    out.push({ ...box, depth });
    if (box.w > 50 && box.h > 44 && box.item.children.length) place(box.item, box.x + 3, box.y + TITLE, box.w - 6, box.h - TITLE - 3, depth + 1, out);
  }
}

export function Treemap({ dump }: { dump: Dump }) {
  const t = texts.value;
  const node = address.value.query.get("node");
  const { value, failure, again } = useGet<Area>(`dumps/${dump.id}/treemap?depth=3&least=0.002${node ? "&node=" + encodeURIComponent(node) : ""}`);
  const facts = useGet<ObjectFacts>(node ? `dumps/${dump.id}/objects/${encodeURIComponent(node)}` : null);
  const box = useRef<HTMLDivElement>(null);
  // The area to focus in the next map, as that of this one goes away: its node, or "" for the first.
  const next = useRef<string | null>(null);
  // True if the user leaves an area whose parent is not known yet.
  const [isLeaving, setLeaving] = useState(false);
  const [size, setSize] = useState<[number, number]>([0, 0]);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setSize([element.clientWidth, element.clientHeight]);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const areas = useMemo(() => {
    const out: Placed[] = [];
    if (value && size[0] > 0) place(value, 0, 0, size[0], size[1], 0, out);
    return out;
  }, [value, size]);
  const objectOf = (area: Area) => (area.node && /^0x[0-9a-f]+$/i.test(area.node) ? area.node : null);
  const enter = (area: Area) => {
    const object = objectOf(area);
    const isInspecting = address.value.query.has("select");
    // The areas of the innermost level come when it is entered.
    if (area.node) {
      next.current = "";
      // An inspector that is open goes along; one that opened here would take room from the map.
      setQuery({ node: area.node, ...(isInspecting ? { select: object, show: null } : {}) });
    } else if (object) setQuery({ select: object });
  };
  useEffect(() => setLeaving(false), [node]);
  useEffect(() => {
    if (!isLeaving || !node || (!facts.value && !facts.failure)) return;
    next.current = node;
    // The parent by its address: what "back" would do depends on the way here.
    setQuery({ node: facts.value?.dominator?.object ?? null });
  }, [isLeaving, node, facts.value, facts.failure]);
  useLayoutEffect(() => {
    if (next.current === null || !value || (value.children.length > 0 && !areas.length)) return;
    const at = Math.max(0, areas.findIndex(({ item }) => item.node === next.current));
    next.current = null;
    (box.current!.querySelectorAll<HTMLElement>(".area")[at] ?? box.current!).focus({ preventScroll: true });
  }, [areas]);
  return (
    <>
      <p class="crumbs">
        {node ? <A href={withQuery({ node: null })}>{t.tree.whole}</A> : <strong>{t.tree.whole}</strong>}
        {node && value && (
          <>
            {" › "}
            <strong>
              <Name text={value.name} />
            </strong>
          </>
        )}
        {value && <span class="dim"> {bytes(value.bytes)}</span>}
        {node && <A href={to(`/dumps/${dump.id}/dominators`, { node, select: node })}>{t.suspects.tree}</A>}
      </p>
      {failure && <Problem failure={failure} again={again} />}
      <div class="treemap" ref={box} role="group" tabIndex={-1} aria-label={t.views["treemap"]![0]} onKeyDown={(event) => {
        if (event.key !== "Backspace" || !node) return;
        event.preventDefault();
        setLeaving(true);
      }}>
        {!value && !failure && <Skeleton />}
        {value && !value.children.length && <Empty>{node ? t.treemap.innermost(bytes(value.bytes)) : t.table.empty}</Empty>}
        {areas.map(({ item, x, y, w, h, depth }, index) => {
          const name = item.node === null ? t.treemap.rest : shown(item.name);
          const text = `${name} ${bytes(item.bytes)}, ${percent(value!.bytes ? (100 * item.bytes) / value!.bytes : 0)}`;
          return (
            <button key={index} type="button" class={`area colour-${item.node === null ? "rest" : colourOf(item.name)} depth-${Math.min(3, depth)}`} title={text} aria-label={text} tabIndex={depth === 0 || (w > 90 && h > 30) ? 0 : -1}
              style={{ left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` }} onClick={() => enter(item)}
              onContextMenu={(event) => {
                const object = objectOf(item);
                if (!object) return;
                event.preventDefault();
                openMenu(item.name, objectActions(dump.id, object), { x: event.clientX, y: event.clientY });
              }}>
              {w > 34 && h > 16 && (
                <span>
                  {name} <b>{bytes(item.bytes)}</b>
                </span>
              )}
            </button>
          );
        })}
      </div>
      <p class="dim hint">{t.treemap.hint}</p>
    </>
  );
}
