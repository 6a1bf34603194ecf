/**
 * A login at an OpenID provider that a browser has begun. State, nonce and verifier are derived from a random value and the time in the browser's
 * cookie, so that this process keeps nothing for a visitor, and a restart breaks no login.
 */
import { createHash, hkdfSync, randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { apiOidcVisitMs } from "../../limits.ts";
import type { FlowSecrets } from "../../openid/code-flow.ts";
import { cookieOf } from "./carriers.ts";

const seedBytes = 32;
const secretBytes = 32;
const valueForm = /^[\w-]{43}\.\d{1,12}$/;

/** With TLS the prefix keeps other hosts of the domain from planting a cookie of theirs. */
function nameOf(isSecure: boolean): string {
  return isSecure ? "__Host-saltworks_oidc" : "saltworks_oidc";
}

function setCookie(isSecure: boolean, value: string, seconds: number): string {
  const attributes = `Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return `${nameOf(isSecure)}=${value}; ${attributes}`;
}

/** Changing the time in the cookie changes all of them, so that the provider's answer no longer fits. */
function secretsOf(value: string): FlowSecrets {
  const derive = (name: string) =>
    Buffer.from(hkdfSync("sha256", value, "", `saltworks oidc ${name}`, secretBytes)).toString("base64url");
  return { state: derive("state"), nonce: derive("nonce"), verifier: derive("verifier") };
}

export type Visit = { readonly secrets: FlowSecrets; readonly challenge: string; readonly cookie: string };

export function beginVisit(isSecure: boolean, nowMs: number): Visit {
  const value = `${randomBytes(seedBytes).toString("base64url")}.${Math.floor(nowMs / 1_000)}`;
  const secrets = secretsOf(value);
  const challenge = createHash("sha256").update(secrets.verifier).digest("base64url");
  return { secrets, challenge, cookie: setCookie(isSecure, value, apiOidcVisitMs / 1_000) };
}

/** Undefined without a cookie, and for one that is older than `apiOidcVisitMs`. */
export function visitOf(request: FastifyRequest, isSecure: boolean, nowMs: number): FlowSecrets | undefined {
  const value = cookieOf(request, nameOf(isSecure));
  if (value === undefined || !valueForm.test(value)) return undefined;
  const ageMs = nowMs - Number(value.slice(value.indexOf(".") + 1)) * 1_000;
  return ageMs > apiOidcVisitMs || ageMs < -1_000 ? undefined : secretsOf(value);
}

export function endedVisit(isSecure: boolean): string {
  return setCookie(isSecure, "", 0);
}
