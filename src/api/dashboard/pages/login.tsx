/** The login, with those of the eauth systems that the master has, and the way to its OpenID provider. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, Waiting } from "../parts/notices.tsx";
import { usePolled } from "../parts/polled.ts";
import type { ApiClient, Session } from "../session/client.ts";
import { lastEauth } from "../session/kept-session.ts";

type Props = {
  readonly client: ApiClient;
  readonly notice: string | undefined;
  /** Whether a session that the browser's cookie holds is taken up: not after a logout. */
  readonly takesCookie: boolean;
  readonly onLogin: (session: Session) => void;
};

export function LoginPage({ client, notice, takesCookie, onLogin }: Props) {
  const { value, error } = usePolled("login", 0, async () => {
    const welcome = await client.welcome();
    if (takesCookie && welcome.session !== undefined) onLogin(welcome.session);
    return welcome;
  });
  if (value?.session !== undefined && takesCookie) return null;
  // A program may give an ID token as the password; a user gets one only by the provider's page.
  const eauth = value?.eauth.filter((name) => name !== "oidc") ?? [];
  return (
    <main class="login">
      <h1>Saltworks</h1>
      <Failure text={error ?? notice} />
      {value === undefined && error === undefined && <Waiting />}
      {eauth.length > 0 && <PasswordLogin client={client} eauth={eauth} onLogin={onLogin} />}
      {value?.oidcLogin !== undefined && (
        <a class="button" href={value.oidcLogin}>
          Log in with OpenID
        </a>
      )}
      {value !== undefined && eauth.length === 0 && value.oidcLogin === undefined && (
        <p class="failure">The master has no eauth system: external_auth is empty.</p>
      )}
    </main>
  );
}

type PasswordProps = Pick<Props, "client" | "onLogin"> & { readonly eauth: readonly string[] };

function PasswordLogin({ client, eauth, onLogin }: PasswordProps) {
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  // A browser honours `autofocus` for the first login of a page only, and not for the one after a session's end.
  const user = useRef<HTMLInputElement>(null);
  useEffect(() => user.current?.focus(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(fields.get(name) ?? "");
    setBusy(true);
    setError(undefined);
    try {
      onLogin(await client.login({ username: text("username"), password: text("password"), eauth: text("eauth") }));
    } catch (failure) {
      setError((failure as Error).message);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event as SubmitEvent)}>
      <label>
        User
        <input name="username" autocomplete="username" required ref={user} />
      </label>
      <label>
        Password
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
      <label>
        Authentication (eauth)
        <select name="eauth" defaultValue={eauth.find((name) => name === lastEauth(sessionStorage)) ?? eauth[0]}>
          {eauth.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Failure text={error} />
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? "Logging in …" : "Log in"}
      </button>
    </form>
  );
}
