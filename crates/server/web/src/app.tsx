// The frame around every view: header, banner, the view that the address names, menus.
import { useEffect } from "preact/hooks";
import { connected, lastChange } from "./api/events";
import { signedOut } from "./api/client";
import { ComparePage } from "./compare";
import { ContinuousPage } from "./continuous/page";
import { DumpPage } from "./dump";
import { FleetPage } from "./fleet/page";
import { shown } from "./format";
import { LivePage } from "./live/page";
import { A, Empty } from "./parts/basics";
import { Boundary } from "./parts/boundary";
import { MenuHost } from "./parts/menu";
import { address } from "./route";
import { SignIn } from "./signin";
import { StartPage } from "./start/page";
import { choose, language, phaseName, texts, type Language } from "./texts";
import { chooseTheme, theme, type Theme } from "./theme";

export function App() {
  const t = texts.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        {t.skip}
      </a>
      <Header />
      {!connected.value && !signedOut.value && (
        <p class="banner" role="status">
          {t.offline}
        </p>
      )}
      <Boundary at={address.value.path}>{signedOut.value ? <SignIn /> : <View />}</Boundary>
      <MenuHost />
      <Announcer />
    </>
  );
}

function View() {
  const { path } = address.value;
  const parts = path.split("/").filter((part) => part);
  if (parts.length === 0) return <StartPage />;
  if (parts[0] === "dumps" && parts[1] && /^[0-9a-zA-Z_-]{1,64}$/.test(parts[1])) return <DumpPage key={parts[1]} id={parts[1]} rest={parts.slice(2).map(decode)} />;
  if (parts[0] === "compare" && parts[1] && parts.length === 2) return <ComparePage view={parts[1]} />;
  if (parts[0] === "continuous" && parts.length === 1) return <ContinuousPage />;
  if (parts[0] === "fleet" && parts.length < 3) return <FleetPage id={parts[1] ?? "services"} />;
  if (parts[0] === "jvms" && parts[1] && parts.length < 4) return <LivePage key={parts[1]} id={decode(parts[1])} view={parts[2] ?? "flame"} />;
  return <NotFound />;
}

const decode = (part: string) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

export function NotFound() {
  const t = texts.value;
  return (
    <main id="main" tabIndex={-1}>
      <Empty>
        <h1>{t.notFound.title}</h1>
        <p>{t.notFound.text}</p>
        <A href="/">{t.notFound.home}</A>
      </Empty>
    </main>
  );
}

function Header() {
  const t = texts.value;
  return (
    <header class="top">
      <A href="/" class="brand">
        <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true" focusable="false">
          <rect width="32" height="32" rx="7" class="brand-back" />
          <path d="M7 23h18v3H7zM7 17h12v4H7zM7 11h7v4H7zM7 5h4v4H7z" class="brand-front" />
        </svg>
        hprof-rs
      </A>
      <A href="/fleet" class="top-link" current={address.value.path.startsWith("/fleet")}>
        {t.fleet.title}
      </A>
      <A href="/continuous" class="top-link" current={address.value.path === "/continuous"}>
        {t.continuous.title}
      </A>
      <div class="top-place" id="top-place" />
      <div class="top-tools">
        <label>
          <span class="hidden-text">{t.language}</span>
          <select value={language.value} onChange={(event) => choose(event.currentTarget.value as Language)}>
            <option value="en" lang="en">
              English
            </option>
            <option value="zh" lang="zh-Hans">
              中文
            </option>
          </select>
        </label>
        <label>
          <span class="hidden-text">{t.theme.label}</span>
          <select value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}>
            <option value="auto">{t.theme.auto}</option>
            <option value="light">{t.theme.light}</option>
            <option value="dark">{t.theme.dark}</option>
          </select>
        </label>
      </div>
    </header>
  );
}

/** Tells readers of screens when a job changes its phase or ends. */
function Announcer() {
  const t = texts.value;
  const last = lastChange.value;
  const what = last ? (last.job.state === "running" ? phaseName(last.job.phase) : (t.states[last.job.state] ?? last.job.state)) : "";
  return (
    <div class="hidden-text" role="status" aria-live="polite">
      {last ? t.start.status(shown(last.dump.name), what) : ""}
    </div>
  );
}

/** The title of the window, and where the focus goes after a change of the view. */
export function useTitle(...parts: string[]): void {
  const title = [...parts, "hprof-rs"].map(shown).join(" \u2013 ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
