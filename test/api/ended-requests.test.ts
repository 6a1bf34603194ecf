import assert from "node:assert/strict";
import { it } from "node:test";
import { Deadline } from "../../src/api/clients/deadline.ts";
import { runAll } from "../../src/api/routes/commands.ts";
import { ApiSite } from "./api-site.ts";

it("a request that has ended begins none of its further commands", async () => {
  let published = 0;
  const deadline = new Deadline();
  const publish = () => {
    published += 1;
    deadline.pass();
    return { enc: "clear", load: { jid: "1", minions: ["a"] } };
  };
  const site = await ApiSite.start({ publish }, {}, { netapi_enable_clients: ["local_async"] });
  const fields = new Map([
    ["client", "local_async"],
    ["tgt", "*"],
    ["fun", "test.ping"],
  ]);
  const chunk = { chunk: { client: "local_async", fields }, proof: { token: "f" } } as const;
  const message = "The request has ended before all of its commands began";
  await assert.rejects(runAll(site.api, [chunk, chunk, chunk], deadline), { status: 504, message });
  assert.equal(published, 1);
  await site.close();
});
