/** One user's streams: over the bound of a user each form of stream is refused, and other users have theirs. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { WebSocket } from "ws";
import { apiStreamsOfUserMax, apiStreamTagsMax } from "../../../src/limits.ts";
import { ApiSite } from "../api-site.ts";
import { exchange } from "./raw-client.ts";

const json = { "content-type": "application/json" };
const ping = JSON.stringify({ client: "local", tgt: "*", fun: "test.ping" });
const text = "Too many streams of this user are open";
let site: ApiSite;

function linesOf(id: string, signal: AbortSignal): Promise<Response> {
  const headers = { ...json, Accept: "application/x-ndjson", "X-Auth-Token": id };
  return site.fetch("/", { method: "POST", body: ping, headers, signal });
}

function eventsOf(id: string, signal: AbortSignal): Promise<Response> {
  return site.fetch("/events", { headers: { "X-Auth-Token": id }, signal });
}

const socketOf = (id: string) => new WebSocket(`ws://127.0.0.1:${site.port}/ws/${id}`);

describe("streams of one user", () => {
  beforeEach(async () => {
    // The job goes on as long as the test.
    const publish = () => ({ load: { jid: "20261126000000000000", minions: ["a"] } });
    const options = { netapi_enable_clients: ["local"], timeout: 300, rest_timeout: 300 };
    site = await ApiSite.start({ publish }, { collect_stats: true }, options);
  });
  afterEach(async () => await site.close());

  it("over their bound get 429, in each form, and another user's are opened meanwhile", async () => {
    const [ann, bob] = [await site.login("ann"), await site.login("bob")];
    const { streamSlots } = site.api.admission;
    const others = Array.from({ length: apiStreamsOfUserMax - 3 }, () => streamSlots.take("auto ann"));
    const ending = new AbortController();
    const lines = await linesOf(ann, ending.signal);
    assert.deepEqual([lines.status, lines.headers.get("content-type")], [200, "application/x-ndjson"]);
    assert.equal((await eventsOf(ann, ending.signal)).status, 200);
    const socket = socketOf(ann);
    await once(socket, "open");
    assert.equal(streamSlots.openOf("auto ann"), apiStreamsOfUserMax);
    for (const refused of [await eventsOf(ann, ending.signal), await linesOf(ann, ending.signal)]) {
      assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "2"]);
      assert.deepEqual(await refused.json(), { status: 429, return: text, code: "USER_BUSY" });
    }
    const refusedSocket = socketOf(ann).on("error", () => undefined);
    const [, refused] = await once(refusedSocket, "unexpected-response");
    assert.deepEqual([refused.statusCode, refused.headers["retry-after"]], [429, "2"]);
    refusedSocket.terminate();
    assert.equal((await eventsOf(bob, ending.signal)).status, 200);
    const { body } = await site.get("/stats", ann);
    assert.equal((body as { Saltworks: { streams: { refusedOfUser: number } } }).Saltworks.streams.refusedOfUser, 3);
    socket.terminate();
    ending.abort();
    for (const leave of others) leave();
    while (streamSlots.openOf("auto ann") > 0 || streamSlots.openOf("auto bob") > 0) await turn();
    const again = new AbortController();
    assert.equal((await eventsOf(ann, again.signal)).status, 200);
    again.abort();
  });

  it("leave no place behind when they are refused or never begin", async () => {
    const id = await site.login("ann");
    const { streamSlots } = site.api.admission;
    const headers = { "X-Auth-Token": id };
    assert.equal((await site.fetch(`/events?${"tag=a&".repeat(apiStreamTagsMax + 1)}`, { headers })).status, 400);
    assert.equal((await site.fetch(`/ws/${id}`)).status, 426);
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    assert.match(await exchange(site.port, `GET /ws/${id} HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`), /^HTTP\/1\.1 400 /);
    while (streamSlots.openOf("auto ann") > 0) await turn();
  });
});
