import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { builtClients } from "../../../src/api/clients/chunk.ts";
import { accepted } from "../../client/fake-master.ts";
import { ApiSite } from "../api-site.ts";

const jid = "20261121070000123456";
let site: ApiSite;

describe("values of commands", () => {
  afterEach(async () => await site.close());

  async function start(): Promise<(body: string, type: string) => Promise<{ status: number; text: string }>> {
    const handlers = {
      publish: (_load: unknown, master: ApiSite["master"]) => {
        setImmediate(() => {
          master.fireReturn(jid, "a", true);
          master.fireDone(jid, ["a"], {});
        });
        return accepted(jid, ["a"], []);
      },
      // A runner without an answer, for a time that the caller sets.
      runner: () => undefined,
      wheel: () => ({ tag: `salt/wheel/${jid}`, data: { jid, return: { minions: [] }, success: true } }),
    };
    site = await ApiSite.start(handlers as never, {}, { netapi_enable_clients: [...builtClients] });
    const id = await site.login();
    return async (body, type) => {
      const headers = { "X-Auth-Token": id, "content-type": type };
      const answer = await site.fetch("/", { method: "POST", headers, body });
      return { status: answer.status, text: await answer.text() };
    };
  }

  it("of a form are texts, and full_return=True means it", async () => {
    const post = await start();
    for (const said of ["True", "true"]) {
      const form = `client=local&tgt=*&fun=test.ping&full_return=${said}`;
      assert.match((await post(form, "application/x-www-form-urlencoded")).text, /"ret": true, "retcode": 0/);
    }
    const form = "client=local&tgt=*&fun=test.ping&full_return=False";
    assert.equal((await post(form, "application/x-www-form-urlencoded")).text, '{"return": [{"a": true}]}');
  });

  it("that are times may be written with a fraction, and are refused where they are none", async () => {
    const post = await start();
    const late = await post('{"client": "runner", "fun": "test.sleep", "timeout": 0.0625}', "application/json");
    assert.equal(late.status, 504);
    const whole = await post('{"client": "runner", "fun": "test.sleep", "timeout": 1.0}', "application/json");
    assert.equal(whole.status, 504);
    const wrong = await post('{"client": "runner", "fun": "test.sleep", "timeout": "soon"}', "application/json");
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /'timeout' is a number of seconds/);
  });

  it("local_subset lets the master refuse a function also where the target has no minion for the user", async () => {
    const post = await start();
    const answer = await post('{"client": "local_subset", "tgt": "*", "fun": "test.ping"}', "application/json");
    assert.equal(answer.status, 200);
    const published = site.master.requests.filter((load) => load.get("cmd") === "publish");
    assert.deepEqual(
      published.map((load) => [load.get("tgt"), load.get("tgt_type"), load.get("fun")]),
      [[[], "list", "test.ping"]],
    );
  });
});
