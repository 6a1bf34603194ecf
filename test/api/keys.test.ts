import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { extract } from "tar-stream";
import { builtClients } from "../../src/api/clients/chunk.ts";
import type { ApiHandlers } from "../client/fake-master.ts";
import { plain } from "../plain.ts";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
const login = { username: "ann", password: "right", eauth: "auto" };
let site: ApiSite;

/** Gives a pair for every minion but `taken`, unless `force` is set. */
const wheel: ApiHandlers[string] = (load) => {
  const { id_: id, force } = plain(load.get("kwarg") ?? null) as Record<string, unknown>;
  const value = id === "taken" && force !== true ? {} : { pub: `pub of ${id}`, priv: `priv of ${id}` };
  return { tag: `salt/wheel/${jid}`, data: { jid, fun: "wheel.key.gen_accept", return: value, success: true } };
};

async function post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const type = { "content-type": "application/json", accept: "application/json" };
  return await site.fetch("/keys", { method: "POST", headers: { ...type, ...headers }, body: JSON.stringify(body) });
}

async function filesIn(answer: Response): Promise<unknown[]> {
  const files: unknown[] = [];
  const tar = extract();
  tar.end(Buffer.from(await answer.arrayBuffer()));
  for await (const entry of tar) {
    const parts: Buffer[] = [];
    for await (const part of entry) parts.push(Buffer.from(part as Uint8Array));
    files.push([entry.header.name, entry.header.mode, Buffer.concat(parts).toString()]);
  }
  return files;
}

describe("POST /keys", () => {
  afterEach(async () => await site.close());

  it("answers with an archive of a new key pair, which the master has accepted", async () => {
    site = await ApiSite.start({ wheel }, {}, { netapi_enable_clients: builtClients });
    const answer = await post({ ...login, mid: "new1", keysize: 4096, extra: 1 });
    assert.deepEqual(
      ["content-type", "content-disposition", "cache-control"].map((name) => answer.headers.get(name)),
      ["application/x-tar", 'attachment; filename="saltkeys-new1.tar"', "no-store"],
    );
    assert.deepEqual(await filesIn(answer), [
      ["minion.pub", 0o644, "pub of new1"],
      ["minion.pem", 0o400, "priv of new1"],
    ]);
    const sent = site.master.requests.at(-1);
    assert.equal(sent?.get("fun"), "key.gen_accept");
    assert.deepEqual(plain(sent?.get("kwarg") ?? null), { id_: "new1", force: false, keysize: 4096 });
    assert.equal(sent?.get("client_address"), "127.0.0.1");
  });

  it("needs credentials in the body, a minion's name, and force for a minion with a key", async () => {
    site = await ApiSite.start({ wheel }, {}, { netapi_enable_clients: builtClients });
    const id = await site.login();
    assert.equal((await post({ mid: "new2" }, { "X-Auth-Token": id })).status, 401);
    for (const mid of [undefined, "", 'a"b', "a/b", "a\r\nb"])
      assert.equal((await post({ ...login, mid })).status, 400, String(mid));
    assert.equal((await post({ ...login, mid: "a", keysize: "many" })).status, 400);
    assert.equal((await post({ ...login, mid: "taken" })).status, 409);
    const form = new URLSearchParams({ ...login, mid: "taken", force: "True" });
    const forced = await site.fetch("/keys", { method: "POST", body: form });
    assert.deepEqual((await filesIn(forced)).length, 2);
  });

  it("needs the client wheel", async () => {
    site = await ApiSite.start({ wheel }, {}, { netapi_enable_clients: ["local"] });
    assert.equal((await post({ ...login, mid: "new3" })).status, 400);
  });
});
