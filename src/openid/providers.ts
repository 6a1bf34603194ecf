/**
 * What OpenID providers say of themselves: where the login, the tokens and the keys are. Kept in memory for a while. Source: OpenID Connect Discovery
 * 1.0 section 4.
 */
import type { AuthorizationServer } from "oauth4webapi";
import { oidcFailureMs, oidcKeysMs } from "../limits.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { isSafeUrl } from "./settings.ts";

type Kept = { readonly found: Promise<AuthorizationServer>; readonly untilMs: number };

/** By issuer. The configuration names one. */
const kept = new Map<string, Kept>();

/**
 * Callers at the same time share one request. A failure is remembered for `oidcFailureMs`, so that a provider that is away is not asked for each login.
 *
 * @throws Error with the reason why the provider cannot be used
 */
export async function providerOf(issuer: string): Promise<AuthorizationServer> {
  const known = kept.get(issuer);
  if (known !== undefined && known.untilMs > Date.now()) return await known.found;
  const found = readDocument(issuer);
  kept.set(issuer, { found, untilMs: Date.now() + oidcKeysMs.most });
  found.catch(() => {
    if (kept.get(issuer)?.found === found) kept.set(issuer, { found, untilMs: Date.now() + oidcFailureMs });
  });
  return await found;
}

async function readDocument(issuer: string): Promise<AuthorizationServer> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let document: unknown;
  try {
    const response = await boundedFetch(address, { headers: { accept: "application/json" } });
    if (response.status !== 200) throw new Error(`HTTP ${response.status}`);
    document = await response.json();
  } catch (error) {
    throw new Error(`${address} gave no valid answer: ${(error as Error).message}`, { cause: error });
  }
  if (typeof document !== "object" || document === null) throw new Error(`${address} is not an object`);
  const named: Readonly<Record<string, unknown>> = { ...document };
  if (named.issuer !== issuer) throw new Error(`${address} is of another issuer`);
  for (const name of ["jwks_uri", "authorization_endpoint", "token_endpoint"])
    if (name in named && !isSafeUrl(String(named[name]))) throw new Error(`${address} has no https address in ${name}`);
  return named as AuthorizationServer;
}
