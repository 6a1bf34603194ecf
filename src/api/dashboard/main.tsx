/** The dashboard: shows the page that the address names, or the login without a session. */
import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { EventsPage } from "./pages/events.tsx";
import { FleetPage } from "./pages/fleet.tsx";
import { InstrumentsPage } from "./pages/instruments.tsx";
import { JobPage } from "./pages/job.tsx";
import { JobsPage } from "./pages/jobs.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { LoginPage } from "./pages/login.tsx";
import { MinionPage } from "./pages/minion.tsx";
import { RunPage } from "./pages/run.tsx";
import { ApiClient, type Session } from "./session/client.ts";
import { forgetSession, keepSession, keptSession } from "./session/kept-session.ts";
import { Shell } from "./shell.tsx";
import { type Place, placeOf } from "./views/place.ts";

function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash));
  useEffect(() => {
    const follow = () => setPlace(placeOf(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}

function Page({ place, client }: { readonly place: Place; readonly client: ApiClient }) {
  const { page, item } = place;
  if (page === "run") return <RunPage client={client} place={place} />;
  if (page === "jobs")
    return item === "" ? <JobsPage client={client} /> : <JobPage key={item} client={client} jid={item} />;
  if (page === "keys") return <KeysPage client={client} />;
  if (page === "events") return <EventsPage client={client} />;
  if (page === "instruments") return <InstrumentsPage client={client} />;
  return item === "" ? <FleetPage client={client} /> : <MinionPage key={item} client={client} id={item} />;
}

function Dashboard() {
  const place = usePlace();
  const [session, setSession] = useState<Session | undefined>(() => keptSession(sessionStorage, Date.now() / 1_000));
  const [notice, setNotice] = useState<string>();
  const [takesCookie, setTakesCookie] = useState(true);
  const end = (text?: string) => {
    forgetSession(sessionStorage);
    setSession(undefined);
    setTakesCookie(false);
    setNotice(text);
  };
  const client = useMemo(() => {
    const baseUrl = new URL(".", document.baseURI).href;
    const onSessionEnd = () => end("The session has ended. Log in again.");
    return new ApiClient({ baseUrl, fetch: fetch.bind(globalThis), session: () => session, onSessionEnd });
  }, [session]);
  if (session === undefined) {
    const begin = (begun: Session) => {
      keepSession(sessionStorage, begun);
      setSession(begun);
    };
    return <LoginPage client={client} notice={notice} takesCookie={takesCookie} onLogin={begin} />;
  }
  const logout = async () => {
    if (session.endsAtProvider === true) return post(client.leave());
    try {
      await client.logout();
      end();
    } catch (error) {
      end(`Logged out here, but the API did not confirm it: ${(error as Error).message}`);
    }
  };
  return (
    <Shell page={place.page} item={place.item} user={session.user} onLogout={() => void logout()}>
      <Page place={place} client={client} />
    </Shell>
  );
}

/** Sends the browser on with a form, as a link does with an address. */
function post(address: string): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = address;
  document.body.append(form);
  form.submit();
}

const root = document.querySelector("#page");
if (root !== null) {
  root.replaceChildren();
  render(<Dashboard />, root);
}
