/** `event_return: nats` against a real server of NATS: what arrives, what a stream keeps, and what an operator reads when the server refuses. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { loadMasterConfig, type Overrides } from "../../../src/config/load.ts";
import type { EventRow, EventSink } from "../../../src/databases/contract/events.ts";
import { openEventSink } from "../../../src/databases/events/registry.ts";
import { hasCode } from "../../../src/errors.ts";
import { type Service, skipWithout, startNats } from "../../services/service.ts";

const password = "s3cret-of-nats";
const rules = `
authorization { users: [
  { user: salt, password: "${password}" }
  { user: reader, password: "${password}", permissions: { publish: ["$JS.API.>", "other"] } }
] }
max_payload: 100000
`;
const rowOf = (serial: number, data = `{"x": ${serial}}`): EventRow => ({ tag: `tag/${serial}`, data, serial });
const firstTime = { mayBePresent: false };

describe("events in NATS", { timeout: 60_000, skip: skipWithout("nats-server") }, () => {
  const directory = mkdtempSync(join(tmpdir(), "sw-nats-"));
  const sinks: EventSink[] = [];
  let server: Service;
  let listener: NatsConnection;

  before(async () => {
    writeFileSync(join(directory, "conf"), rules);
    server = await startNats("--config", join(directory, "conf"));
    listener = await connect({ servers: `127.0.0.1:${server.port}`, user: "salt", pass: password });
  });
  after(async () => {
    await Promise.all(sinks.map((sink) => sink.close()));
    await listener?.close();
    await server?.close();
    rmSync(directory, { recursive: true });
  });

  function open(more: Overrides = {}): EventSink {
    const account = { "nats.servers": [`127.0.0.1:${server.port}`], "nats.user": "salt", "nats.password": password };
    const sink = openEventSink(loadMasterConfig("/nowhere", { id: "m", ...account, ...more }), "nats");
    sinks.push(sink);
    return sink;
  }

  it("arrive in their order, as the JSON of Salt's rawfile_json", async () => {
    const heard = listener.subscribe("salt.events", { max: 2 });
    await listener.flush();
    const sink = open();
    await sink.check();
    assert.deepEqual(await sink.write([rowOf(1), rowOf(2, '{"text": "grüße \u{1f9c2}"}')], firstTime), {
      added: 2,
      present: 0,
    });
    const texts: string[] = [];
    for await (const message of heard) texts.push(message.string());
    assert.deepEqual(texts, [
      '{"data": {"x": 1}, "tag": "tag/1"}',
      '{"data": {"text": "grüße \u{1f9c2}"}, "tag": "tag/2"}',
    ]);
  });

  it("are in a stream once, also after an attempt with an unknown end", async () => {
    const stream = { name: "EVENTS", subjects: ["kept.events"], storage: "memory" };
    const ask = async (what: string, body: object) =>
      (await listener.request(`$JS.API.STREAM.${what}.EVENTS`, JSON.stringify(body))).json<{
        readonly error?: unknown;
        readonly state?: { readonly messages: number };
      }>();
    assert.equal((await ask("CREATE", stream)).error, undefined);
    const sink = open({ "nats.subject": "kept.events" });
    await sink.write([rowOf(1), rowOf(2)], firstTime);
    await sink.write([rowOf(1), rowOf(2), rowOf(3)], { mayBePresent: true });
    const other = open({ "nats.subject": "kept.events" });
    await other.write([rowOf(1)], firstTime);
    assert.equal((await ask("INFO", {})).state?.messages, 4);
  });

  it("that are larger than the server takes are refused, and nothing of their batch is sent", async () => {
    const sink = open();
    const heard = listener.subscribe("salt.events", { max: 1 });
    await listener.flush();
    const large = rowOf(2, JSON.stringify("x".repeat(100_000)));
    await assert.rejects(sink.write([rowOf(1), large], firstTime), { code: "DATABASE_REFUSED" });
    await sink.write([rowOf(3)], firstTime);
    for await (const message of heard) assert.equal(message.string(), '{"data": {"x": 3}, "tag": "tag/3"}');
  });

  it("wait for a server that refuses or ends, and the reason holds no password", async () => {
    const isTold = (words: RegExp) => (error: unknown) =>
      hasCode(error, "DATABASE_FAILED") && words.test(String(error)) && !String(error).includes(password);
    await assert.rejects(open({ "nats.password": "wrong" }).check(), isTold(/authorization violation/i));
    const reader = open({ "nats.user": "reader" });
    await assert.rejects(reader.write([rowOf(1)], firstTime), isTold(/permissions violation/i));
    const ending = await startNats();
    const sink = open({ "nats.servers": `127.0.0.1:${ending.port}`, "nats.user": null });
    await sink.check();
    await ending.close();
    await assert.rejects(sink.write([rowOf(1)], firstTime), isTold(/^SaltworksError: nats:\/\/127/));
  });
});
