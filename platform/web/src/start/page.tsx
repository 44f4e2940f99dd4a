// The start: files in, what is running, what was analysed.
import { useGet } from "../api/client";
import type { ServerFacts } from "../api/types";
import { useTitle } from "../app";
import { texts } from "../texts";
import { DropZone } from "./drop";
import { Jvms } from "./jvms";
import { Recent } from "./recent";
import { Running } from "./running";

export function StartPage() {
  const t = texts.value;
  useTitle(t.start.title);
  // Readers may not upload; until the role is known the place is kept.
  const role = useGet<ServerFacts>("server").value?.role;
  return (
    <main id="main" tabIndex={-1} class="start">
      <h1 class="hidden-text">{t.start.title}</h1>
      {role !== "reader" && <DropZone />}
      <Running />
      <Recent />
      <Jvms />
    </main>
  );
}
