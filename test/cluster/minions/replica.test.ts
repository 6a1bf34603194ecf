/** Minions' grains, pillars and mines on two members: sent once, newest wins, removals, members that were away. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openMinionData } from "../../../src/store/minions/data.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { type NatsClients, NatsServer } from "../nats.ts";
import { packed, TestMember } from "./member.ts";

/** Consumers at a server that has none of the messages until it has caught up. */
function behind({ jetstream }: NatsClients, onAsked: () => void, caughtUp: Promise<void>) {
  const { consumers } = jetstream;
  const get = async (...asked: Parameters<typeof consumers.get>) => {
    const consumer = await consumers.get(...asked);
    const info = async () => ({ ...(await consumer.info()), num_pending: 0 });
    const consume = async (...options: Parameters<typeof consumer.consume>) => {
      const messages = await consumer.consume(...options);
      onAsked();
      async function* late() {
        await caughtUp;
        yield* messages;
      }
      return Object.assign(late(), { stop: () => messages.stop(), close: () => messages.close() });
    };
    return Object.assign(Object.create(consumer) as typeof consumer, { info, consume });
  };
  return Object.create(consumers, { get: { value: get } }) as typeof consumers;
}

describe("minions' data of a cluster", { skip: await natsServerSkip(), timeout: 120_000 }, () => {
  const temporary = temporaryDirectories();
  const server = new NatsServer();
  const a = new TestMember(server, "sw_data", temporary());
  const b = new TestMember(server, "sw_data", temporary());
  const members = [a, b];
  const accept = (...ids: readonly string[]) => {
    for (const id of ids) for (const member of members) member.accepted.add(id);
  };
  const none = packed({});
  before(async () => {
    await server.start();
    await a.start();
    await b.start();
  });
  after(async () => {
    await Promise.all(members.map((member) => member.stop()));
    await server.close();
  });

  it("comes to the other member: grains, pillar and mine", async () => {
    accept("web1");
    await a.facts.keep("web1", packed({ os: "Debian" }), packed({ role: "web" }));
    await a.store.putMine("web1", packed({ "network.ip": "10.0.0.1" }));
    await b.untilGrains("web1", { os: "Debian" });
    assert.deepEqual(Buffer.from(b.facts.stored("web1")?.pillar ?? none), packed({ role: "web" }));
    await b.untilMine("web1", { "network.ip": "10.0.0.1" });
  });

  it("is not sent again if it is the same, at either member", async () => {
    await a.untilSent();
    const sent = () => members.map(({ replica }) => replica.sender.counters.sent);
    const before = sent();
    for (const { facts, store } of members) {
      await facts.keep("web1", packed({ os: "Debian" }), packed({ role: "web" }));
      await store.putMine("web1", packed({ "network.ip": "10.0.0.1" }));
    }
    // One more part goes the same way after them.
    accept("after1");
    await a.store.putMine("after1", packed({ one: 1 }));
    await b.store.putMine("after1", packed({ one: 1 }));
    await b.untilMine("after1", { one: 1 });
    await Promise.all(members.map((member) => member.untilSent()));
    assert.ok(sent().reduce((sum, count) => sum + count, 0) <= before.reduce((sum, count) => sum + count, 0) + 2);
  });

  it("is the newest at both, however often it changes at either", async () => {
    accept("busy1");
    for (let round = 0; round < 20; round += 1) {
      const member = round % 3 === 0 ? b : a;
      await member.store.putMine("busy1", packed({ round }));
    }
    await Promise.all(members.map((member) => member.untilSent()));
    await a.until("both are alike", () => a.mine("busy1") === b.mine("busy1"));
    await a.store.putMine("busy1", packed({ round: "last" }));
    await b.untilMine("busy1", { round: "last" });
  });

  it("is removed at both when an operator clears it or the key is deleted", async () => {
    accept("gone1");
    await a.facts.keep("gone1", packed({ os: "Arch" }), none);
    await a.store.putMine("gone1", packed({ one: 1 }));
    await b.untilMine("gone1", { one: 1 });
    await b.untilGrains("gone1", { os: "Arch" });
    await b.store.dropMine("gone1");
    await a.untilMine("gone1", undefined);
    await b.untilSent();
    for (const member of members) {
      member.accepted.delete("gone1");
      await member.facts.drop("gone1", member.store.drop("gone1"));
    }
    await Promise.all(members.map((member) => member.untilSent()));
    accept("gone1");
    await b.facts.keep("gone1", packed({ os: "Alpine" }), none);
    await a.untilGrains("gone1", { os: "Alpine" });
    assert.equal(a.mine("gone1"), undefined);
  });

  it("waits at a member until it has accepted the minion's key", async () => {
    a.accepted.add("early1");
    await a.store.putMine("early1", packed({ one: 1 }));
    await a.untilSent();
    const { received } = b.replica.counters;
    accept("mark1");
    await a.store.putMine("mark1", packed({ one: 1 }));
    await b.until("it has come", () => b.replica.counters.received > received && b.mine("mark1") !== undefined);
    assert.equal(b.mine("early1"), undefined);
    b.accepted.add("early1");
    await b.untilMine("early1", { one: 1 });
  });

  it("comes to a member that was away, and to one that is new, each part once", async () => {
    await b.stop();
    accept("away1");
    for (const round of [1, 2, 3]) await a.store.putMine("away1", packed({ round }));
    await a.untilSent();
    await b.start();
    await b.untilMine("away1", { round: 3 });
    assert.ok(b.replica.counters.received <= 2, "it reads on from where it was");
    const fresh = new TestMember(server, "sw_data", temporary());
    for (const id of a.accepted) fresh.accepted.add(id);
    await fresh.start();
    try {
      await fresh.untilSent();
      for (const id of ["web1", "busy1", "away1"]) assert.equal(fresh.mine(id), a.mine(id), id);
      assert.equal(fresh.grains("web1"), a.grains("web1"));
      assert.equal(fresh.replica.sender.counters.sent, 0);
    } finally {
      await fresh.stop();
    }
  });

  it("that a member had before it joined goes to the others, unless they have something of the minion", async () => {
    const own = new TestMember(server, "sw_data", temporary());
    for (const id of [...a.accepted, "own1"]) own.accepted.add(id);
    own.openStore();
    await own.store.putMine("own1", packed({ one: 1 }));
    await own.stop();
    accept("own1");
    await own.start();
    try {
      await a.untilMine("own1", { one: 1 });
    } finally {
      await own.stop();
    }
  });

  it("of before it joined does not replace what its own server has not caught up with", async () => {
    const path = temporary();
    const alone = openMinionData({ path });
    await alone.putMine("late1", packed({ old: true }));
    await alone.close();
    const late = new TestMember(server, "sw_data", path);
    for (const id of [...a.accepted, "late1"]) late.accepted.add(id);
    accept("late1");
    await a.store.putMine("late1", packed({ old: false }));
    await b.untilMine("late1", { old: false });
    await new Promise<void>((resolve, reject) => {
      const caughtUp = new Promise<void>((catchUp) => {
        late.start((clients) => behind(clients, () => resolve(catchUp()), caughtUp)).catch(reject);
      });
    });
    try {
      await late.untilSent();
      await late.untilMine("late1", { old: false });
      assert.equal(late.replica.sender.counters.sent, 0);
    } finally {
      await late.stop();
    }
  });

  it("is kept while the server is away, newest of each part, and sent when it is back, also after a restart", async () => {
    await server.kill();
    accept("kept1", "kept2");
    for (const round of [1, 2]) await a.store.putMine("kept1", packed({ round }));
    await a.stop();
    await server.start();
    a.openStore();
    await a.store.putMine("kept2", packed({ one: 1 }));
    await a.start();
    await b.untilMine("kept1", { round: 2 });
    await b.untilMine("kept2", { one: 1 });
  });

  it("is not brought back by a message whose acknowledgement was lost", async () => {
    accept("lost1");
    const replaced = new Promise<void>((resolve) => {
      a.onUnacknowledged = () => resolve(b.store.putMine("lost1", packed({ newest: true })));
    });
    a.unacknowledged = 1;
    await a.store.putMine("lost1", packed({ newest: false }));
    await replaced;
    await b.untilSent();
    await a.untilMine("lost1", { newest: true });
    await a.untilSent();
    await b.untilMine("lost1", { newest: true });
  });

  it("of a newer release comes to a member after its upgrade, although later data came before", async () => {
    const newer = new TestMember(server, "sw_versions", temporary());
    const older = new TestMember(server, "sw_versions", temporary());
    const same = new TestMember(server, "sw_versions", temporary());
    const three = [newer, older, same];
    newer.version = 2;
    for (const member of three) for (const id of ["new1", "old1"]) member.accepted.add(id);
    try {
      for (const member of three) await member.start();
      await newer.store.putMine("new1", packed({ one: 1 }));
      await newer.untilSent();
      await same.store.putMine("old1", packed({ one: 1 }));
      await older.untilMine("old1", { one: 1 });
      assert.equal(older.mine("new1"), undefined);
      assert.equal(older.replica.counters.ignored, 1);
      const told = older.warnings.filter((text) => text.includes("has version 2"));
      assert.match(told.join(), /this member reads version 1: upgrade this member$/);
      await older.stop();
      await older.start();
      await older.untilSent();
      assert.equal(older.replica.counters.received, 0, "the same release reads nothing twice");
      await older.stop();
      older.version = 2;
      await older.start();
      await older.untilMine("new1", { one: 1 });
      assert.ok(older.warnings.at(-1)?.endsWith("upgrade the member that sends it"));
      await older.stop();
      await older.start();
      await older.untilSent();
      assert.equal(older.replica.counters.received, 0);
    } finally {
      for (const member of three) await member.stop();
    }
  });

  it("of another secret is ignored, and counted", async () => {
    const stranger = new TestMember(server, "sw_data", temporary(), Buffer.alloc(32, 8));
    await stranger.start();
    try {
      await stranger.until("it has read", () => stranger.replica.isCaughtUp);
      assert.ok(stranger.replica.counters.ignored > 0);
      assert.equal(stranger.replica.counters.applied, 0);
    } finally {
      await stranger.stop();
    }
  });
});
