import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type JWTPayload, SignJWT } from "jose";
import { oidcKeysMs } from "../../../src/limits.ts";
import { checkCredential } from "../../../src/workers/credentials/backends.ts";
import { LittleProvider, newKey, type ProviderKey } from "../../openid/little-provider.ts";

describe("the eauth system oidc", () => {
  let provider: LittleProvider;
  let issuer = "";

  before(async () => {
    provider = await LittleProvider.start();
    issuer = provider.issuer;
    provider.keys.push(await newKey("e1", "ES256"));
  });
  after(() => provider.close());

  const sign = (signer: ProviderKey, claims: JWTPayload = {}, header: object = {}) =>
    provider.sign(claims, header, signer);

  function check(token: string, username = "ann", settings: Readonly<Record<string, string | string[]>> = {}) {
    const oidc = { "^issuer": issuer, "^client_id": "salt", ...settings };
    return checkCredential(
      { externalAuth: { oidc }, isPermissive: false, opts: new Map() },
      { eauth: "oidc", username, password: token },
    );
  }

  const known = { isAuthentic: true, groups: ["ops"] };
  const refused = { isAuthentic: false, groups: [] };
  const key = (index: number) => provider.keys[index] ?? assert.fail();

  it("knows users and groups by tokens that the provider signed for this client", async () => {
    for (const index of [0, 1]) assert.deepEqual(await check(await sign(key(index))), known);
    assert.deepEqual(await check(await sign(key(0), { aud: ["salt", "other"], azp: "salt" })), known);
    assert.deepEqual(await check(await sign(key(0), { aud: "script" }), "ann", { "^audience": ["script"] }), known);
    const mail = { email: "ann@x.org", email_verified: true };
    const byMail = { "^user_claim": "email", "^groups_claim": "roles" };
    assert.deepEqual(await check(await sign(key(0), { ...mail, roles: ["dev"] }), "ann@x.org", byMail), {
      isAuthentic: true,
      groups: ["dev"],
    });
    assert.deepEqual(await check(await sign(key(0), { ...mail, email_verified: false }), "ann@x.org", byMail), refused);
  });

  it("refuses tokens of others, for others, of another time and in other forms", async () => {
    const past = Math.floor(Date.now() / 1_000) - 3_600;
    for (const claims of [
      { iss: "https://other.example" },
      { aud: "other" },
      { aud: ["salt", "other"] },
      { aud: ["salt", "other"], azp: "other" },
      { exp: past },
      { exp: undefined },
      { sub: undefined },
      { nbf: past + 7_200 },
      { iat: past + 7_200 },
      { preferred_username: "bob" },
      { preferred_username: undefined },
    ])
      assert.deepEqual(await check(await sign(key(0), claims as JWTPayload)), refused, JSON.stringify(claims));
    const forged = await newKey("r1", "RS256");
    assert.deepEqual(await check(await sign(forged)), refused);
    assert.deepEqual(await check(await sign(key(0), {}, { typ: "at+jwt" })), refused);
    assert.deepEqual(await check(await sign(key(0)), "ANN"), refused);
    const [head = "", body = "", signature = ""] = (await sign(key(0))).split(".");
    const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
    const hmac = new SignJWT(JSON.parse(Buffer.from(body, "base64url").toString())).setProtectedHeader({
      alg: "HS256",
    });
    const secret = new TextEncoder().encode("the public key, which all know, as a secret");
    for (const token of [
      `${none}.${body}.`,
      `${head}.${body}.`,
      `${head}.${body}x.${signature}`,
      "x",
      await hmac.sign(secret),
    ])
      assert.deepEqual(await check(token), refused, token);
  });

  it("fetches no keys for each token", async () => {
    const before = provider.asked.keys;
    for (let round = 0; round < 10; round += 1) assert.deepEqual(await check(await sign(key(0))), known);
    assert.equal(provider.asked.keys, before);
  });

  it("takes new keys of the provider, at a bounded rate", async (test) => {
    const next = await newKey("r2");
    provider.keys.push(next);
    const before = provider.asked.keys;
    // The keys were fetched a moment ago: tokens with made-up keys must not lead to a request each.
    assert.deepEqual(await check(await sign(next)), refused);
    assert.equal(provider.asked.keys, before);
    test.mock.timers.enable({ apis: ["Date"], now: Date.now() + oidcKeysMs.least });
    assert.deepEqual(await check(await sign(next)), known);
    assert.equal(provider.asked.keys, before + 1);
    assert.deepEqual(await check(await sign(await newKey("r3"))), refused);
    assert.equal(provider.asked.keys, before + 1);
  });

  it("says that keys come too slowly, or are too many", async (test) => {
    const waits = AbortSignal.timeout;
    test.mock.method(AbortSignal, "timeout", (ms: number) => waits.call(AbortSignal, Math.min(ms, 200)));
    for (const faults of ["hanging", "huge"] as const) {
      const failing = await LittleProvider.start();
      failing[faults].add("keys");
      const token = await failing.sign({});
      const { isAuthentic, fault } = await check(token, "ann", { "^issuer": failing.issuer });
      failing.close();
      assert.equal(isAuthentic, false);
      assert.match(fault ?? "", /keys of .* cannot be fetched/, faults);
      assert.ok(failing.sentBytes < 10 * 1024 * 1024, String(failing.sentBytes));
    }
  });

  it("says why it cannot check", async () => {
    const fault = async (settings: Readonly<Record<string, string>>) => (await check("x", "ann", settings)).fault ?? "";
    assert.match(await fault({ "^issuer": "http://idp.example" }), /\^issuer has to be the https/);
    assert.match(await fault({ "^issuer": `${issuer}/` }), /another issuer/);
    assert.match(await fault({ "^issuer": "http://127.0.0.1:1" }), /gave no valid answer/);
  });
});
