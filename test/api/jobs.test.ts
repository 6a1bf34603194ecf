import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { Encodable } from "../../src/wire/values.ts";
import { plain } from "../plain.ts";
import { ApiSite } from "./api-site.ts";

const jid = "20261121070000123456";
let site: ApiSite;

/** An API whose master answers each call with `value`. */
async function start(value: Encodable): Promise<string> {
  const runner = () => ({ tag: "", data: { jid, return: value, success: true, notes: [] } });
  site = await ApiSite.start({ runner }, {}, { netapi_enable_clients: ["runner"] });
  return await site.login();
}

const asked = () => plain(site.master.requests.findLast((load) => load.has("fun"))?.get("kwarg") ?? null);

describe("GET /jobs", () => {
  afterEach(async () => await site.close());

  it("without a query has Salt's form", async () => {
    const id = await start({ [jid]: { Function: "test.ping" } });
    assert.deepEqual((await site.get("/jobs", id)).body, { return: [{ [jid]: { Function: "test.ping" } }] });
    assert.deepEqual(asked(), {});
  });

  it("with a query gives one page, and a link to the next with the same query", async () => {
    const id = await start({ jobs: { [jid]: { State: "over" } }, next: jid });
    const query = "fun=state.*&user=ann&target=web*&since=2026-11-20&until=2026-11-21&state=over&limit=7";
    const { status, body } = await site.get(`/jobs?${query}`, id);
    const href = `/jobs?${new URLSearchParams(query)}&after=${jid}`;
    const page = { return: [{ [jid]: { State: "over" } }], _links: { next: [{ href }] } };
    assert.deepEqual([status, body], [200, page]);
    assert.deepEqual(asked(), {
      paged: true,
      limit: 7,
      search_function: "state.*",
      search_user: "ann",
      search_target: "web*",
      start_time: "2026-11-20",
      end_time: "2026-11-21",
      search_state: "over",
    });
    await site.get(`/jobs?after=${jid}`, id);
    assert.deepEqual(asked(), { paged: true, limit: 100, before: jid });
  });

  it("has no link on the last page", async () => {
    const id = await start({ jobs: {}, next: null });
    assert.deepEqual((await site.get("/jobs?limit=5", id)).body, { return: [{}], _links: { next: [] } });
  });

  it("refuses what it does not know with its name, before it asks the master", async () => {
    const id = await start({});
    for (const [query, text] of [
      ["search_function=a", /'search_function' is unknown here; known are limit, after, fun/],
      ["limit=1001", /'limit' is a whole number from 1 to 1000/],
      ["limit=0", /'limit'/],
      ["limit=ten", /'limit'/],
      ["state=gone", /'state' is one of running, paused, waiting, over/],
      ["user=a&user=b", /'user' is given more than once/],
    ] as const) {
      const { status, body } = await site.get(`/jobs?${query}`, id);
      assert.equal(status, 400, query);
      assert.match(JSON.stringify(body), text);
    }
    assert.equal(asked(), null);
  });
});
