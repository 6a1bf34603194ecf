/** `/login/oidc`: sends a browser to the OpenID provider, and opens a session with what it brings back. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SaltworksError } from "../../errors.ts";
import { apiSameErrorLogMs } from "../../limits.ts";
import { authorizationAddress, exchangeCode } from "../../openid/code-flow.ts";
import { type BrowserLogin, loginPath } from "../../openid/settings.ts";
import { addressKey } from "../../transport/zmtp/address.ts";
import { ApiError } from "../http/errors.ts";
import { beginProviderLoginSchema, finishProviderLoginSchema } from "../schemas/sessions.ts";
import { sessionCookie } from "../sessions/carriers.ts";
import type { Api } from "../sessions/context.ts";
import { beginVisit, endedVisit, visitOf } from "../sessions/oidc-visit.ts";
import { badLoginText, openSession } from "../sessions/open-session.ts";
import { errorPage } from "./error-page.ts";

const foreignText = "This login was not begun in this browser, or too long ago. Begin it again";
const deniedText = "The OpenID provider refused the login";
const providerText = "The OpenID provider gives no valid answer";

/** Addresses and pages of these routes hold codes, states and ID tokens. */
export const secretHeaders = { "cache-control": "no-store", "referrer-policy": "no-referrer" } as const;

/** The reason is for the log. The client learns only that the provider fails. */
export async function ofProvider<Result>(asked: Promise<Result>, text = providerText): Promise<Result> {
  try {
    return await asked;
  } catch (cause) {
    throw new SaltworksError("OPENID_PROVIDER_FAILED", text, {}, { cause });
  }
}

/** Logs a kind of refusal once in `apiSameErrorLogMs`. */
function refusalLog({ log }: Api): (kind: string, reason: string) => void {
  const last = new Map<string, number>();
  return (kind, reason) => {
    const nowMs = performance.now();
    if (nowMs - (last.get(kind) ?? Number.NEGATIVE_INFINITY) < apiSameErrorLogMs) return;
    last.set(kind, nowMs);
    log.warn({ reason }, `a login at the OpenID provider was not finished: ${kind}`);
  };
}

export function oidcRoutes(app: FastifyInstance, api: Api, login: BrowserLogin): void {
  const isSecure = new URL(login.redirectUri).protocol === "https:";
  const note = refusalLog(api);
  const config = { errorPage: errorPage(login.homeUrl) };

  app.get(loginPath, { config, schema: beginProviderLoginSchema }, async (request, reply) => {
    reply.headers(secretHeaders);
    const { secrets, challenge, cookie } = beginVisit(isSecure, Date.now());
    // The provider is asked for its document first, and may not answer.
    const address = await api.admission.exchanges.within(addressKey(request.ip), () =>
      ofProvider(authorizationAddress(login, secrets, challenge)),
    );
    return await reply.header("set-cookie", cookie).redirect(address, 303);
  });

  const finish = async (request: FastifyRequest, reply: FastifyReply) => {
    // A code is good for one try: the next one begins with another cookie.
    reply.headers({ ...secretHeaders, "set-cookie": endedVisit(isSecure) });
    const secrets = visitOf(request, isSecure, Date.now());
    if (secrets === undefined) throw new ApiError("LOGIN_FOREIGN", foreignText);
    const query = new URLSearchParams(request.url.slice(request.url.indexOf("?") + 1));
    const address = addressKey(request.ip);
    const outcome = await api.admission.exchanges.within(address, () =>
      ofProvider(exchangeCode(login, secrets, query)),
    );
    if (outcome.kind !== "token") {
      note(outcome.kind, outcome.reason);
      if (outcome.kind === "foreign") throw new ApiError("LOGIN_FOREIGN", foreignText);
      throw new ApiError("LOGIN_FAILED", outcome.kind === "denied" ? deniedText : badLoginText);
    }
    const { username, idToken } = outcome;
    const atProvider = login.logoutUrl === undefined ? {} : { atProvider: { idToken } };
    const credential = { username, password: idToken, eauth: "oidc", ...atProvider };
    const { id, session } = await openSession(api, request, credential);
    reply.header("set-cookie", sessionCookie(id, session, isSecure, Date.now()));
    // The address comes from the configuration alone.
    return await reply.redirect(login.homeUrl, 303);
  };
  app.get(`${loginPath}/callback`, { config, schema: finishProviderLoginSchema }, finish);
}
