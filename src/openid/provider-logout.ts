/** The end of a login at the provider itself, which a browser asks for. Source: OpenID Connect RP-Initiated Logout 1.0 section 2. */
import { providerOf } from "./providers.ts";
import { type BrowserLogin, isSafeUrl } from "./settings.ts";

/** What the browser sends, and where to. */
export type LogoutForm = {
  readonly method: BrowserLogin["logoutMethod"];
  readonly address: string;
  readonly fields: Readonly<Record<string, string>>;
};

/**
 * `idToken`: the token of the login. Without it a provider may ask the user which login ends, or refuse to send the browser back.
 *
 * @throws Error with the reason why the provider cannot be used
 */
export async function providerLogout(login: BrowserLogin, idToken: string | undefined): Promise<LogoutForm> {
  const { end_session_endpoint: address } = await providerOf(login.issuer);
  if (address === undefined) throw new Error(`${login.issuer} names no end_session_endpoint`);
  if (!isSafeUrl(address)) throw new Error(`${login.issuer} has no https address in end_session_endpoint`);
  const back = { client_id: login.clientId, post_logout_redirect_uri: login.homeUrl };
  const fields = idToken === undefined ? back : { id_token_hint: idToken, ...back };
  const method = login.logoutMethod;
  if (method === "post") return { method, address, fields };
  // A form that is sent by GET replaces the query of its address.
  const url = new URL(address);
  const query = Object.fromEntries(url.searchParams);
  return { method, address: `${url.origin}${url.pathname}`, fields: { ...query, ...fields } };
}
