/**
 * The authorization code flow with PKCE: the address that begins it, and the exchange of a code for an ID token. The signature is not checked here: the
 * master checks the token as it checks every other. Sources: OpenID Connect Core 1.0 section 3.1, RFC 7636, RFC 9207, RFC 9700.
 */
import {
  AuthorizationResponseError,
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  clockTolerance,
  customFetch,
  getValidatedIdTokenClaims,
  None,
  OperationProcessingError,
  processAuthorizationCodeResponse,
  ResponseBodyError,
  validateAuthResponse,
} from "oauth4webapi";
import { clockToleranceSeconds, idTokenAlgorithms } from "./accepted-tokens.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { providerOf } from "./providers.ts";
import type { BrowserLogin } from "./settings.ts";

/** What ties a login to one browser. `verifier` stays secret until the exchange. */
export type FlowSecrets = { readonly state: string; readonly nonce: string; readonly verifier: string };

/** `challenge`: the SHA-256 of the verifier, base64url. @throws Error with the reason why the provider cannot be used */
export async function authorizationAddress(
  login: BrowserLogin,
  { state, nonce }: FlowSecrets,
  challenge: string,
): Promise<string> {
  const { authorization_endpoint: endpoint } = await providerOf(login.issuer);
  if (endpoint === undefined) throw new Error(`${login.issuer} names no authorization_endpoint`);
  const address = new URL(endpoint);
  const asked = {
    response_type: "code",
    client_id: login.clientId,
    redirect_uri: login.redirectUri,
    scope: login.scope,
    state,
    nonce,
    code_challenge: challenge,
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  return address.href;
}

/**
 * `denied`: the provider, or the user there, refused. `foreign`: the answer belongs to another login. `refused`: the code or the token is not valid.
 * `reason` is for the log and holds no secret.
 */
export type CodeOutcome =
  | { readonly kind: "token"; readonly idToken: string; readonly username: string }
  | { readonly kind: "denied" | "foreign" | "refused"; readonly reason: string };

/**
 * Exchanges the code in a callback's query.
 *
 * @throws Error with the reason why the provider cannot be used
 */
export async function exchangeCode(
  login: BrowserLogin,
  { state, nonce, verifier }: FlowSecrets,
  query: URLSearchParams,
): Promise<CodeOutcome> {
  const provider = await providerOf(login.issuer);
  const client: Client = { client_id: login.clientId, [clockTolerance]: clockToleranceSeconds };
  let parameters: URLSearchParams;
  try {
    parameters = validateAuthResponse(provider, client, query, state);
  } catch (error) {
    return { kind: error instanceof AuthorizationResponseError ? "denied" : "foreign", reason: reasonOf(error) };
  }
  if (!parameters.has("code")) return { kind: "foreign", reason: "the answer has no code" };
  const response = await tokenRequest(login, provider, client, parameters, verifier);
  // A server error and a refused client secret are faults of the provider or of the configuration, not of this user.
  if (response.status >= 500 || response.status === 401)
    throw new Error(`the token endpoint of ${login.issuer} answered with HTTP ${response.status}`);
  try {
    const server = { ...provider, id_token_signing_alg_values_supported: [...idTokenAlgorithms] };
    const tokens = await processAuthorizationCodeResponse(server, client, response, { expectedNonce: nonce });
    const claims: Readonly<Record<string, unknown>> = { ...getValidatedIdTokenClaims(tokens) };
    const username = claims[login.userClaim];
    if (typeof username !== "string" || username === "")
      return { kind: "refused", reason: `the ID token has no text in the claim ${login.userClaim}` };
    return { kind: "token", idToken: String(tokens.id_token), username };
  } catch (error) {
    const isOfToken = error instanceof OperationProcessingError || error instanceof ResponseBodyError;
    if (isOfToken || error instanceof TypeError) return { kind: "refused", reason: reasonOf(error) };
    throw error;
  }
}

async function tokenRequest(
  login: BrowserLogin,
  provider: AuthorizationServer,
  client: Client,
  parameters: URLSearchParams,
  verifier: string,
): Promise<Response> {
  try {
    return await authorizationCodeGrantRequest(
      provider,
      client,
      clientAuth(login, provider),
      parameters,
      login.redirectUri,
      verifier,
      {
        [customFetch]: async (url, init) => await boundedFetch(url, init as RequestInit),
        // Settings and discovery allow plain HTTP on loopback alone.
        [allowInsecureRequests]: true,
      },
    );
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`the token endpoint of ${login.issuer} gave no valid answer: ${message}`, { cause: error });
  }
}

/** How this client proves itself: by the way that the provider names, `client_secret_basic` where it names none. */
function clientAuth({ clientSecret, issuer }: BrowserLogin, provider: AuthorizationServer): ClientAuth {
  if (clientSecret === undefined) return None();
  const ways = provider.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  if (ways.includes("client_secret_basic")) return ClientSecretBasic(clientSecret);
  if (ways.includes("client_secret_post")) return ClientSecretPost(clientSecret);
  throw new Error(`${issuer} takes no client secret; it takes ${ways.join(", ")}`);
}

/** The library's errors carry whole answers as their cause: only their sentence goes on. */
function reasonOf(error: unknown): string {
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError)
    return `${error.message}: ${error.error.slice(0, 100)}`;
  return (error as Error).message;
}
