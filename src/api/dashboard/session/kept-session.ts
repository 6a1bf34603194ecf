/** Keeps the session in the browser's tab: a reload keeps the login, a closed tab forgets it. A session of a cookie is not kept here. */
import type { Session } from "./client.ts";

/** The part of the browser's `Storage` that is needed. */
type TabStorage = {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
};

const key = "saltworks.session";
const eauthKey = "saltworks.eauth";

/** Undefined without a session, and after its end. */
export function keptSession(storage: TabStorage, nowSeconds: number): Session | undefined {
  const text = storage.getItem(key);
  if (text === null) return undefined;
  const session: Session = JSON.parse(text);
  return session.expire > nowSeconds ? session : undefined;
}

export function keepSession(storage: TabStorage, session: Session): void {
  if (session.token !== undefined) storage.setItem(key, JSON.stringify(session));
  storage.setItem(eauthKey, session.eauth);
}

export function forgetSession(storage: TabStorage): void {
  storage.removeItem(key);
}

/** The eauth system of the last login. */
export function lastEauth(storage: TabStorage): string | null {
  return storage.getItem(eauthKey);
}
