import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readApiSettings } from "../../src/config/api-settings.ts";
import type { ConfigMap } from "../../src/config/yaml/values.ts";

const read = (block: ConfigMap) => readApiSettings({ port: 8000, disable_ssl: true, ...block });

describe("the block rest_cherrypy", () => {
  it("is refused with a sentence where a value could never have an effect", () => {
    const faults: readonly (readonly [ConfigMap, RegExp])[] = [
      [{ api_acl: { users: { ann: ["300.1.1.1"] } } }, /api_acl: ann: "300\.1\.1\.1" is neither an address nor/],
      [{ api_acl: { users: { "*": [null] } } }, /api_acl: \*: null is neither an address nor a network/],
      [{ cors_origin: "https://ui.example/" }, /cors_origin: .* is not an origin such as https:\/\/ui\.example$/],
      [{ cors_origin: ["https://ui.example:443"] }, /cors_origin: .* is not an origin such as https:\/\/ui\.example$/],
      [{ cors_origin: "ui.example" }, /cors_origin: 'ui\.example' is not an origin/],
      [{ cors_origin: "null" }, /cors_origin: 'null' is not an origin/],
      [{ webhook_url: "/login" }, /webhook_url: \/login is a path of the API itself/],
      [{ webhook_url: "/" }, /webhook_url must be a path below the root/],
      [{ static_path: "/" }, /static_path must be a path below the root/],
      [{ app: "/a", static: "/b", static_path: "app" }, /app_path and static_path are the same path/],
    ];
    for (const [block, sentence] of faults) assert.throws(() => read(block), sentence);
  });

  it("takes what has an effect without a word", () => {
    const { notes, corsOrigins, loginAddresses } = read({
      api_acl: { users: { ann: "*", bob: ["192.0.2.7", "2001:db8::/32"] } },
      cors_origin: ["*", "https://ui.example:8443", "chrome-extension://abcdef"],
      app: "/a",
      app_path: "gui",
      static: "/b",
      static_path: "/gui/static",
      webhook_url: "/hooks/",
    });
    assert.deepEqual(notes, []);
    assert.equal(corsOrigins.length, 3);
    assert.deepEqual(loginAddresses?.get("bob"), ["192.0.2.7", "2001:db8::/32"]);
  });

  it("notes what has no effect", () => {
    const { notes } = read({ thread_pool: 9, log_access_file: "/a", foo: 1, ssl_crt: "/c", app_path: "/gui" });
    assert.deepEqual(notes, [
      "rest_cherrypy: 'thread_pool' has no effect here",
      "rest_cherrypy: 'log_access_file' has no effect here",
      "rest_cherrypy: 'foo' has no effect here",
      "rest_cherrypy: 'app_path' has no effect without 'app'",
      "rest_cherrypy: 'ssl_crt' has no effect with 'disable_ssl'",
    ]);
  });
});
