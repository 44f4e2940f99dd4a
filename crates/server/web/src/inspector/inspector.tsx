// What is inside an object or class: at the side of every view, on a phone as a sheet.
import { useEffect, useRef } from "preact/hooks";
import type { Dump } from "../api/types";
import { classActions, objectActions } from "../grid/actions";
import { Copy } from "../parts/basics";
import { Icon } from "../parts/icon";
import { openMenu } from "../parts/menu";
import { address, go, setQuery } from "../route";
import { texts } from "../texts";
import { ClassBody } from "./class";
import { ObjectBody } from "./object";

export function closeInspector(dump: string): void {
  // Addresses of objects and classes have no parameter to remove.
  if (address.value.query.has("select")) setQuery({ select: null, show: null });
  else go(`/dumps/${dump}`);
}

export function Inspector({ dump, select }: { dump: Dump; select: string }) {
  const t = texts.value;
  const isClass = select.startsWith("class:");
  const id = isClass ? select.slice(6) : select;
  const body = useRef<HTMLElement>(null);
  const opener = useRef<Element | null>(null);
  useEffect(() => {
    body.current?.scrollTo({ top: 0 });
    // A link within the inspector opens the next object, and is gone by then.
    const { activeElement } = document;
    if (!body.current?.contains(activeElement)) opener.current = activeElement;
  }, [select]);
  const close = () => {
    closeInspector(dump.id);
    const back = opener.current;
    const target = back instanceof HTMLElement && back.isConnected && back !== document.body ? back : document.getElementById("main");
    target?.focus({ preventScroll: true });
  };
  const items = isClass ? classActions(dump.id, id, null) : objectActions(dump.id, id);
  return (
    <aside class="inspector" aria-label={t.inspector.title} ref={body} tabIndex={-1} onKeyDown={(event) => event.key === "Escape" && !event.defaultPrevented && close()}>
      <div class="inspector-head">
        <span class="mono id">{id}</span>
        <Copy text={id} label={t.actions.copy} />
        <Copy text={location.href} label={t.copyLink}>
          {t.copyLink}
        </Copy>
        <span class="spring" />
        <button type="button" class="bare" aria-haspopup="menu" aria-label={t.table.actions} onClick={(event) => openMenu(id, items, event.currentTarget)}>
          <Icon name="more" />
        </button>
        <button type="button" class="bare" aria-label={t.close} onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {isClass ? <ClassBody key={id} dump={dump} id={id} /> : <ObjectBody key={id} dump={dump} id={id} />}
    </aside>
  );
}
