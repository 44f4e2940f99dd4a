// The start: files in, what is running, what was analysed.
import { useMay } from "../api/role";
import { useTitle } from "../app";
import { texts } from "../texts";
import { DropZone } from "./drop";
import { Jvms } from "./jvms";
import { Recent } from "./recent";
import { Running } from "./running";

export function StartPage() {
  const t = texts.value;
  useTitle(t.start.title);
  const mayUpload = useMay("uploader");
  return (
    <main id="main" tabIndex={-1} class="start">
      <h1 class="hidden-text">{t.start.title}</h1>
      {mayUpload && <DropZone />}
      <Running />
      <Jvms />
      <Recent />
    </main>
  );
}
