// Without a session the server answers nothing but this page.
import { useTitle } from "./app";
import { texts } from "./texts";

export function SignIn() {
  const t = texts.value;
  useTitle(t.token.title);
  const enter = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = String(new FormData(event.currentTarget as HTMLFormElement).get("token") ?? "").trim();
    // People paste the whole link as well.
    const token = /[?&]token=([^&\s]+)/.exec(typed)?.[1] ?? encodeURIComponent(typed);
    if (token) location.assign("/?token=" + token);
  };
  return (
    <main id="main" tabIndex={-1} class="narrow">
      <h1>{t.token.title}</h1>
      <p>{t.token.text}</p>
      <form class="line" onSubmit={enter}>
        <label class="grow">
          <span class="hidden-text">{t.token.label}</span>
          <input type="password" name="token" autocomplete="off" placeholder={t.token.label} />
        </label>
        <button type="submit" class="primary">
          {t.token.enter}
        </button>
      </form>
    </main>
  );
}
