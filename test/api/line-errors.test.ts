import assert from "node:assert/strict";
import { it } from "node:test";
import { ApiSite } from "./api-site.ts";

it("faults in answers line by line are counted, and a kind is logged once", async () => {
  const site = await ApiSite.start({ runner: () => [] }, {}, { netapi_enable_clients: ["runner"] });
  const headers = {
    "X-Auth-Token": await site.login(),
    accept: "application/x-ndjson",
    "content-type": "application/json",
  };
  site.api.shared.channels.ask = async () => await Promise.reject(new Error("a fault"));
  const body = JSON.stringify({ client: "runner", fun: "test.arg" });
  for (let count = 0; count < 3; count += 1)
    assert.match(await (await site.fetch("/", { method: "POST", headers, body })).text(), /"status": 500/);
  assert.equal(site.api.counters.errors, 3);
  assert.equal(site.logged.filter((line) => line.includes("a request failed")).length, 1);
  await site.close();
});
