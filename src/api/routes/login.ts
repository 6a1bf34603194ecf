/** `/login` and `/logout`: a session is opened with a token of the master, and closing it removes both. */
import type { FastifyInstance } from "fastify";
import { apiLoginBodyBytesMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import { type Encodable, floatItem, type Value } from "../../wire/values.ts";
import { answerFormat } from "../http/accept.ts";
import { answer } from "../http/answer.ts";
import { ApiError } from "../http/errors.ts";
import { describeLoginSchema, loginSchema, logoutSchema } from "../schemas/sessions.ts";
import { sessionCookie } from "../sessions/carriers.ts";
import { closeSession } from "../sessions/close-session.ts";
import { type Api, bodyOf, identify } from "../sessions/context.ts";
import { badLoginText, type Credential, openSession } from "../sessions/open-session.ts";
import type { Session } from "../sessions/sessions.ts";
import { oidcRoutes } from "./oidc-login.ts";
import { oidcLogoutRoute } from "./oidc-logout.ts";

/** The SUSE client compares this text. */
const clearedText = "Your token has been cleared";

export function loginRoutes(app: FastifyInstance, api: Api): void {
  app.get("/login", { schema: describeLoginSchema }, async (request, reply) => {
    reply.header("www-authenticate", "Session");
    const ways = loginWays(api);
    const found = identify(api, request)?.session;
    const known = found === undefined ? {} : { session: shownSession(found), ...leaving(api, found) };
    return await answer(request, reply, { status: null, return: "Please log in", ...ways, ...known });
  });
  app.post("/login", { bodyLimit: apiLoginBodyBytesMax, schema: loginSchema }, async (request, reply) => {
    answerFormat(request.headers.accept);
    const { id, session } = await openSession(api, request, credentialIn(bodyOf(request)));
    reply.header("x-auth-token", id);
    reply.header("set-cookie", sessionCookie(id, session, api.settings.tls !== undefined, Date.now()));
    return await answer(request, reply, { return: [{ token: id, ...shownSession(session) }] });
  });
  if (api.oidc !== undefined) oidcRoutes(app, api, api.oidc);
  if (api.oidc?.logoutUrl !== undefined) oidcLogoutRoute(app, api, api.oidc);
  app.post("/logout", { bodyLimit: apiLoginBodyBytesMax, schema: logoutSchema }, async (request, reply) => {
    answerFormat(request.headers.accept);
    closeSession(api, request, reply);
    return await answer(request, reply, { return: clearedText });
  });
}

/** Which eauth systems can be used, and where a browser begins the login at an OpenID provider. No names of users. */
function loginWays({ config, oidc }: Api): Readonly<Record<string, Encodable>> {
  const eauth = Object.keys(config.external_auth).sort();
  return { eauth, ...(oidc === undefined ? {} : { oidc_login: oidc.loginUrl }) };
}

/** Where a browser ends a session together with the login at the provider. */
function leaving({ oidc }: Api, { atProvider }: Session): Readonly<Record<string, Encodable>> {
  return atProvider === undefined || oidc?.logoutUrl === undefined ? {} : { oidc_logout: oidc.logoutUrl };
}

/** What a login shows of a session, without its id. */
function shownSession({ user, eauth, start, expire, perms }: Session): Readonly<Record<string, Encodable>> {
  return { expire: floatItem(expire), start: floatItem(start), user, eauth, perms: perms as Value };
}

/** Reads one map, or a list with one. @throws ApiError 400, 401 if a member is missing */
export function credentialIn(body: Value | undefined): Credential {
  const chunk = Array.isArray(body) ? body[0] : body;
  if (!(chunk instanceof Map))
    throw new ApiError("ARGUMENT_INVALID", "A login is an object with username, password and eauth");
  const [username, password, eauth] = ["username", "password", "eauth"].map((name) => textField(chunk, name));
  // An empty password must not reach a directory, which would take it for an anonymous login.
  if (!username || !password || !eauth) throw new ApiError("LOGIN_FAILED", badLoginText);
  const asked = chunk.get("token_expire");
  return { username, password, eauth, ...(typeof asked === "number" ? { expireSeconds: asked } : {}) };
}
