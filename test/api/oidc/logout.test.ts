import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ConfigMap } from "../../../src/config/yaml/values.ts";
import { apiIdTokenBytesMax } from "../../../src/limits.ts";
import { LittleProvider } from "../../openid/little-provider.ts";
import type { ApiSite } from "../api-site.ts";
import { homeUrl, startOidcSite } from "./site.ts";

const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const logoutUrl = `${homeUrl}logout/oidc`;
const leavingText = "Logged out here. The OpenID provider ends its own login next.";

let provider: LittleProvider;
let site: ApiSite;

async function start(settings: ConfigMap = { "^provider_logout": true }): Promise<void> {
  site = await startOidcSite(provider, settings, {}, { auto: { ann: ["test.*"] } });
}

/** @returns the cookie of a session that was opened by the provider's page */
async function logIn(claims = {}): Promise<string> {
  const begun = await site.fetch("/login/oidc", { redirect: "manual" });
  const [visit = ""] = begun.headers.getSetCookie().map((line) => line.split(";")[0]);
  const back = provider.authorize(begun.headers.get("location") ?? "", claims);
  const path = `/login/oidc/callback${back.search}`;
  const answer = await site.fetch(path, { redirect: "manual", headers: { cookie: visit } });
  const cookies = answer.headers.getSetCookie().map((line) => line.split(";")[0] ?? "");
  return cookies.find((text) => text.startsWith("session_id=")) ?? assert.fail("no session");
}

const leave = async (cookie: string, headers: Record<string, string> = {}) =>
  await site.fetch("/logout/oidc", { method: "POST", headers: { ...browser, cookie, ...headers } });
const welcome = async (cookie: string) =>
  (await (await site.fetch("/login", { headers: { cookie } })).json()) as Readonly<Record<string, unknown>>;

/** What the page's form sends. */
function fieldsIn(page: string): Readonly<Record<string, string | undefined>> {
  const found = page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return Object.fromEntries(
    [...found].map(([, name = "", value]) => [
      name,
      value?.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
    ]),
  );
}

describe("the logout at an OpenID provider", () => {
  beforeEach(async () => {
    provider = await LittleProvider.start();
    provider.document = { end_session_endpoint: `${provider.issuer}/end?tenant=1&x="><b>` };
  });
  afterEach(async () => {
    provider.close();
    await site.close();
  });

  for (const way of ["get", "post"] as const)
    it(`closes the session, and gives the provider its ID token and the way back, by ${way}`, async () => {
      await start({ "^provider_logout": way === "get" ? true : "post" });
      const cookie = await logIn();
      assert.equal((await welcome(cookie)).oidc_logout, logoutUrl);
      const answer = await leave(cookie);
      assert.equal(answer.status, 200);
      const page = await answer.text();
      assert.match(page, new RegExp(leavingText));
      const query = way === "post" ? "?tenant=1&#38;x=&#34;&#62;&#60;b&#62;" : "";
      assert.ok(page.includes(`<form method="${way}" action="${provider.issuer}/end${query}">`), page);
      const { id_token_hint: hint, ...others } = fieldsIn(page);
      const own = { client_id: "salt", post_logout_redirect_uri: homeUrl };
      assert.deepEqual(others, way === "post" ? own : { tenant: "1", x: '"><b>', ...own });
      const [made] = site.master.requests.filter((load) => load.get("cmd") === "mk_token");
      assert.equal(hint, made?.get("password"));
      assert.match(answer.headers.getSetCookie().join("\n"), /^session_id=; .*Max-Age=0/);
      assert.equal((await site.fetch("/stats", { headers: { cookie } })).status, 401);
      assert.equal(site.api.sessions.count, 0);
      assert.equal((await leave(cookie)).status, 401);
    });

  it("runs one script, lets no other page show it, and is kept nowhere", async () => {
    await start();
    const answer = await leave(await logIn());
    const script = /<script>(.*)<\/script>/.exec(await answer.text())?.[1] ?? "";
    const hash = createHash("sha256").update(script).digest("base64");
    const policy = answer.headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none';/);
    assert.ok(policy.includes(`script-src 'sha256-${hash}';`), policy);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /form-action|unsafe/);
    const kept = ["cache-control", "referrer-policy"].map((name) => answer.headers.get(name));
    assert.deepEqual(kept, ["no-store", "no-referrer"]);
  });

  it("outlives a restart of the API, and no file or log shows the ID token", async () => {
    await start();
    const cookie = await logIn();
    await site.restartApi();
    const { id_token_hint: hint } = fieldsIn(await (await leave(cookie)).text());
    assert.match(hint ?? "", /^eyJ/);
    assert.doesNotMatch(site.logged.join("\n"), /eyJ/);
  });

  it("ends the session here even if the provider fails or has no logout, and says what remains", async () => {
    for (const endpoint of [undefined, "http://169.254.169.254/end", "javascript:alert(1)"]) {
      provider.document = endpoint === undefined ? {} : { end_session_endpoint: endpoint };
      await start();
      const cookie = await logIn();
      const answer = await leave(cookie);
      assert.equal(answer.status, 502);
      const page = await answer.text();
      assert.match(page, /Logged out here, but not at the OpenID provider, which gives no valid answer\./);
      assert.doesNotMatch(page, /169\.254|javascript|eyJ/);
      assert.match(page, /<title>Logout failed/);
      assert.equal(site.api.sessions.count, 0);
      assert.match(site.logged.join("\n"), /end_session_endpoint/);
      await site.close();
      provider.close();
      provider = await LittleProvider.start();
    }
    await start();
  });

  it("goes without an ID token that is over its bound, and counts it", async () => {
    await start();
    const cookie = await logIn({ more: "x".repeat(apiIdTokenBytesMax) });
    const fields = fieldsIn(await (await leave(cookie)).text());
    assert.equal(fields.post_logout_redirect_uri, homeUrl);
    assert.equal(fields.id_token_hint, undefined);
    assert.equal(site.api.sessions.counters.idTokensLeftOut, 1);
  });

  it("is not for other pages, other sessions, or where it is not configured", async () => {
    await start();
    const cookie = await logIn();
    assert.equal((await leave(cookie, { origin: "https://evil.example" })).status, 401);
    assert.equal((await site.fetch("/logout/oidc", { headers: { cookie } })).status, 405);
    assert.equal((await site.fetch("/stats", { headers: { cookie } })).status, 200);
    // Programs log out as ever; a login with a password has no login at the provider.
    const out = await site.fetch("/logout", { method: "POST", headers: { cookie } });
    assert.deepEqual(await out.json(), { return: "Your token has been cleared" });
    const plain = `session_id=${await site.login()}`;
    assert.equal((await welcome(plain)).oidc_logout, undefined);
    for (const wrong of [{}, { "^provider_logout": false }, { "^provider_logout": "yes please" }]) {
      await site.close();
      await start(wrong as ConfigMap);
      assert.equal((await leave("")).status, 404);
    }
    assert.match(site.logged.join("\n"), /\^provider_logout has to be True, False or post/);
  });
});
