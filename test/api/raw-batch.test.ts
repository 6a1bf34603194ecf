import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accepted } from "../client/fake-master.ts";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
const step = "20261121070000123457";
const load = { cmd: "_return", id: "a", jid: step, fun: "test.ping", fun_args: [], retcode: 0, success: true };
const entries = [
  { kind: "new", jid, isStatic: false },
  { kind: "return", jid: step, id: "a", retcode: 0, at: 2, body: { ...load, return: true } },
  { kind: "return", jid: step, id: "lost", retcode: 3, at: 2 },
  { kind: "done", outcome: "finished", culprit: "", retcode: 0 },
].map((entry, index) => ({ ...entry, offset: index * 10, end: index * 10 + 10 }));

describe("local_batch of the HTTP API", () => {
  let site: ApiSite;
  before(async () => {
    const log = { isRunning: false, entries };
    site = await ApiSite.start(
      {
        publish: () => accepted(jid, ["a", "lost"]),
        wheel: (asked) => ({
          data: { return: asked.get("fun") === "saltworks.batch" ? log : {}, success: true },
        }),
      },
      {},
      { netapi_enable_clients: ["local_batch"] },
    );
  });
  after(async () => await site.close());

  const run = async (more: object) => {
    const body = JSON.stringify({ client: "local_batch", tgt: "*", fun: "test.ping", batch: "1", ...more });
    const headers = { "X-Auth-Token": await site.login(), "content-type": "application/json" };
    return (await site.fetch("/", { method: "POST", headers, body })).json();
  };

  it("with raw gives the event of each return", async () => {
    const lost =
      "The minion has returned, but what it returned is not known here: its event did not reach this command, and the job cache does not hold it.";
    assert.deepEqual(await run({ raw: true }), {
      return: [
        { data: { ...load, return: true }, tag: `salt/job/${step}/ret/a` },
        { data: { id: "lost", jid: step, return: lost, retcode: 3 }, tag: `salt/job/${step}/ret/lost` },
      ],
    });
    assert.deepEqual(await run({}), { return: [{ a: true }, { lost }] });
  });
});
