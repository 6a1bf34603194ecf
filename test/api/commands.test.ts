import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { builtClients } from "../../src/api/clients/chunk.ts";
import type { ValueMap } from "../../src/wire/values.ts";
import { type ApiHandlers, accepted } from "../client/fake-master.ts";
import { plain } from "../plain.ts";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
const token = "f".repeat(64);
const ping = { client: "local", tgt: "*", fun: "test.ping" };
let site: ApiSite;

/** Minion a returns, b is silent, and the list's ghost has no key. */
const publish: ApiHandlers[string] = (load, master) => {
  if (load.get("fun") === "test.denied")
    return { error: { name: "AuthorizationError", message: "Authorization error occurred." } };
  setImmediate(() => {
    master.fireReturn(jid, "a", { deep: true }, { out: "nested" });
    master.fireDone(jid, ["a"], { b: "Not connected" });
  });
  return accepted(jid, ["a", "b"], ["ghost"]);
};
const call =
  (prefix: string): ApiHandlers[string] =>
  (load) => ({
    tag: `${prefix}/${jid}`,
    data: { jid, fun: load.get("fun"), return: load.get("kwarg"), success: true },
  });
const handlers = { publish, runner: call("salt/run"), wheel: call("salt/wheel") };

async function start(enabled: readonly string[] = builtClients): Promise<string> {
  site = await ApiSite.start(handlers, {}, { netapi_enable_clients: enabled });
  return await site.login();
}

async function post(path: string, body: unknown, id = ""): Promise<{ status: number; body: unknown }> {
  const headers = { "X-Auth-Token": id, "content-type": "application/json" };
  const answer = await site.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

const sent = (cmd: string): ValueMap[] => site.master.requests.filter((load) => load.get("cmd") === cmd);

describe("commands through the HTTP API", () => {
  afterEach(async () => await site.close());

  it("of the client local give what each minion returned, false for a silent one, a text for a name without a key", async () => {
    const id = await start();
    const short = await post("/", [ping], id);
    const [returns] = (short.body as { return: Record<string, unknown>[] }).return;
    assert.deepEqual([returns?.a, returns?.b], [{ deep: true }, false]);
    assert.match(String(returns?.ghost), /^Minion did not return\. \[No response\]/);
    const full = await post("/", { ...ping, full_return: true, batch: null }, id);
    const [records] = (full.body as { return: Record<string, unknown>[] }).return;
    assert.deepEqual(records?.a, { ret: { deep: true }, retcode: 0, jid, out: "nested" });
    assert.equal(records?.b, false);
    assert.match(JSON.stringify(records?.ghost), /^\{"out":"no_return","ret":"Minion did .*,"retcode":1\}$/);
  });

  it("travel with the session's token and not with the chunk's, nor with a password", async () => {
    const id = await start();
    await post("/", { ...ping, token: "abc", password: "secret", arg: "one", kwarg: { x: 1 }, timeout: 7 }, id);
    const [load] = sent("publish");
    const kwargs = plain(load?.get("kwargs") ?? null);
    const follow = { timeout: 7, gather_job_timeout: 10, leave_absent: true };
    assert.deepEqual(kwargs, { delimiter: ":", follow, token });
    assert.deepEqual(plain(load?.get("arg") ?? null), ["one", { __kwarg__: true, x: 1 }]);
  });

  it("keep a list of minions as the text that it was, without blanks", async () => {
    const id = await start();
    await post("/", { ...ping, tgt: " a , b", tgt_type: "list" }, id);
    await post("/", { ...ping, tgt: ["a", "b c"], tgt_type: "list" }, id);
    assert.deepEqual(
      sent("publish").map((load) => load.get("tgt")),
      ["a,b", ["a", "b c"]],
    );
  });

  it("reach runner and wheel with names from the chunk, from kwarg and from texts", async () => {
    const id = await start();
    const runner = { client: "runner", fun: "test.arg", arg: ["p", "k=5"], kwarg: { x: 1 }, extra: "top", batch: null };
    assert.deepEqual((await post("/", runner, id)).body, { return: [{ x: 1, extra: "top", k: 5 }] });
    assert.deepEqual(sent("runner")[0]?.get("arg"), ["p"]);
    const wheel = await post("/", { client: "wheel", fun: "key.finger", match: "*", arg: [] }, id);
    const data = { jid, fun: "key.finger", return: { match: "*" }, success: true };
    assert.deepEqual(wheel.body, { return: [{ tag: `salt/wheel/${jid}`, data }] });
  });

  it("are all checked before the first of them runs", async () => {
    const id = await start(["local"]);
    const wrong = [
      [{ client: "wheel", fun: "key.list_all" }, 400],
      [{ client: "ssh_async", fun: "test.ping" }, 400],
      [{ tgt: "*", fun: "test.ping" }, 400],
      [{ client: "local", fun: "test.ping" }, 400],
      [{ client: "local", tgt: "*" }, 400],
    ] as const;
    for (const [chunk, status] of wrong) assert.equal((await post("/", [ping, chunk], id)).status, status);
    assert.deepEqual((await post("/", [], id)).body, { return: [] });
    assert.deepEqual(sent("publish"), []);
  });

  it("are refused with 401 without a session, and when the master does not permit them", async () => {
    const id = await start();
    assert.equal((await post("/", ping)).status, 401);
    assert.equal((await post("/", ping, "deadbeef")).status, 401);
    assert.equal((await post("/", ping, token)).status, 401);
    assert.deepEqual(sent("publish"), []);
    const denied = await post("/", { ...ping, fun: "test.denied" }, id);
    assert.deepEqual(denied, {
      status: 401,
      body: { status: 401, return: "Authorization error occurred.", code: "AUTH_FAILED" },
    });
  });

  it("with credentials of their own need no session, and a session's id does not count as a token", async () => {
    const id = await start();
    assert.equal((await post("/run", { ...ping, token })).status, 200);
    assert.equal((await post("/run", { ...ping, username: "ann", password: "p", eauth: "auto" })).status, 200);
    assert.deepEqual((await post("/run", { ...ping, token: "xyz" })).body, {
      status: 401,
      return: "Invalid token",
      code: "TOKEN_INVALID",
    });
    assert.equal((await post("/run", ping, id)).status, 401);
    const made = await post("/token", { username: "ann", password: "right", eauth: "auto" });
    assert.equal((made.body as { token: string }[])[0]?.token, token);
  });

  it("have resources of their own", async () => {
    const finger: ApiHandlers[string] = (load) => {
      const match = String((load.get("kwarg") as ValueMap).get("match"));
      return { tag: "", data: { jid, return: { minions: { [match]: "07:b6" } }, success: true } };
    };
    site = await ApiSite.start({ ...handlers, wheel: finger }, {}, { netapi_enable_clients: builtClients });
    const id = await site.login();
    const get = async (path: string) => await (await site.fetch(path, { headers: { "X-Auth-Token": id } })).json();
    assert.deepEqual(await get("/keys/m1"), { return: { minions: { m1: "07:b6" } } });
    assert.deepEqual(await get("/jobs"), { return: [{}] });
    const started = await post("/minions", { tgt: "*", fun: "test.ping" }, id);
    const links = { jobs: [{ href: `/jobs/${jid}` }] };
    assert.deepEqual(started, { status: 202, body: { return: [{ jid, minions: ["a", "b"] }], _links: links } });
    assert.deepEqual(await get("/stats"), {});
    assert.equal((await site.fetch("/stats")).status, 401);
  });

  it("fail with 503 and Retry-After while the master is away", async () => {
    const id = await start();
    await site.master.closeBus();
    const headers = { "X-Auth-Token": id, "content-type": "application/json" };
    const answer = await site.fetch("/", { method: "POST", headers, body: JSON.stringify(ping) });
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "2"]);
    assert.deepEqual(await answer.json(), {
      status: 503,
      return: "Salt Master is not available.",
      code: "MASTER_AWAY",
    });
  });

  it("are answered line by line to a client that accepts lines, the first before the job is over", async () => {
    site = await ApiSite.start(
      {
        publish: (_, master) => {
          setImmediate(() => master.fireReturn(jid, "a", true));
          return accepted(jid, ["a", "b"]);
        },
      },
      {},
      { netapi_enable_clients: builtClients },
    );
    const headers = { "X-Auth-Token": await site.login(), Accept: "application/x-ndjson" };
    const answer = await site.fetch("/", { method: "POST", headers, body: JSON.stringify(ping) });
    const reader = answer.body?.getReader();
    const first = Buffer.from((await reader?.read())?.value ?? []).toString();
    assert.equal(first, '{"chunk": 0, "id": "a", "return": true}\n');
    site.master.fireReturn(jid, "b", false);
    let rest = "";
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) rest += Buffer.from(part.value);
    assert.equal(rest, '{"chunk": 0, "id": "b", "return": false}\n{"done": true}\n');
  });

  it("share one connection to the event bus", async () => {
    const id = await start();
    await Promise.all(Array.from({ length: 8 }, () => post("/", ping, id)));
    assert.equal(site.api.shared.hub.counters.connections, 1);
  });

  it("of hooks become events without the caller's secrets", async () => {
    const id = await start();
    const headers = { "X-Auth-Token": id, Cookie: "session_id=x", Authorization: "b", "X-Sign": "s" };
    const answer = await site.fetch("/hook/a//b", { method: "POST", headers, body: '{"foo": 1}' });
    assert.deepEqual(await answer.json(), { success: true });
    while (site.master.fired.length === 0) await turn();
    const [event] = site.master.fired;
    const data = plain(event?.data ?? null) as { post: unknown; body: string; headers: Record<string, string> };
    assert.equal(event?.tag, "salt/netapi/hook/a/b");
    assert.deepEqual([data.post, data.body, data.headers["X-Sign"]], [{ foo: 1 }, '{"foo": 1}', "s"]);
    for (const name of ["X-Auth-Token", "Cookie", "Authorization"]) assert.ok(!(name in data.headers), name);
    // Two line ends would end the tag on the bus, and what follows would be read as the event's data.
    assert.equal((await site.fetch("/hook/a%0A%0Ab", { method: "POST", headers, body: "{}" })).status, 400);
    assert.equal(site.master.fired.filter(({ tag }) => tag.startsWith("salt/netapi")).length, 1);
    assert.equal((await site.fetch("/hook/a", { method: "POST" })).status, 401);
  });
});
