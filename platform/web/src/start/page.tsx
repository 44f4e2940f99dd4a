// The start: files in, what is running, what was analysed.
import { useTitle } from "../app";
import { texts } from "../texts";
import { DropZone } from "./drop";
import { Jvms } from "./jvms";
import { Recent } from "./recent";
import { Running } from "./running";

export function StartPage() {
  const t = texts.value;
  useTitle(t.start.title);
  return (
    <main id="main" tabIndex={-1} class="start">
      <h1 class="hidden-text">{t.start.title}</h1>
      <DropZone />
      <Running />
      <Recent />
      <Jvms />
    </main>
  );
}
