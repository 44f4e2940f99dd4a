// A path from a root as a drawn line of steps.
import type { PathItem } from "../api/types";
import { selectObject } from "../grid/actions";
import { bytes, count, shown } from "../format";
import { A, Name } from "../parts/basics";
import { texts } from "../texts";
import { said } from "../texts/said";
import { useState } from "preact/hooks";

const MAX_STEPS = 24;

export function Path({ items, root, blame, end }: { items: PathItem[]; root?: string | null | undefined; blame?: string | null | undefined; end?: string | null | undefined }) {
  const t = texts.value;
  const [whole, setWhole] = useState(false);
  // Linked lists make paths of thousands of steps: their middle is shown on demand.
  const hide = !whole && items.length > MAX_STEPS ? items.length - MAX_STEPS : 0;
  const cut = MAX_STEPS / 2;
  return (
    <ol class="path">
      {items.map((item, index) => {
        if (hide && index === cut) {
          return (
            <li key="hidden" class="path-hidden">
              <button type="button" class="link" onClick={() => setWhole(true)}>
                {t.inspector.longPath(count(hide))}
              </button>
            </li>
          );
        }
        if (hide && index > cut && index <= cut + hide) return null;
        const step = (
          <li key={index} class={item.object === blame ? "blame" : item.object === end ? "end" : undefined}>
            {index === 0 && root && (
              <span class="label">
                {t.suspects.root}: {shown(said(root))}
              </span>
            )}
            {item.field && (
              <span class="edge">
                <Name text={item.field} /> <span aria-hidden="true">→</span>{" "}
              </span>
            )}
            <A href={selectObject(item.object)}>
              <Name text={item.name} />
            </A>
            {item.retained !== null && item.retained !== undefined && <span class="dim keeps">{t.suspects.keeps(bytes(item.retained))}</span>}
            {item.object === blame && <span class="label warn">{t.suspects.accumulation}</span>}
          </li>
        );
        // What the server leaves out lies before the step.
        const gap = item.more ? <li class="path-hidden dim">{t.inspector.leftOut(count(item.more))}</li> : null;
        return [gap, step];
      })}
    </ol>
  );
}
