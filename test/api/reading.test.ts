import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ValueMap } from "../../src/wire/values.ts";
import type { ApiHandlers } from "../client/fake-master.ts";
import { plain } from "../plain.ts";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
let site: ApiSite;

/** Answers of these have a form of their own. */
const isOfForm = (fun: unknown, kwarg: unknown) =>
  fun === "key.list_all" || fun === "key.finger" || (fun === "jobs.list_jobs" && (kwarg as ValueMap).size === 0);

/** Answers each call with what it asked, or with nothing. Only calls without a job record are permitted. */
const shown: ApiHandlers[string] = (load) => {
  if (load.get("__read__") !== true || load.get("fun") === "jobs.abort")
    return { error: { name: "SaltInvocationError", message: "'jobs.abort' is not available for reading" } };
  const isKnown = load.get("fun") !== "no.such";
  const [fun, kwarg] = [load.get("fun"), load.get("kwarg")];
  const known = isOfForm(fun, kwarg) ? {} : { fun, kwarg };
  const value = isKnown ? known : "'no.such' is not available.";
  return { tag: "", data: { jid, return: value, success: isKnown, notes: isKnown ? ["a note"] : [] } };
};

async function start(enabled: readonly string[] = ["runner", "wheel"]): Promise<string> {
  site = await ApiSite.start({ runner: shown, wheel: shown }, {}, { netapi_enable_clients: enabled });
  return await site.login();
}

const sent = (): ValueMap[] => site.master.requests.filter((load) => load.has("fun"));

describe("what the HTTP API only reads", () => {
  afterEach(async () => await site.close());

  it("is asked of the master as a call without a job record, in the session's name", async () => {
    const id = await start();
    for (const path of ["/jobs", `/jobs/${jid}`, "/keys", "/keys/m1", "/runner/jobs.batches", "/wheel/key.list"])
      assert.equal((await site.get(path, id)).status, 200, path);
    const asked = sent().map((load) => [load.get("cmd"), load.get("fun"), load.get("token"), load.get("__read__")]);
    const token = "f".repeat(64);
    assert.deepEqual(asked, [
      ["runner", "jobs.list_jobs", token, true],
      ["runner", "jobs.list_job", token, true],
      ["wheel", "key.list_all", token, true],
      ["wheel", "key.finger", token, true],
      ["runner", "jobs.batches", token, true],
      ["wheel", "key.list", token, true],
    ]);
  });

  it("takes arguments from the query: words as on a command line, and lists from repeated names", async () => {
    const id = await start();
    const path = `/runner/jobs.list_jobs?limit=5&search_target=*&search_function=a.*&search_function=b.c&before=${jid}`;
    const { body } = await site.get(path, id);
    const kwarg = { limit: 5, search_target: "*", search_function: ["a.*", "b.c"], before: jid };
    assert.deepEqual(body, { return: [{ fun: "jobs.list_jobs", kwarg }], notes: ["a note"] });
    assert.equal(plain(sent()[0]?.get("arg") ?? null)?.toString(), "");
  });

  it("needs a session and the enabled client, and says 400 for a function that is unknown or not for reading", async () => {
    const id = await start(["wheel"]);
    assert.equal((await site.get("/runner/jobs.batches", "")).status, 401);
    assert.equal((await site.get("/jobs", "deadbeef")).status, 401);
    assert.match(JSON.stringify(await site.get("/runner/jobs.batches", id)), /Client disabled: 'runner'/);
    assert.match(JSON.stringify(await site.get("/jobs", id)), /Client disabled: 'runner'/);
    assert.deepEqual(sent(), []);
    const unknown = await site.get("/wheel/no.such", id);
    assert.deepEqual(unknown, {
      status: 400,
      body: { status: 400, return: "'no.such' is not available.", code: "FUNCTION_FAILED" },
    });
    const refused = await site.get("/wheel/jobs.abort", id);
    const text = "'jobs.abort' is not available for reading";
    assert.deepEqual(refused, { status: 400, body: { status: 400, return: text, code: "REQUEST_REFUSED" } });
  });
});
