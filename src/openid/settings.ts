/** Settings of the eauth system `oidc` in `external_auth`. Source: docs/external-auth.md, "Users of an OpenID provider". */
import { backendSetting } from "../config/external-auth.ts";
import type { ConfigMap, ConfigValue } from "../config/yaml/values.ts";

export type OidcSettings = {
  readonly issuer: string;
  /** Clients whose ID tokens are taken; the login in a browser asks as the first. */
  readonly audiences: readonly string[];
  readonly userClaim: string;
  readonly groupsClaim: string;
};

/** What the login in a browser needs besides. */
export type BrowserLogin = OidcSettings & {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** Scopes with a space between them. */
  readonly scope: string;
  readonly redirectUri: string;
  /** Where a browser begins the login. */
  readonly loginUrl: string;
  /** The page after the login, which ends with a slash. */
  readonly homeUrl: string;
  /** Where a browser ends the login here and at the provider; undefined where the provider's own one goes on. */
  readonly logoutUrl: string | undefined;
  /** How the browser then asks the provider. */
  readonly logoutMethod: "get" | "post";
};

/** Below the API's root. */
export const loginPath = "/login/oidc";
export const logoutPath = "/logout/oidc";
const callbackEnding = `${loginPath}/callback`;

/** Undefined for a setting that is missing or empty. */
function settingsOf(externalAuth: ConfigMap): (name: string) => ConfigValue | undefined {
  return (name) => backendSetting(externalAuth, "oidc", name) ?? undefined;
}

/** @throws Error with the reason why nothing can be checked */
export function readOidcSettings(externalAuth: ConfigMap): OidcSettings {
  const setting = settingsOf(externalAuth);
  const issuer = String(setting("issuer") ?? "");
  if (!isSafeUrl(issuer)) throw new Error("^issuer has to be the https address of an OpenID provider");
  const audiences = [setting("client_id") ?? [], setting("audience") ?? []].flat().map(String);
  if (audiences.length === 0) throw new Error("^client_id is missing");
  return {
    issuer,
    audiences,
    userClaim: String(setting("user_claim") ?? "preferred_username"),
    groupsClaim: String(setting("groups_claim") ?? "groups"),
  };
}

/** Undefined without `^redirect_uri`: there is no login in a browser then. @throws Error with the reason why it cannot work */
export function readBrowserLogin(externalAuth: ConfigMap): BrowserLogin | undefined {
  const setting = settingsOf(externalAuth);
  const redirectUri = setting("redirect_uri");
  if (redirectUri === undefined) return undefined;
  const settings = readOidcSettings(externalAuth);
  const clientId = setting("client_id");
  if (typeof clientId !== "string") throw new Error("^client_id has to be one text for the login in a browser");
  const secret = setting("client_secret");
  const scopes = [setting("scopes") ?? ["openid", "profile"]].flat().map(String);
  if (!scopes.includes("openid")) throw new Error("^scopes has to contain openid");
  const home = homeOf(redirectUri);
  const logout = setting("provider_logout") ?? false;
  if (typeof logout !== "boolean" && logout !== "post")
    throw new Error("^provider_logout has to be True, False or post");
  return {
    ...settings,
    clientId,
    clientSecret: secret === undefined ? undefined : String(secret),
    scope: scopes.join(" "),
    redirectUri: String(redirectUri),
    loginUrl: `${home}${loginPath}`,
    homeUrl: `${home}/`,
    logoutUrl: logout === false ? undefined : `${home}${logoutPath}`,
    logoutMethod: logout === "post" ? "post" : "get",
  };
}

/** The address of the API's root, without a slash at its end. */
function homeOf(redirectUri: unknown): string {
  const text = String(redirectUri);
  const url = isSafeUrl(text) ? new URL(text) : undefined;
  const isPlain = url?.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (url === undefined || !isPlain || !url.pathname.endsWith(callbackEnding))
    throw new Error(`^redirect_uri has to be the https address of this API that ends with ${callbackEnding}`);
  return `${url.origin}${url.pathname.slice(0, -callbackEnding.length)}`;
}

/** Without TLS only on this machine. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname));
}
