/** Schemas of `/login`, `/logout` and `/token`. */
import {
  answers,
  bodies,
  bySession,
  type Components,
  closed,
  errors,
  listOf,
  mapOf,
  object,
  open,
  type RouteSchema,
  ref,
  text,
  texts,
} from "./forms.ts";
import { pageHeaderNames } from "./headers.ts";

const tags = ["sessions"];
const html = { "text/html": { schema: text } };
const seconds = { type: "number", description: "Unix time in seconds." };

const session = {
  expire: seconds,
  start: seconds,
  user: text,
  eauth: text,
  perms: {
    description: "What `external_auth` grants the user, as it is written there.",
    anyOf: [listOf({ type: ["string", "object"] }), mapOf({})],
  },
};

export const sessionComponents: Components = {
  Credentials: object(
    {
      username: { type: "string", minLength: 1 },
      password: { type: "string", minLength: 1, format: "password" },
      eauth: { type: "string", minLength: 1, description: "A backend of `external_auth`, such as `pam`." },
      token_expire: {
        type: ["number", "string", "null"],
        description: "Seconds that the token lives. The master decides who may choose them.",
      },
    },
    ["username", "password", "eauth"],
  ),
  Login: closed({
    token: { type: "string", pattern: "^[0-9a-f]{40}$", description: "The session's id." },
    ...session,
  }),
  Session: closed(session),
  Token: closed({
    start: seconds,
    expire: seconds,
    name: text,
    eauth: text,
    token: { type: "string", pattern: "^[0-9a-f]{64}$" },
  }),
};

const loginBody = { oneOf: [ref("Credentials"), { type: "array", items: ref("Credentials"), minItems: 1 }] };

export const describeLoginSchema: RouteSchema = {
  operationId: "describeLogin",
  summary: "Says how to log in, and whose session the request has.",
  tags,
  security: [{}, ...bySession],
  response: {
    200: answers(
      "The ways to log in.",
      closed(
        {
          status: { type: "null" },
          return: { const: "Please log in" },
          eauth: { ...texts, description: "Backends of `external_auth` that can be used." },
          oidc_login: { type: "string", description: "Where a browser begins the login at an OpenID provider." },
          session: ref("Session"),
          oidc_logout: {
            type: "string",
            description:
              "Where a browser posts a form to end its session together with its login at the OpenID provider.",
          },
        },
        ["status", "return"],
      ),
    ),
  },
  "x-headers": { 200: ["WWW-Authenticate"] },
  "x-errors": errors(),
};

const toBrowser: Pick<RouteSchema, "tags" | "security" | "x-error-page"> = {
  tags,
  security: open,
  "x-error-page": true,
};

const toBrowserHeaders = ["Cache-Control", "Location", "Referrer-Policy", "Set-Cookie"] as const;

export const beginProviderLoginSchema: RouteSchema = {
  ...toBrowser,
  operationId: "beginProviderLogin",
  summary: "Sends a browser to the OpenID provider.",
  response: { 303: { description: "To the provider.", type: "null" } },
  "x-headers": { 303: toBrowserHeaders },
  "x-errors": errors(502),
};

export const finishProviderLoginSchema: RouteSchema = {
  ...toBrowser,
  operationId: "finishProviderLogin",
  summary: "Opens a session with what a browser brings back from the OpenID provider.",
  querystring: object({ code: text, state: text, error: text }),
  response: { 303: { description: "The session is open.", type: "null" } },
  "x-headers": { 303: toBrowserHeaders },
  "x-errors": errors(401, 502),
};

export const leaveProviderSchema: RouteSchema = {
  ...toBrowser,
  operationId: "logoutAtProvider",
  summary: "Closes a browser's session, and sends the browser on to end its login at the OpenID provider.",
  security: bySession,
  response: {
    200: { description: "The session is closed. The page sends a form to the provider.", content: html },
  },
  "x-headers": { 200: ["Set-Cookie", ...pageHeaderNames] },
  "x-errors": errors(401, 413, 502),
};

export const loginSchema: RouteSchema = {
  operationId: "login",
  summary: "Opens a session.",
  description: "Credentials are in the body. The session lives as long as its token of the master.",
  tags,
  security: open,
  body: bodies(loginBody, ref("Credentials")),
  response: {
    200: answers(
      "The session is open.",
      closed({ return: { type: "array", items: ref("Login"), minItems: 1, maxItems: 1 } }),
    ),
  },
  "x-headers": { 200: ["Set-Cookie", "X-Auth-Token"] },
  "x-errors": errors(401, 413),
};

export const logoutSchema: RouteSchema = {
  operationId: "logout",
  summary: "Closes the session, and removes its token of the master.",
  tags,
  security: bySession,
  response: { 200: answers("The session is closed.", closed({ return: { const: "Your token has been cleared" } })) },
  "x-headers": { 200: ["Set-Cookie"] },
  "x-errors": errors(401, 413),
};

export const tokenSchema: RouteSchema = {
  operationId: "createToken",
  summary: "Makes a token of the master for `POST /run` and `salt_token`.",
  description: "Credentials are in the body.",
  tags,
  security: open,
  body: bodies({ oneOf: [ref("Credentials"), listOf(ref("Credentials"))] }, ref("Credentials")),
  response: { 200: answers("A token for each of the credentials.", listOf(ref("Token"))) },
  "x-errors": errors(401, 413),
};
