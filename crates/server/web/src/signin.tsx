// Without a session the server answers nothing but this page. It stands at the address that was wanted, which is shown after it.
import { useState } from "preact/hooks";
import { useTitle } from "./app";
import { address } from "./route";
import { texts } from "./texts";

/** The server adds it to the address of a link whose token it refuses. */
const REFUSED = "signin";

export function SignIn() {
  const t = texts.value;
  const [refused, setRefused] = useState(address.value.query.has(REFUSED));
  const [busy, setBusy] = useState(false);
  const [isOffline, setOffline] = useState(false);
  useTitle(t.token.title);
  const signIn = async (token: string) => {
    setBusy(true);
    setOffline(false);
    try {
      // The answer to a good token is the cookie and a way on.
      const answer = await fetch("/?token=" + token, { credentials: "same-origin", redirect: "manual" });
      if (answer.type === "opaqueredirect") {
        const wanted = new URL(location.href);
        wanted.searchParams.delete(REFUSED);
        history.replaceState(null, "", wanted);
        location.reload();
        return;
      }
      setRefused(true);
    } catch {
      setOffline(true);
    }
    setBusy(false);
  };
  const enter = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = String(new FormData(event.currentTarget as HTMLFormElement).get("token") ?? "").trim();
    // People paste the whole link as well.
    const token = /[?&]token=([^&\s]+)/.exec(typed)?.[1] ?? encodeURIComponent(typed);
    if (token) void signIn(token);
  };
  return (
    <main id="main" tabIndex={-1} class="narrow">
      <h1>{t.token.title}</h1>
      {refused && (
        <p class="problem" role="alert">
          {t.token.refused}
        </p>
      )}
      {isOffline && (
        <p class="problem" role="alert">
          {t.offline}
        </p>
      )}
      <p>{t.token.text}</p>
      <form class="line" onSubmit={enter}>
        <label class="grow">
          <span class="hidden-text">{t.token.label}</span>
          <input type="password" name="token" autocomplete="off" placeholder={t.token.label} />
        </label>
        <button type="submit" class="primary" disabled={busy}>
          {t.token.enter}
        </button>
      </form>
    </main>
  );
}
