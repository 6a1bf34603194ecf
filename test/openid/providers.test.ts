import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { oidcFailureMs, oidcKeysMs } from "../../src/limits.ts";
import { providerOf } from "../../src/openid/providers.ts";
import { LittleProvider } from "./little-provider.ts";

describe("what an OpenID provider says of itself", () => {
  let provider: LittleProvider;
  beforeEach(async () => {
    provider = await LittleProvider.start();
  });
  afterEach(() => provider.close());

  it("is asked for once by many logins, and again when it is old", async (test) => {
    const found = await Promise.all(Array.from({ length: 20 }, () => providerOf(provider.issuer)));
    assert.equal(found[0]?.token_endpoint, `${provider.issuer}/token`);
    assert.equal(provider.asked.document, 1);
    test.mock.timers.enable({ apis: ["Date"], now: Date.now() + oidcKeysMs.most });
    await providerOf(provider.issuer);
    assert.equal(provider.asked.document, 2);
  });

  for (const fault of [
    { authorization_endpoint: "http://idp.example/auth" },
    { authorization_endpoint: "javascript:alert(1)" },
    { token_endpoint: "http://169.254.169.254/" },
    { jwks_uri: "file:///etc/shadow" },
    { issuer: "https://other.example" },
  ])
    it(`is refused with ${JSON.stringify(fault)}, and not asked for again at once`, async (test) => {
      provider.document = fault;
      const refusal = /no https address|another issuer/;
      await assert.rejects(providerOf(provider.issuer), refusal);
      provider.document = {};
      await assert.rejects(providerOf(provider.issuer), refusal);
      assert.equal(provider.asked.document, 1);
      test.mock.timers.enable({ apis: ["Date"], now: Date.now() + oidcFailureMs });
      assert.equal((await providerOf(provider.issuer)).issuer, provider.issuer);
    });
});
