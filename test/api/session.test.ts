import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { ApiSite } from "./api-site.ts";

let site: ApiSite;
const post = (body: string, type: string) => ({ method: "POST", body, headers: { "content-type": type } });
const right = { username: "ann", password: "right", eauth: "auto" };
type Shown = { readonly return: readonly Record<string, unknown>[] };

describe("sessions of the HTTP API", () => {
  afterEach(async () => await site.close());

  it("open with every format of body, and show the user's permissions", async () => {
    site = await ApiSite.start({});
    const json = JSON.stringify(right);
    const bodies = [
      ["username=ann&password=right&eauth=auto", "application/x-www-form-urlencoded"],
      ["username: ann\npassword: right\neauth: auto\n", "application/x-yaml"],
      [json, "application/json; charset=utf-8"],
      [`[${json}]`, "application/json"],
      [json, "text/plain;charset=UTF-8"],
    ] as const;
    for (const [body, type] of bodies) {
      const answer = await site.fetch("/login", post(body, type));
      assert.equal(answer.status, 200, type);
      const [shown] = ((await answer.json()) as Shown).return;
      assert.match(String(shown?.token), /^[0-9a-f]{40}$/);
      assert.equal(answer.headers.get("x-auth-token"), shown?.token);
      assert.match(answer.headers.get("set-cookie") ?? "", /^session_id=[0-9a-f]{40};.*HttpOnly; SameSite=Lax$/);
      assert.deepEqual(shown?.perms, ["@jobs", "grains.items", "test.*", { "G@role:web": ["state.apply"] }]);
      assert.equal(shown?.user, "ann");
      assert.equal(shown?.start, 1_795_000_000.5);
    }
  });

  it("do not open without the right password, and the error has one form", async () => {
    site = await ApiSite.start({});
    const refused = { status: 401, return: "Could not authenticate using provided credentials", code: "LOGIN_FAILED" };
    for (const wrong of [{ password: "wrong" }, { password: "" }, { eauth: undefined }]) {
      const answer = await site.fetch("/login", post(JSON.stringify({ ...right, ...wrong }), "application/json"));
      assert.equal(answer.status, 401);
      assert.deepEqual(await answer.json(), refused);
      assert.equal(answer.headers.get("set-cookie"), null);
    }
  });

  it("tell the master the client's address with every password, so that it counts guesses by address", async () => {
    site = await ApiSite.start({ runner: () => [] }, {}, { netapi_enable_clients: ["runner"] });
    const chunk = { ...right, client: "runner", fun: "manage.up" };
    for (const [path, body] of [
      ["/login", right],
      ["/token", [right]],
      ["/run", [chunk]],
    ] as const) {
      const before = site.master.requests.length;
      await site.fetch(path, post(JSON.stringify(body), "application/json"));
      const sent = site.master.requests.slice(before).filter((load) => load.has("password"));
      assert.ok(sent.length > 0, path);
      for (const load of sent) assert.deepEqual([load.get("user"), load.get("client_address")], [":api", "127.0.0.1"]);
    }
  });

  it("end with a logout by header or cookie; an empty header counts as absent", async () => {
    site = await ApiSite.start({});
    const [first, second] = [await site.login(), await site.login()];
    const out = async (headers: Record<string, string>) => await site.fetch("/logout", { method: "POST", headers });
    const answer = await out({ "X-Auth-Token": first });
    assert.deepEqual(await answer.json(), { return: "Your token has been cleared" });
    assert.equal((await out({ "X-Auth-Token": first })).status, 401);
    assert.equal((await out({ "X-Auth-Token": "", Cookie: `a=b; session_id=${second}` })).status, 200);
    assert.equal((await out({ Cookie: `session_id=${second}` })).status, 401);
  });

  it("outlive the API's process, and no file holds the id or the token", async () => {
    site = await ApiSite.start({});
    const id = await site.login();
    const directory = join(site.master.config.cachedir, "api_sessions");
    for (const name of readdirSync(directory)) {
      const text = readFileSync(join(directory, name)).toString("latin1");
      assert.ok(!name.includes(id) && !text.includes(id) && !text.includes("f".repeat(64)));
    }
    await site.restartApi();
    assert.equal((await site.fetch("/logout", { method: "POST", headers: { "X-Auth-Token": id } })).status, 200);
  });

  it("need an address that api_acl and authorized_ips name", async () => {
    site = await ApiSite.start({}, { api_acl: { users: { ann: ["192.0.2.1"], bob: ["*"] } } });
    const login = async (username: string) =>
      await site.fetch("/login", post(JSON.stringify({ ...right, username }), "application/json"));
    assert.equal((await login("ann")).status, 401);
    assert.equal((await login("carl")).status, 401);
    assert.equal((await login("bob")).status, 200);
  });
});

describe("requests to the HTTP API", () => {
  afterEach(async () => await site.close());

  it("are answered in the format that they accept, under the prefix", async () => {
    site = await ApiSite.start({}, { root_prefix: "/salt/" });
    const get = async (accept: string) => await site.fetch("/salt/", { headers: { accept } });
    assert.equal((await get("*/*")).headers.get("content-type"), "application/json");
    const yaml = await get("application/json;q=0.2, application/x-yaml");
    assert.match(await yaml.text(), /^clients:\n- local\n(?:.*\n)*return: Welcome\n$/);
    assert.equal((await get("image/png")).status, 406);
    assert.equal((await site.fetch("/")).status, 404);
  });

  it("that cannot be read are refused with a status of their own", async () => {
    site = await ApiSite.start({});
    const cases = [
      ["{", "application/json", 400],
      ["a: [", "application/x-yaml", 400],
      ["[".repeat(10_000), "application/json", 400],
      ["[".repeat(10_000), "application/x-yaml", 400],
      ["- ".repeat(8_000), "application/x-yaml", 400],
      ["<x/>", "application/xml", 406],
      [" ".repeat(300_000), "application/json", 413],
    ] as const;
    for (const [body, type, status] of cases) {
      const answer = await site.fetch("/login", post(body, type));
      assert.equal(answer.status, status, `${body.slice(0, 10)} ${type}`);
      const shown = (await answer.json()) as { readonly status: number; readonly return: string };
      assert.equal(shown.status, status);
    }
    assert.equal((await site.fetch("/nope")).status, 404);
    for (const [method, path, allow] of [
      ["GET", "/logout", "POST"],
      ["DELETE", "/logout", "POST"],
      ["PUT", "/jobs", "GET"],
      ["DELETE", "/minions", "GET, POST"],
    ] as const) {
      const wrong = await site.fetch(path, { method });
      assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, allow], `${method} ${path}`);
    }
  });

  it("of other origins are allowed only where cors_origin names the origin", async () => {
    site = await ApiSite.start({}, { cors_origin: ["https://ui.example"] });
    const of = async (origin: string) => (await site.fetch("/", { headers: { origin } })).headers;
    assert.equal((await of("https://ui.example")).get("access-control-allow-credentials"), "true");
    assert.equal((await of("https://other.example")).get("access-control-allow-origin"), null);
    const preflight = await site.fetch("/", { method: "OPTIONS", headers: { origin: "https://ui.example" } });
    assert.equal(preflight.status, 204);
  });

  it("by cookie give pages of other origins a session for reading alone", async () => {
    const options = { netapi_enable_clients: ["local_async"] };
    const publish = () => ({ enc: "clear", load: { jid: "1", minions: ["a"] } });
    site = await ApiSite.start({ publish }, { cors_origin: ["https://ui.example"] }, options);
    const id = await site.login();
    const cookie = { cookie: `session_id=${id}` };
    const body = JSON.stringify({ client: "local_async", tgt: "*", fun: "test.ping" });
    const command = async (headers: Record<string, string>) =>
      (await site.fetch("/", { method: "POST", body, headers: { "content-type": "text/plain", ...headers } })).status;
    for (const origin of ["http://127.0.0.1:1", "https://sibling.example", "null"]) {
      const before = site.master.requests.length;
      assert.equal(await command({ ...cookie, origin, "sec-fetch-site": "same-site" }), 401, origin);
      assert.equal((await site.fetch("/logout", { method: "POST", headers: { ...cookie, origin } })).status, 401);
      assert.equal(site.master.requests.length, before);
      assert.equal(await command({ "x-auth-token": id, origin }), 200);
      assert.equal((await site.fetch("/stats", { headers: { ...cookie, origin } })).status, 200);
    }
    assert.equal(await command(cookie), 200);
    for (const origin of ["https://ui.example", `http://127.0.0.1:${site.port}`])
      assert.equal(await command({ ...cookie, origin }), 200, origin);
    // Behind a proxy that changes the host.
    assert.equal(await command({ ...cookie, origin: "https://salt.example", "sec-fetch-site": "same-origin" }), 200);
  });
});
