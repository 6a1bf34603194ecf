/**
 * Backend `oidc`: an ID token of an OpenID provider stands for the password. The provider's keys are fetched when they are needed and again when a
 * token names an unknown one. Sources: OpenID Connect Core 1.0 section 3.1.3.7, RFC 8725.
 */
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from "jose";
import { oidcKeysMs, oidcTimeoutMs } from "../../../limits.ts";
import { clockToleranceSeconds, idTokenAlgorithms } from "../../../openid/accepted-tokens.ts";
import { boundedFetch } from "../../../openid/bounded-fetch.ts";
import { providerOf } from "../../../openid/providers.ts";
import { type OidcSettings, readOidcSettings } from "../../../openid/settings.ts";
import {
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "../contract/credential.ts";

type Keys = ReturnType<typeof createRemoteJWKSet>;

/** By address. The configuration names one provider. */
const keysOf = new Map<string, Keys>();

export async function checkOidc({ externalAuth }: CredentialConfig, task: CredentialTask): Promise<CredentialResult> {
  if (task.username === "" || task.password === "") return refused;
  let settings: OidcSettings;
  let keys: Keys;
  try {
    settings = readOidcSettings(externalAuth);
    keys = await providerKeys(settings.issuer);
  } catch (error) {
    return faulty(`external_auth:oidc: ${(error as Error).message}`);
  }
  try {
    const { issuer, audiences } = settings;
    const { payload, protectedHeader } = await jwtVerify(task.password, keys, {
      issuer,
      audience: [...audiences],
      algorithms: idTokenAlgorithms,
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ["exp", "iat", "sub"],
    });
    const isIdToken = protectedHeader.typ === undefined || protectedHeader.typ.toUpperCase() === "JWT";
    if (
      !isIdToken ||
      !isIssued(payload) ||
      !isForUs(payload, audiences) ||
      nameIn(payload, settings.userClaim) !== task.username
    )
      return refused;
    return { isAuthentic: true, groups: groupsIn(payload, settings.groupsClaim) };
  } catch (error) {
    if (isOfProvider(error)) return faulty(`external_auth:oidc: the keys of ${settings.issuer} cannot be fetched`);
    if (error instanceof errors.JOSEError) return refused;
    throw error;
  }
}

/** @throws Error if the provider does not say where its keys are */
async function providerKeys(issuer: string): Promise<Keys> {
  const { jwks_uri: uri } = await providerOf(issuer);
  if (uri === undefined) throw new Error(`${issuer} names no jwks_uri`);
  const known = keysOf.get(uri);
  if (known !== undefined) return known;
  const keys = createRemoteJWKSet(new URL(uri), {
    timeoutDuration: oidcTimeoutMs,
    cooldownDuration: oidcKeysMs.least,
    cacheMaxAge: oidcKeysMs.most,
    [customFetch]: async (url: string) => await boundedFetch(url),
  });
  keysOf.set(uri, keys);
  return keys;
}

/** A token from the future has a clock that is wrong, or a lifetime that is. */
function isIssued({ iat }: JWTPayload): boolean {
  return typeof iat === "number" && iat <= Date.now() / 1_000 + clockToleranceSeconds;
}

/** A token for several audiences names the one that asked for it. */
function isForUs({ aud, azp }: JWTPayload, audiences: readonly string[]): boolean {
  if (azp !== undefined) return typeof azp === "string" && audiences.includes(azp);
  return !Array.isArray(aud) || aud.length === 1;
}

/** An address of mail is a name only if the provider has verified it. */
function nameIn(payload: JWTPayload, claim: string): string | undefined {
  const name = payload[claim];
  if (typeof name !== "string" || (claim === "email" && payload.email_verified !== true)) return undefined;
  return name;
}

function groupsIn(payload: JWTPayload, claim: string): string[] {
  const groups = payload[claim];
  return Array.isArray(groups) ? groups.filter((group): group is string => typeof group === "string") : [];
}

/** Whether the keys could not be had. Other errors are of the token. */
function isOfProvider(error: unknown): boolean {
  // Of `boundedFetch`.
  if (!(error instanceof errors.JOSEError))
    return error instanceof TypeError || error instanceof RangeError || error instanceof DOMException;
  return (
    error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid || error.code === "ERR_JOSE_GENERIC"
  );
}
