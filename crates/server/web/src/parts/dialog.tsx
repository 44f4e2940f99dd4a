// Modal dialogs: the browser's own element keeps the focus inside and gives it back.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { texts } from "../texts";

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current!;
    if (!dialog.open) dialog.showModal();
    return () => dialog.close();
  }, []);
  const outside = (event: MouseEvent) => {
    if (event.target === box.current) props.onClose();
  };
  return (
    <dialog ref={box} class={props.wide ? "wide" : undefined} aria-labelledby={id} onCancel={(event) => (event.preventDefault(), props.onClose())} onClick={outside}>
      <h2 id={id}>{props.title}</h2>
      {props.children}
    </dialog>
  );
}

/** Asks before something that cannot be undone. The safe button has the focus. */
export function Confirm(props: { title: string; text: string; action: string; onYes: () => void; onClose: () => void }) {
  const t = texts.value;
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <p>{props.text}</p>
      <div class="buttons">
        <button type="button" autofocus onClick={props.onClose}>
          {t.cancel}
        </button>
        <button type="button" class="danger" onClick={props.onYes}>
          {props.action}
        </button>
      </div>
    </Dialog>
  );
}
