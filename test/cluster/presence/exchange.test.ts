/** Presence between two members on one nats-server: who is connected, who is gone, members that end, fall silent or come late. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Elsewhere } from "../../../src/cluster/presence/elsewhere.ts";
import { PresenceExchange } from "../../../src/cluster/presence/exchange.ts";
import { presenceIdsOfMessageMax } from "../../../src/limits.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { NatsServer } from "../nats.ts";

const deadlineMs = 30_000;

/** `here`: its connected minions. `heard`: what it was told of minions that came or left. */
class Member {
  readonly here = new Set<string>();
  readonly elsewhere = new Elsewhere();
  readonly heard: string[] = [];
  exchange: PresenceExchange | undefined;

  constructor() {
    this.elsewhere.follow({
      isHere: (id) => this.here.has(id),
      onArrived: (id) => this.heard.push(`+${id}`),
      onLeft: (id) => this.heard.push(`-${id}`),
    });
  }

  connect(...ids: readonly string[]): void {
    for (const id of ids) {
      this.here.add(id);
      this.elsewhere.noteContact(id);
    }
  }

  async open(server: NatsServer, member: string): Promise<void> {
    const { nats } = await server.connect();
    const { digest, others } = this.elsewhere;
    const logger = { warn: () => undefined, info: () => undefined };
    this.exchange = new PresenceExchange({ nats, subject: "sw_test.presence", member, digest, others, logger });
  }

  seen(): string[] {
    return [...this.elsewhere.ids()].sort();
  }

  async until(what: string, isDone: () => boolean): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    while (!isDone()) {
      assert.ok(performance.now() < endMs, `not in time: ${what}; sees ${this.seen().slice(0, 9)}`);
      await delay(10);
    }
  }

  untilSees(...ids: readonly string[]): Promise<void> {
    return this.until(`sees ${ids}`, () => this.seen().join() === ids.join());
  }
}

describe("presence of a cluster", { skip: await natsServerSkip(), timeout: 120_000 }, () => {
  const server = new NatsServer();
  const [a, b, late] = [new Member(), new Member(), new Member()];
  before(async () => {
    await server.start();
    await a.open(server, "a");
    await b.open(server, "b");
  });
  after(async () => {
    await Promise.all([a, b, late].map((member) => member.exchange?.close()));
    await server.close();
  });

  it("tells who came and who is gone", async () => {
    b.connect("web1", "web2");
    await a.untilSees("web1", "web2");
    assert.deepEqual(b.seen(), []);
    b.here.delete("web1");
    await a.untilSees("web2");
    assert.deepEqual(a.heard, ["+web1", "+web2", "-web1"]);
  });

  it("tells a member that comes late all of it, in parts, and each minion once", async () => {
    const many = Array.from({ length: 2 * presenceIdsOfMessageMax + 1 }, (_, index) => `many${index}`);
    b.connect(...many);
    a.connect("many0");
    await late.open(server, "late");
    await late.until("all are seen", () => late.seen().length === many.length + 1);
    assert.equal(late.heard.filter((line) => line === "+many0").length, 1);
    assert.deepEqual([...late.elsewhere.others.counts().keys()].sort(), ["a", "b"]);
    b.here.delete("many0");
    await late.until("b tells it gone", () => late.elsewhere.others.counts().get("b") === many.length);
    assert.ok(late.elsewhere.has("many0"), "it is connected to a, still");
  });

  it("is whole again after the server was away", async () => {
    await server.kill();
    b.connect("meanwhile");
    b.here.delete("web2");
    await server.start();
    await a.until("it is told", () => a.elsewhere.has("meanwhile") && !a.elsewhere.has("web2"));
  });

  it("forgets a member that ends at once", async () => {
    await b.exchange?.close();
    await a.until("b is gone", () => !a.elsewhere.others.counts().has("b"));
    assert.equal(a.elsewhere.has("meanwhile"), false);
    await late.until("b is gone", () => !late.elsewhere.others.counts().has("b"));
    assert.deepEqual(late.seen(), ["many0"]);
  });
});
