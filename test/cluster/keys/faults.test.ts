/** Keys of a cluster whose bucket is damaged, away, or made anew while the members run. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { bucketKeyOf, encodeEntry } from "../../../src/cluster/keys/entry.ts";
import { keyEntryBytesMax } from "../../../src/limits.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { NatsServer } from "../nats.ts";
import { pem, TestMember } from "./member.ts";

const bucket = "sw_one_keys";

describe("keys of a cluster in trouble", { skip: await natsServerSkip() }, () => {
  const temporary = temporaryDirectories();
  let server: NatsServer;
  let a: TestMember;
  let b: TestMember;
  beforeEach(async () => {
    server = new NatsServer();
    await server.start();
    a = new TestMember(server, bucket, "master-a", temporary());
    b = new TestMember(server, bucket, "master-b", temporary());
    for (const member of [a, b]) await member.start();
  });
  afterEach(async () => {
    await Promise.all([a.stop(), b.stop()]);
    await server.close();
  });

  it("ignores entries that it cannot read, names each once, and takes a good one after it", async () => {
    const kv = await (await server.connect()).kvm.open(bucket);
    const good = { id: "web1", by: "master-x", keys: { accepted: pem("web1") } };
    const poison: [string, Uint8Array | string, RegExp][] = [
      ["web1", "text", /./],
      ["web2", encode({ id: "web2", by: "master-x", keys: { accepted: "x" } }, "bin"), /no version/],
      ["web3", encodeEntry(good), /another id/],
      ["web4", encode({ v: 1, id: "web4", by: "x", keys: {} }, "bin"), /no key/],
      ["web5", encode({ v: 1, id: "web5", by: "x", keys: { accepted: 1 } }, "bin"), /not text/],
      ["web6", encode({ v: 1, id: "web6", by: "x", keys: { accepted: "k".repeat(keyEntryBytesMax) } }, "bin"), /bytes/],
      ["../../web7", encode({ v: 1, id: "../../web7", by: "x", keys: { accepted: "x" } }, "bin"), /minion's id/],
    ];
    for (const [id, bytes] of poison) await kv.put(bucketKeyOf(id), bytes);
    await kv.put("not.base64", encodeEntry(good));
    await a.until("all are seen", () => a.replica.counters.ignored === poison.length + 1);
    const named = a.warnings("ignored");
    assert.equal(named.length, poison.length + 1);
    poison.forEach(([id, , reason], index) => {
      assert.match(String(named[index]?.fields.reason), reason);
      assert.deepEqual(a.look(id), {});
    });
    await kv.put(bucketKeyOf("web1"), encodeEntry(good));
    await b.untilHolds("web1", { accepted: pem("web1") });
  });

  it("writes nothing over an entry of a newer version, also after a restart", async () => {
    const kv = await (await server.connect()).kvm.open(bucket);
    a.keys.write("accepted", "web1", pem("web1"));
    await b.untilHolds("web1", { accepted: pem("web1") });
    const newer = encode({ v: 2, id: "web1" }, "bin");
    await kv.put(bucketKeyOf("web1"), newer);
    await a.until("it is seen", () => a.replica.counters.ignored === 1);
    a.keys.move("web1", "accepted", "rejected");
    a.keys.write("accepted", "web2", pem("web2"));
    await b.untilHolds("web2", { accepted: pem("web2") });
    await a.stop();
    await a.start();
    a.keys.remove("accepted", "web2");
    await b.untilHolds("web2", {});
    assert.deepEqual((await kv.get(bucketKeyOf("web1")))?.value, new Uint8Array(newer));
    assert.deepEqual(a.look("web1"), { rejected: pem("web1") });
  });

  it("keeps changes while the server is away, says so once, and sends them when it is back", async () => {
    a.keys.write("accepted", "web1", pem("web1"));
    await b.untilHolds("web1", { accepted: pem("web1") });
    await server.kill();
    a.keys.remove("accepted", "web1");
    a.keys.write("accepted", "web2", pem("web2"));
    b.keys.write("pending", "web3", pem("web3"));
    await a.until("it says so", () => a.warnings("cannot reach the other members").length === 1);
    await a.until("it was tried again", () => a.replica.counters.putFailures > 1);
    await server.start();
    for (const member of [a, b]) {
      await member.untilHolds("web1", {});
      await member.untilHolds("web2", { accepted: pem("web2") });
      await member.untilHolds("web3", { pending: pem("web3") });
    }
    await a.untilInStep();
    assert.equal(a.warnings("cannot reach the other members").length, 1);
    assert.equal(a.lines.filter(({ text }) => text.includes("reach the other members again")).length, 1);
  });

  it("loses no change over five kills of the server", async () => {
    const expected = new Map<string, string>();
    for (let round = 0; round < 5; round += 1) {
      for (const [member, name] of [
        [a, "a"],
        [b, "b"],
      ] as const) {
        for (let count = 0; count < 20; count += 1) {
          const id = `${name}${round}-${count}`;
          member.keys.write(count % 2 === 0 ? "accepted" : "pending", id, pem(id));
          expected.set(id, count % 2 === 0 ? "accepted" : "pending");
        }
      }
      // The server dies while the changes are on their way, at another moment each time.
      await delay(round * 15);
      await server.kill();
      await server.start();
    }
    for (const member of [a, b]) {
      for (const [id, state] of expected) await member.untilHolds(id, { [state]: pem(id) });
      await member.untilInStep();
      assert.equal(member.replica.counters.conflicts, 0);
    }
  });

  it("starts again with all keys when the bucket is deleted under it", { timeout: 120_000 }, async () => {
    a.keys.write("accepted", "web1", pem("web1"));
    await b.untilHolds("web1", { accepted: pem("web1") });
    await (await (await server.connect()).kvm.open(bucket)).destroy();
    await a.until("made anew", () => a.warnings("made anew").length === 1);
    await b.until("made anew", () => b.warnings("made anew").length === 1);
    a.keys.write("accepted", "web2", pem("web2"));
    for (const member of [a, b]) {
      await member.untilHolds("web1", { accepted: pem("web1") });
      await member.untilHolds("web2", { accepted: pem("web2") });
    }
  });
});
