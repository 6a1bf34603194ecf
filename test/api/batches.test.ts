import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { builtClients } from "../../src/api/clients/chunk.ts";
import { type ApiHandlers, accepted } from "../client/fake-master.ts";
import { plain } from "../plain.ts";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
const ping = { tgt: "*", fun: "test.ping" };
let site: ApiSite;

const answers: Readonly<Record<string, readonly [code: string, text: string]>> = {
  "jobs.pause": ["", `Batch ${jid} is paused.`],
  "jobs.resume": ["JOB_STATE", `Batch ${jid} is in words of its own`],
  "jobs.abort": ["JOB_UNKNOWN", `batch job ${jid} is not running`],
  "jobs.cancel": ["FUNCTION_ARGUMENTS", "\nPassed invalid arguments: not a job id\n\nUsage:\nno more"],
};
const runner: ApiHandlers[string] = (load) => {
  if (load.get("token") !== "f".repeat(64))
    return { error: { name: "TokenAuthenticationError", message: "not permitted" } };
  const [code, text] = answers[String(load.get("fun"))] ?? ["", ""];
  return { tag: "", data: { jid, return: text, success: code === "", code, notes: [] } };
};

async function start(): Promise<string> {
  const handlers = { runner, publish: () => accepted(jid, ["a", "b"]) };
  site = await ApiSite.start(handlers, {}, { netapi_enable_clients: builtClients });
  return await site.login();
}

async function post(path: string, body: unknown, id: string): Promise<{ status: number; body: unknown }> {
  const headers = { "X-Auth-Token": id, "content-type": "application/json" };
  const init = body === undefined ? { headers } : { headers, body: JSON.stringify(body) };
  const answer = await site.fetch(path, { method: "POST", ...init });
  return { status: answer.status, body: await answer.json() };
}

/** Asks for something to be done to the job, before a master that answers with `data`, or not at all. */
async function tryWith(data: ReturnType<NonNullable<ApiHandlers[string]>>, path: string) {
  const options = { netapi_enable_clients: builtClients, rest_timeout: 1 };
  site = await ApiSite.start({ runner: () => data }, {}, options);
  return await post(path, undefined, await site.login());
}

const published = () => site.master.requests.filter((load) => load.get("cmd") === "publish");

describe("batches by HTTP", () => {
  afterEach(async () => await site.close());

  it("begin with the options of the command line, and go on without the client", async () => {
    const id = await start();
    const options = { batch: "25%", batch_wait: 1.5, failhard: true, canary: 2, batch_max_failures: "5%" };
    const begun = await post("/", { client: "local_async", ...ping, ...options }, id);
    assert.deepEqual(begun, { status: 200, body: { return: [{ jid, minions: ["a", "b"] }] } });
    const kwargs = plain(published()[0]?.get("kwargs") ?? null) as { readonly batch: unknown };
    const batch = { size: "25%", wait: 1.5, failhard: true, canary: 2, max_failures: "5%", static: false };
    assert.deepEqual(kwargs.batch, batch);
    await post("/minions", { ...ping, batch: 3 }, id);
    const links = plain(published()[1]?.get("kwargs") ?? null) as { readonly batch: { readonly size: unknown } };
    assert.equal(links.batch.size, "3");
  });

  it("are not begun by members that mean nothing", async () => {
    const id = await start();
    await post("/", { client: "local_async", ...ping, batch: null, canary: null, deliver_within: "2h" }, id);
    const kwargs = plain(published()[0]?.get("kwargs") ?? null) as Record<string, unknown>;
    assert.deepEqual([kwargs.batch ?? null, kwargs.deliver_within], [null, "2h"]);
  });

  it("are refused with the name of an option that is unknown, wrong or contradicts another, and nothing runs", async () => {
    const id = await start();
    for (const [chunk, text] of [
      [{ client: "local_batch", canery: 1 }, /'canery' is unknown/],
      [{ client: "local_batch", max_failures: 1 }, /'max_failures' is unknown/],
      [{ client: "local_batch", batch: "none" }, /Invalid batch size: none/],
      [{ client: "local_batch", canary: -1 }, /Invalid number of canaries/],
      [{ client: "local_batch", batch_wait: "soon" }, /Invalid seconds to wait/],
      [{ client: "local_batch", batch_max_failures: "x" }, /Invalid number of failures/],
      [{ client: "local_batch", failhard: "perhaps" }, /'failhard' is true or false/],
      [{ client: "local_batch", deliver_within: "1h" }, /'deliver_within' cannot be combined with 'batch'/],
      [{ client: "local_async", batch: 2, deliver_within: "1h" }, /'deliver_within' cannot be combined with 'batch'/],
      [{ client: "local_subset", deliver_within: "1h" }, /'deliver_within' .* local_subset/],
      [{ client: "local", canary: 1 }, /'canary' needs a batch/],
      [{ client: "local_async", batch_max_failures: 3 }, /'batch_max_failures' needs a batch/],
      [{ client: "local", deliver_within: "late" }, /'deliver_within' must be .*, not 'late'/],
    ] as const) {
      const { status, body } = await post(
        "/",
        [
          { client: "local", ...ping },
          { ...ping, ...chunk },
        ],
        id,
      );
      assert.equal(status, 400, JSON.stringify(chunk));
      assert.match(JSON.stringify(body), text);
    }
    assert.deepEqual(published(), []);
  });

  it("are paused, resumed and aborted through the runner, which checks the permission and keeps a record", async () => {
    const id = await start();
    const paused = await post(`/jobs/${jid}/pause`, undefined, id);
    assert.deepEqual(paused, { status: 200, body: { return: [`Batch ${jid} is paused.`] } });
    const [asked] = site.master.requests.filter((load) => load.get("fun") === "jobs.pause");
    assert.deepEqual([plain(asked?.get("kwarg") ?? null), asked?.has("__read__")], [{ jid }, false]);
    assert.deepEqual(await post(`/jobs/${jid}/resume`, undefined, id), {
      status: 409,
      body: { status: 409, return: `Batch ${jid} is in words of its own`, code: "JOB_STATE" },
    });
    const text = `batch job ${jid} is not running`;
    assert.deepEqual(await post(`/jobs/${jid}/abort`, undefined, id), {
      status: 404,
      body: { status: 404, return: text, code: "JOB_UNKNOWN" },
    });
    assert.deepEqual(await post(`/jobs/${jid}/cancel`, undefined, id), {
      status: 400,
      body: { status: 400, return: "not a job id", code: "FUNCTION_ARGUMENTS" },
    });
    assert.equal((await post(`/jobs/${jid}/pause`, undefined, "")).status, 401);
    assert.equal((await post(`/jobs/${jid}/explode`, undefined, id)).status, 404);
  });

  it("answer at the request's deadline if the master does not", { timeout: 20_000 }, async () => {
    assert.deepEqual(await tryWith(undefined, `/jobs/${jid}/pause`), {
      status: 504,
      body: { status: 504, return: "Salt request timed out: 'jobs.pause' is not over", code: "DEADLINE_PASSED" },
    });
  });

  it("log the master's own faults, and do not show them to the client", async () => {
    const text = "Exception occurred in runner jobs.abort: EIO at /var/cache/salt";
    for (const code of ["", "STORE_FAILED"]) {
      const { status, body } = await tryWith(
        { tag: "", data: { jid, return: text, success: false, code, notes: [] } },
        `/jobs/${jid}/abort`,
      );
      assert.deepEqual([status, body], [500, { status: 500, return: "An unexpected error occurred", code: "FAULT" }]);
      assert.match(site.logged.join("\n"), /EIO at \/var\/cache\/salt/);
      if (code === "") await site.close();
    }
  });
});
