// A menu at a place on the screen; one is open at a time. Arrow keys, Home, End, Escape, first letters.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { shown } from "../format";
import { go } from "../route";
import { copyText } from "./basics";

export type MenuItem = { label: string; href: string; outside?: boolean } | { label: string; run: () => void; danger?: boolean } | { label: string; copy: string } | "line";

interface Open {
  title: string;
  items: MenuItem[];
  x: number;
  y: number;
  back: HTMLElement | null;
}

const open = signal<Open | null>(null);

/** Opens a menu below an element, or at a point. The focus returns to the element that had it. */
export function openMenu(title: string, items: MenuItem[], at: HTMLElement | { x: number; y: number }): void {
  const place = at instanceof HTMLElement ? at.getBoundingClientRect() : null;
  const back = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  open.value = { title, items, x: place ? place.right : (at as { x: number }).x, y: place ? place.bottom + 2 : (at as { y: number }).y, back };
}

function close(returns = true): void {
  const { back } = open.value ?? { back: null };
  open.value = null;
  if (returns) back?.focus();
}

function pick(item: MenuItem): void {
  if (item === "line") return;
  close();
  if ("copy" in item) void copyText(item.copy);
  else if ("run" in item) item.run();
}

export function MenuHost() {
  const menu = open.value;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const list = box.current;
    if (!menu || !list) return;
    const left = Math.max(8, Math.min(menu.x - 20, innerWidth - list.offsetWidth - 8));
    const top = menu.y + list.offsetHeight + 8 < innerHeight ? menu.y : Math.max(8, innerHeight - list.offsetHeight - 8);
    list.style.setProperty("left", left + "px");
    list.style.setProperty("top", top + "px");
    list.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [menu]);
  useEffect(() => {
    if (!menu) return;
    const away = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) close(false);
    };
    addEventListener("pointerdown", away);
    addEventListener("popstate", away);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("popstate", away);
    };
  }, [menu]);
  if (!menu) return null;
  const onKey = (event: KeyboardEvent) => {
    const all = [...box.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = (index: number) => all[(index + all.length) % all.length]?.focus();
    if (event.key === "ArrowDown") to(at + 1);
    else if (event.key === "ArrowUp") to(at - 1);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(all.length - 1);
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === " ") all[at]?.click();
    else if (event.key.length === 1) {
      const found = [...all.slice(at + 1), ...all.slice(0, at + 1)].find((item) => item.textContent?.toLowerCase().startsWith(event.key.toLowerCase()));
      if (!found) return;
      found.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" role="menu" aria-label={shown(menu.title)} ref={box} onKeyDown={onKey}>
      {menu.items.map((item, index) =>
        item === "line" ? (
          <hr key={index} />
        ) : "href" in item ? (
          <a key={index} role="menuitem" tabIndex={-1} href={item.href} onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey || item.outside) return close();
            event.preventDefault();
            close();
            go(item.href);
          }}>
            {item.label}
          </a>
        ) : (
          <button key={index} type="button" role="menuitem" tabIndex={-1} class={"danger" in item && item.danger ? "danger" : undefined} onClick={() => pick(item)}>
            {item.label}
          </button>
        ),
      )}
    </div>
  );
}
