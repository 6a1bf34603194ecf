import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { JWTPayload } from "jose";
import { ExchangeSlots } from "../../../src/api/admission/exchange-slots.ts";
import { ApiError } from "../../../src/api/http/errors.ts";
import { apiOidcExchangesMax, apiOidcExchangesOfAddressMax, oidcFailureMs } from "../../../src/limits.ts";
import { addressKey } from "../../../src/transport/zmtp/address.ts";
import { LittleProvider } from "../../openid/little-provider.ts";
import type { ApiSite } from "../api-site.ts";
import { homeUrl, redirectUri, startOidcSite } from "./site.ts";

const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

let provider: LittleProvider;
let site: ApiSite;

async function start(settings: Readonly<Record<string, string | string[]>> = {}, block = {}): Promise<void> {
  site = await startOidcSite(provider, settings, block, { file: { ann: ["test.*"] } });
}

const get = async (path: string, headers: Record<string, string> = {}) =>
  await site.fetch(path, { redirect: "manual", headers });

/** What a browser keeps of `Set-Cookie`, by name. */
function cookiesIn(answer: Response): ReadonlyMap<string, string> {
  const pairs = answer.headers.getSetCookie().map((line) => /^([^=]+)=([^;]*)/.exec(line) ?? assert.fail(line));
  return new Map(pairs.map(([, name = "", value = ""]) => [name, value]));
}

/** Begins a login. */
async function begin(): Promise<{ readonly address: string; readonly cookie: string }> {
  const answer = await get("/login/oidc");
  assert.equal(answer.status, 303);
  const [[name, value] = assert.fail("no cookie")] = [...cookiesIn(answer)];
  return { address: answer.headers.get("location") ?? "", cookie: `${name}=${value}` };
}

const finish = async (back: URL, cookie: string, headers = {}) =>
  await get(`/login/oidc/callback${back.search}`, { cookie, ...headers });

async function assertRefused(answer: Response, status: number, pattern: RegExp): Promise<void> {
  const body = await answer.text();
  assert.equal(answer.status, status, body);
  assert.match(body, pattern);
  assert.ok(!cookiesIn(answer).has("session_id"));
  assert.deepEqual(site.api.sessions.count, 0);
}

const foreign = /not begun in this browser/;
const unknown = /Could not authenticate/;
const failing = /provider gives no valid answer/;

describe("the login at an OpenID provider", () => {
  beforeEach(async () => {
    provider = await LittleProvider.start();
  });
  afterEach(async () => {
    provider.close();
    await site.close();
  });

  it("sends the browser to the provider with all that binds its answer to this browser", async () => {
    await start({ "^scopes": ["openid", "groups"] });
    const answer = await get("/login/oidc");
    const address = new URL(answer.headers.get("location") ?? "");
    assert.equal(address.origin + address.pathname, `${provider.issuer}/auth`);
    const {
      state = "",
      nonce = "",
      code_challenge: challenge = "",
      ...others
    } = Object.fromEntries(address.searchParams);
    assert.deepEqual(others, {
      tenant: "1",
      response_type: "code",
      client_id: "salt",
      redirect_uri: redirectUri,
      scope: "openid groups",
      code_challenge_method: "S256",
    });
    for (const text of [state, nonce, challenge]) assert.match(text, /^[\w-]{43}$/);
    assert.equal(new Set([state, nonce, challenge]).size, 3);
    const [line = ""] = answer.headers.getSetCookie();
    assert.match(line, /^__Host-saltworks_oidc=[\w-]{43}\.\d+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    // Each login has values of its own.
    assert.notEqual(new URL((await begin()).address).searchParams.get("state"), state);
  });

  it("opens a session with the token that the code is worth, and goes to the dashboard", async () => {
    await start();
    const { address, cookie } = await begin();
    const answer = await finish(provider.authorize(address), cookie);
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, homeUrl]);
    const id = cookiesIn(answer).get("session_id") ?? "";
    assert.match(answer.headers.getSetCookie().join("\n"), /session_id=.*HttpOnly; SameSite=Lax; Secure/);
    assert.equal(cookiesIn(answer).get("__Host-saltworks_oidc"), "");
    const [made] = site.master.requests.filter((load) => load.get("cmd") === "mk_token");
    const asked = ["username", "eauth", "user", "client_address"].map((name) => made?.get(name));
    assert.deepEqual(asked, ["ann", "oidc", ":api", "127.0.0.1"]);
    assert.equal(String(made?.get("password")).split(".").length, 3);
    const known = await site.fetch("/login", { headers: { cookie: `session_id=${id}` } });
    const { session } = (await known.json()) as { readonly session: Record<string, unknown> };
    assert.deepEqual([session.user, session.eauth, session.token], ["ann", "oidc", undefined]);
  });

  it("proves itself with its secret in the way that the provider takes", async () => {
    for (const ways of [undefined, ["client_secret_post"]]) {
      provider.document = ways === undefined ? {} : { token_endpoint_auth_methods_supported: ways };
      provider.clientSecret = "plain-secret";
      await start({ "^client_secret": "plain-secret" });
      const { address, cookie } = await begin();
      assert.equal((await finish(provider.authorize(address), cookie)).status, 303, String(ways));
      await site.close();
      provider.close();
      provider = await LittleProvider.start();
    }
    await start({ "^client_secret": "wrong" });
    provider.clientSecret = "plain-secret";
    const { address, cookie } = await begin();
    await assertRefused(await finish(provider.authorize(address), cookie), 401, unknown);
  });

  it("refuses answers that this browser did not ask for", async () => {
    await start();
    const [mine, other] = [await begin(), await begin()];
    const back = () => provider.authorize(mine.address);
    const changed = (name: string, value: string) => {
      const url = back();
      url.searchParams.set(name, value);
      return url;
    };
    await assertRefused(await get(`/login/oidc/callback${back().search}`), 400, foreign);
    await assertRefused(await finish(back(), other.cookie), 400, foreign);
    await assertRefused(await finish(changed("state", "x"), mine.cookie), 400, foreign);
    await assertRefused(await finish(changed("iss", "https://other.example"), mine.cookie), 400, foreign);
    const old = mine.cookie.replace(/\.\d+$/, (time) => `.${Number(time.slice(1)) - 601}`);
    await assertRefused(await finish(back(), old), 400, foreign);
    await assertRefused(await get("/login/oidc/callback", { cookie: mine.cookie }), 400, foreign);
    assert.equal(provider.asked.token, 0);
    // The right one still works, once.
    const right = back();
    assert.equal((await finish(right, mine.cookie)).status, 303);
    const tokens = site.api.sessions.count;
    const again = await finish(right, mine.cookie);
    assert.deepEqual([again.status, site.api.sessions.count], [401, tokens]);
  });

  it("refuses ID tokens of another login, client, issuer, time, and without a signature", async () => {
    await start();
    const past = Math.floor(Date.now() / 1_000) - 3_600;
    const faults = [
      { nonce: "of another login" },
      { nonce: undefined },
      { iss: "https://other.example" },
      { aud: "other" },
      { aud: ["salt", "other"], azp: "other" },
      { exp: past },
      { preferred_username: undefined },
    ];
    for (const claims of faults) {
      const { address, cookie } = await begin();
      await assertRefused(await finish(provider.authorize(address, claims as JWTPayload), cookie), 401, unknown);
    }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    provider.document = { id_token_signing_alg_values_supported: ["none", "RS256"] };
    provider.forge = (claims) => `${part({ alg: "none" })}.${part(claims)}.`;
    const { address, cookie } = await begin();
    await assertRefused(await finish(provider.authorize(address), cookie), 401, unknown);
    assert.deepEqual(
      site.master.requests.filter((load) => load.get("cmd") === "mk_token"),
      [],
    );
    // The log has reasons, but no token and no code.
    assert.match(site.logged.join("\n"), /unexpected ID Token/);
    assert.doesNotMatch(site.logged.join("\n"), /eyJ/);
  });

  it("says that the provider refused, and repeats none of its words", async () => {
    await start();
    const { address, cookie } = await begin();
    const state = new URL(address).searchParams.get("state") ?? "";
    const query = new URLSearchParams({ state, error: "access_denied", error_description: "<b>why</b>" });
    const answer = await get(`/login/oidc/callback?${query}`, { cookie, ...browser });
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(answer.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    const page = await answer.text();
    assert.match(page, /The OpenID provider refused the login\./);
    assert.match(page, /href="https:\/\/salt\.example:8000\/"/);
    assert.doesNotMatch(page, /why|<script|style=/);
    assert.equal(answer.status, 401);
  });

  it("leads nowhere but to the dashboard of its configuration", async () => {
    await start();
    const evil = "redirect_uri=https://evil.example&next=//evil.example&return_to=https://evil.example";
    const first = await get(`/login/oidc?${evil}`, { host: "evil.example", "x-forwarded-host": "evil.example" });
    const address = first.headers.get("location") ?? "";
    assert.doesNotMatch(address, /evil/);
    const cookie = [...cookiesIn(first)].map((pair) => pair.join("="))[0] ?? "";
    const back = new URL(`${provider.authorize(address).href}&${evil}`);
    const last = await finish(back, cookie, { host: "evil.example" });
    assert.equal(last.headers.get("location"), homeUrl);
  });

  it("ends by a deadline while the provider hangs, at the begin and at the exchange", {
    timeout: 60_000,
  }, async (test) => {
    const waits = AbortSignal.timeout;
    test.mock.method(AbortSignal, "timeout", (ms: number) => waits.call(AbortSignal, Math.min(ms, 200)));
    await start();
    provider.hanging.add("document");
    await assertRefused(await get("/login/oidc"), 502, failing);
    // Logins of the next seconds fail without another request.
    await assertRefused(await get("/login/oidc"), 502, failing);
    assert.equal(provider.asked.document, 1);
    provider.hanging.clear();
    test.mock.timers.enable({ apis: ["Date"], now: Date.now() + oidcFailureMs });
    const { address, cookie } = await begin();
    provider.hanging.add("token");
    await assertRefused(await finish(provider.authorize(address), cookie), 502, failing);
    assert.equal(site.api.admission.exchanges.counters.underWay, 0);
  });

  it("that begins takes a place of its address, so that a provider that hangs leaves those of others", async () => {
    await start();
    const { exchanges } = site.api.admission;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const running = Array.from({ length: apiOidcExchangesOfAddressMax }, () =>
      exchanges.within(addressKey("127.0.0.1"), () => held),
    );
    await assertRefused(await get("/login/oidc"), 429, /Too many logins of this address/);
    assert.equal(provider.asked.document ?? 0, 0);
    release();
    await Promise.all(running);
    await begin();
  });

  it("reads no more of an answer than its bound", async () => {
    await start();
    provider.huge.add("document");
    await assertRefused(await get("/login/oidc"), 502, failing);
    assert.ok(provider.sentBytes < 10 * 1024 * 1024, String(provider.sentBytes));
    assert.match(site.logged.join("\n"), /more than 262144 bytes/);
  });

  it("is offered only where it is configured, beside the eauth systems, without names of users", async () => {
    await start();
    const shown = async () => await (await get("/login")).json();
    const welcome = { status: null, return: "Please log in", eauth: ["file", "oidc"] };
    assert.deepEqual(await shown(), { ...welcome, oidc_login: "https://salt.example:8000/login/oidc" });
    for (const wrong of ["http://salt.example/login/oidc/callback", "https://salt.example/other"]) {
      await site.close();
      await start({ "^redirect_uri": wrong });
      assert.deepEqual(await shown(), welcome);
      assert.equal((await get("/login/oidc")).status, 404);
      assert.match(site.logged.join("\n"), /\^redirect_uri has to be/);
    }
  });
});

describe("exchanges of codes under way", () => {
  it("have a bound, and one for an address", async () => {
    const slots = new ExchangeSlots();
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const status = (wanted: number) => (error: unknown) => error instanceof ApiError && error.status === wanted;
    const take = (address: string) => slots.within(address, () => held);
    const running = Array.from({ length: apiOidcExchangesOfAddressMax }, () => take("a"));
    await assert.rejects(take("a"), status(429));
    for (let rest = running.length; rest < apiOidcExchangesMax; rest += 1) running.push(take(`b${rest}`));
    await assert.rejects(take("c"), status(503));
    assert.deepEqual(slots.counters, { underWay: apiOidcExchangesMax, refused: 1, refusedOfAddress: 1 });
    release?.();
    await Promise.all(running);
    assert.equal(await slots.within("a", async () => "done"), "done");
  });
});
