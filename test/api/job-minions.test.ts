import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";
import { plain } from "../plain.ts";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
let site: ApiSite;

async function start(answerOf: (kwargs: ValueMap) => Encodable): Promise<string> {
  const runner = (load: ValueMap) => {
    const value = answerOf(load.get("kwarg") as ValueMap);
    return { tag: "", data: { jid, return: value, success: true, notes: [] } };
  };
  site = await ApiSite.start({ runner }, {}, { netapi_enable_clients: ["runner"] });
  return await site.login();
}

describe("GET /jobs/JID/minions", () => {
  afterEach(async () => await site.close());

  it("gives a page of minions with a link to the next", async () => {
    const page = { Over: false, Counts: { sent: 2 }, Minions: { a: { State: "sent" } } };
    const id = await start(() => ({ ...page, Now: 5, Next: "a" }));
    const href = `/jobs/${jid}/minions?state=sent&limit=1&after=a`;
    const { body } = await site.get(`/jobs/${jid}/minions?state=sent&limit=1`, id);
    assert.deepEqual(body, { return: [page], _links: { next: [{ href }] } });
    const asked = plain(site.master.requests.findLast((load) => load.has("fun"))?.get("kwarg") ?? null);
    assert.deepEqual(asked, { jid, limit: 1, state: "sent" });
    assert.equal((await site.get(`/jobs/${jid}/minions?state=gone`, id)).status, 400);
    assert.equal((await site.get(`/jobs/${jid}/minions`, "")).status, 401);
  });

  it("answers 404 for a job that does not exist, also line by line", async () => {
    const id = await start(() => ({ Error: "no job" }));
    assert.equal((await site.get(`/jobs/${jid}/minions`, id)).status, 404);
    const headers = { "X-Auth-Token": id, Accept: "application/x-ndjson" };
    assert.equal((await site.fetch(`/jobs/${jid}/minions`, { headers })).status, 404);
  });

  it("tells each change as a line until the job is over", async () => {
    let state = "sent";
    const id = await start((kwargs) => {
      const isChanged = kwargs.get("since_ms") !== 7 || state === "returned";
      const minions = isChanged ? { a: { State: state } } : {};
      return { Over: state === "returned", Counts: { [state]: 1 }, Minions: minions, Now: 7, Next: null };
    });
    const headers = { "X-Auth-Token": id, Accept: "application/x-ndjson" };
    const answer = await site.fetch(`/jobs/${jid}/minions`, { headers });
    const reader = answer.body?.getReader();
    const first = Buffer.from((await reader?.read())?.value ?? []).toString();
    assert.equal(first, '{"id": "a", "State": "sent"}\n');
    state = "returned";
    site.master.fireReturn(jid, "a", true);
    let rest = "";
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) rest += Buffer.from(part.value);
    assert.equal(rest, '{"id": "a", "State": "returned"}\n{"done": true, "counts": {"returned": 1}}\n');
  });
});
