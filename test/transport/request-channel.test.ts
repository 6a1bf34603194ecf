import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Router } from "zeromq";
import { RequestChannel } from "../../src/transport/request-channel.ts";

type Handler = (text: string, seen: number) => string | undefined;

/** A request port that answers with `handler`'s result, or not at all. */
class Port {
  readonly socket = new Router();
  readonly seen: string[] = [];
  endpoint = "";
  handler: Handler = (text) => `re:${text}`;

  async open(): Promise<void> {
    await this.socket.bind("tcp://127.0.0.1:0");
    this.endpoint = this.socket.lastEndpoint ?? "";
    void this.#serve();
  }

  async #serve(): Promise<void> {
    for await (const [identity, , payload] of this.socket) {
      const text = String(payload);
      this.seen.push(text);
      const reply = this.handler(text, this.seen.length);
      if (reply !== undefined && identity) await this.socket.send([identity, Buffer.alloc(0), reply]);
    }
  }
}

describe("RequestChannel", () => {
  let port: Port;
  const opened: RequestChannel[] = [];
  const open = (options: { timeoutMs?: number; tries?: number; queueMax?: number } = {}): RequestChannel => {
    const channel = new RequestChannel({ endpoint: port.endpoint, timeoutMs: 5_000, tries: 1, ...options });
    opened.push(channel);
    return channel;
  };

  beforeEach(async () => {
    port = new Port();
    await port.open();
  });
  afterEach(() => {
    for (const channel of opened.splice(0)) channel.close();
    port.socket.close();
  });

  it("answers many requests in the order in which they were made, one at a time", async () => {
    const channel = open();
    const replies = await Promise.all(["a", "b", "c"].map((text) => channel.request(Buffer.from(text))));
    assert.deepEqual(replies.map(String), ["re:a", "re:b", "re:c"]);
    assert.deepEqual(port.seen, ["a", "b", "c"]);
  });

  it("asks again on a fresh socket when no reply comes, and drops a late reply", async () => {
    port.handler = (text, seen) => (seen === 1 ? undefined : `re:${text}`);
    const channel = open({ timeoutMs: 1_000, tries: 2 });
    assert.equal(String(await channel.request(Buffer.from("x"))), "re:x");
    assert.deepEqual(port.seen, ["x", "x"]);
    assert.equal(String(await channel.request(Buffer.from("y"))), "re:y");
  });

  it("gives up after the last try, and the next request is served", async () => {
    port.handler = (text) => (text === "silent" ? undefined : `re:${text}`);
    const channel = open({ timeoutMs: 1_000, tries: 2 });
    await assert.rejects(channel.request(Buffer.from("silent")), { code: "REQUEST_TIMEOUT" });
    assert.deepEqual(port.seen, ["silent", "silent"]);
    assert.equal(String(await channel.request(Buffer.from("next"), { timeoutMs: 5_000 })), "re:next");
  });

  it("lets one request have other times than its channel", async () => {
    port.handler = () => undefined;
    const channel = open({ timeoutMs: 60_000, tries: 5 });
    await assert.rejects(channel.request(Buffer.from("x"), { timeoutMs: 50, tries: 1 }), { code: "REQUEST_TIMEOUT" });
  });

  it("refuses requests beyond the line's length", async () => {
    port.handler = () => undefined;
    const channel = open({ queueMax: 1 });
    const first = assert.rejects(channel.request(Buffer.from("under way")), { code: "CHANNEL_CLOSED" });
    const second = assert.rejects(channel.request(Buffer.from("waits")), { code: "CHANNEL_CLOSED" });
    await assert.rejects(channel.request(Buffer.from("too many")), { code: "QUEUE_FULL" });
    channel.close();
    await Promise.all([first, second]);
  });

  it("gives up a request under way and one in line when their signals are aborted, and goes on", async () => {
    port.handler = (text) => (text.startsWith("silent") ? undefined : `re:${text}`);
    const channel = open();
    const underWay = new AbortController();
    const inLine = new AbortController();
    const first = channel.request(Buffer.from("silent 1"), { signal: underWay.signal });
    const second = channel.request(Buffer.from("silent 2"), { signal: inLine.signal });
    const third = channel.request(Buffer.from("third"));
    inLine.abort(new Error("no longer wanted"));
    await assert.rejects(second, { message: "no longer wanted" });
    underWay.abort(new Error("stop"));
    await assert.rejects(first, { message: "stop" });
    assert.equal(String(await third), "re:third");
    assert.ok(!port.seen.includes("silent 2"));
    await assert.rejects(channel.request(Buffer.from("x"), { signal: underWay.signal }), { message: "stop" });
  });

  it("rejects a request under way when it is closed, also after another was given up", async () => {
    const seen = new Promise<void>((resolve) => {
      port.handler = (text) => void (text === "second" && resolve());
    });
    const channel = open();
    const ending = new AbortController();
    const first = assert.rejects(channel.request(Buffer.from("first"), { signal: ending.signal }), { message: "stop" });
    const second = assert.rejects(channel.request(Buffer.from("second")), { code: "CHANNEL_CLOSED" });
    ending.abort(new Error("stop"));
    await first;
    await seen;
    channel.close();
    await second;
  });

  it("rejects what waits when it is closed, and everything afterwards", async () => {
    port.handler = () => undefined;
    const channel = open();
    const waiting = assert.rejects(channel.request(Buffer.from("x")), { code: "CHANNEL_CLOSED" });
    channel.close();
    channel.close();
    await waiting;
    await assert.rejects(channel.request(Buffer.from("y")), { code: "CHANNEL_CLOSED" });
  });

  it("waits for a port that is opened later", async () => {
    const folder = await mkdtemp(join(tmpdir(), "saltworks-channel-"));
    const endpoint = `ipc://${folder}/port.ipc`;
    const channel = new RequestChannel({ endpoint, timeoutMs: 10_000, tries: 1 });
    opened.push(channel);
    const reply = channel.request(Buffer.from("early"));
    const late = new Router();
    await late.bind(endpoint);
    const [identity, , payload] = await late.receive();
    assert.equal(String(payload), "early");
    await late.send([identity ?? "", "", "late but well"]);
    assert.equal(String(await reply), "late but well");
    late.close();
    await rm(folder, { recursive: true });
  });
});
