// What is under the pointer. Placed through the style object, which the server's policy permits.
import { useLayoutEffect, useRef } from "preact/hooks";

export function Tip({ x, y, facts: [name, text] }: { x: number; y: number; facts: [string, string] }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tip = box.current!;
    const left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8));
    const below = y + 18;
    tip.style.setProperty("left", left + "px");
    tip.style.setProperty("top", (below + tip.offsetHeight < innerHeight ? below : Math.max(4, y - tip.offsetHeight - 12)) + "px");
  }, [x, y]);
  return (
    <div class="tip" ref={box} aria-hidden="true">
      <b class="mono">{name}</b>
      {text}
    </div>
  );
}
