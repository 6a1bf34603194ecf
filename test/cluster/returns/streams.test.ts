/** Sender and receivers of returns on a real server, without masters. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { clusterNames } from "../../../src/cluster/names.ts";
import { encodeReturns, piecesOf, type SharedReturn } from "../../../src/cluster/returns/message.ts";
import { ReturnReceiver } from "../../../src/cluster/returns/receiver.ts";
import { ReturnSender } from "../../../src/cluster/returns/sender.ts";
import { ensureReturnStreams } from "../../../src/cluster/returns/streams.ts";
import { returnMessageBytesMax, returnRepeatWindowMs, returnStreamAgeMs } from "../../../src/limits.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { NatsServer } from "../nats.ts";

const skip = await natsServerSkip();

function returnOf(minionId: string, bytes = 10): SharedReturn {
  const body = Buffer.alloc(bytes, minionId);
  return { jid: "20261129000000000001", minionId, body, isStored: true, isFailed: false };
}

function noteIn(warnings: string[]) {
  return (fields: unknown, text?: unknown) => {
    const { err } = fields as { readonly err?: Error };
    warnings.push(`${text ?? fields}: ${err?.message ?? ""}`);
  };
}

describe("streams of returns", { skip, timeout: 120_000 }, () => {
  const server = new NatsServer();
  const directory = mkdtempSync(join(tmpdir(), "saltworks-returns-"));
  const clusterId = "test";
  const [firstStream = ""] = clusterNames(clusterId).returnStreams;
  const largeOf = (id: string) =>
    piecesOf("other", encodeReturns("other", [returnOf(id, 2 * returnMessageBytesMax)]), returnMessageBytesMax);
  const opened: (() => Promise<void>)[] = [];

  const openSender = async (member: string): Promise<ReturnSender> => {
    const clients = await server.connect();
    const sender = ReturnSender.open({ clusterId, member, servers: "NATS" }, async () => ({
      ...clients,
      close: () => clients.nats.close(),
    }));
    opened.push(() => sender.close());
    await untilTaken(sender, [returnOf(`hello of ${member}`)]);
    return sender;
  };
  const untilTaken = (sender: ReturnSender, returns: readonly SharedReturn[]) =>
    untilSo("the streams take returns", () =>
      sender.send(returns).then(
        () => true,
        (error: { readonly code?: string }) => {
          assert.equal(error.code, "CLUSTER_UNAVAILABLE");
          return false;
        },
      ),
    );
  /** `failures`: how many times the store fails first. */
  const openReceiver = async (member: string, failures = 0, refusals = () => 0) => {
    const clients = await server.connect();
    const got: string[] = [];
    const repairs: number[] = [];
    const warnings: string[] = [];
    let left = failures;
    const receiver = await ReturnReceiver.open({
      ...{ clients, clusterId, member, refusals },
      replicas: 1,
      placesFile: join(directory, member),
      logger: { info: () => undefined, warn: noteIn(warnings) },
      store: async (returns) => {
        left -= 1;
        if (left >= 0) throw new Error("the disk is full");
        for (const { minionId, body } of returns) got.push(`${minionId} ${body.byteLength}`);
      },
      repair: async (sinceMs) => {
        repairs.push(sinceMs);
        return 0;
      },
    });
    opened.push(() => receiver.close());
    /** Makes the next writes fail. */
    const fail = (times: number) => {
      left = times;
    };
    return { receiver, got, repairs, warnings, fail };
  };
  /** Resolves when the receiver has read the first stream to its end. */
  const untilRead = async ({ got }: { readonly got: readonly string[] }, id: string) => {
    const { jetstream } = await server.connect();
    await jetstream.publish(firstStream, encodeReturns("other", [returnOf(id)]));
    await untilSo("it has read the first stream", () => has(got, id));
  };
  const has = (got: readonly string[], id: string) => got.some((text) => text.startsWith(`${id} `));

  before(() => server.start());
  after(async () => {
    await Promise.all(opened.map((close) => close()));
    await server.close();
    rmSync(directory, { recursive: true });
  });

  it("bring returns of one member to the others, and not to itself", async () => {
    const [one, two] = [await openReceiver("one"), await openReceiver("two")];
    const sender = await openSender("one");
    await sender.send([returnOf("web1"), returnOf("web2")]);
    await untilSo("the other has both", () => has(two.got, "web1") && has(two.got, "web2"));
    await untilSo("it saw its own", () => one.receiver.counters.own >= 2);
    assert.deepEqual(one.got, []);
    await Promise.all([one.receiver.close(), two.receiver.close()]);
  });

  it("bring a return that is larger than a message", async () => {
    const { got } = await openReceiver("three", 5);
    const sender = await openSender("four");
    await sender.send([returnOf("small"), returnOf("large", 3 * returnMessageBytesMax + 5), returnOf("last")]);
    await untilSo("it has all", () => ["small", "large", "last"].every((id) => has(got, id)));
    assert.ok(got.includes(`large ${3 * returnMessageBytesMax + 5}`));
  });

  it("are read on from where a member was, and once more if its store failed", async () => {
    const first = await openReceiver("five", 2);
    const sender = await openSender("six");
    await sender.send([returnOf("early")]);
    await untilSo("it has the first", () => has(first.got, "early"));
    assert.ok(first.receiver.counters.failures > 0);
    await first.receiver.close();
    await sender.send([returnOf("late")]);
    const second = await openReceiver("five");
    await untilSo("it has the second", () => has(second.got, "late"));
    assert.ok(!has(second.got, "early"));
    assert.equal(second.receiver.lostCount, 0);
  });

  it("give a member that has lost its notes its own returns back", async () => {
    const sender = await openSender("seven");
    await sender.send([returnOf("mine")]);
    const { got } = await openReceiver("seven");
    await untilSo("it has its own", () => has(got, "mine"));
  });

  it("tell what they dropped before a member read it", async () => {
    const first = await openReceiver("eight");
    const sender = await openSender("nine");
    await untilSo("it has read", () => has(first.got, "hello of nine"));
    await first.receiver.close();
    for (const _ of clusterNames(clusterId).returnStreams) await sender.send([returnOf("dropped")]);
    const { manager } = await server.connect();
    for (const name of clusterNames(clusterId).returnStreams) await manager.streams.purge(name);
    const second = await openReceiver("eight");
    await untilSo("it counts them", () => second.receiver.lostCount >= clusterNames(clusterId).returnStreams.length);
    assert.ok(!has(second.got, "dropped"));
  });

  it("refuse returns while the server is away, and have them repaired after it", async () => {
    const sender = await openSender("ten");
    let refusals = 0;
    const { repairs } = await openReceiver("ten", 0, () => refusals);
    await server.kill();
    await assert.rejects(sender.send([returnOf("refused")]), { code: "CLUSTER_UNAVAILABLE" });
    refusals += 1;
    await server.start();
    await untilTaken(sender, [returnOf("refused")]);
    assert.ok(sender.counters.refused >= 1);
    await untilSo("it repairs", () => repairs.length > 0);
    assert.ok((repairs[0] ?? 0) < Date.now());
  });

  it("give a member its own returns back, also if it ends before it has them all", async () => {
    const sender = await openSender("eleven");
    await sender.send([returnOf("mine too")]);
    const first = await openReceiver("eleven", Number.POSITIVE_INFINITY);
    await untilSo("it cannot store them", () => first.receiver.counters.failures > 0);
    await first.receiver.close();
    const { got } = await openReceiver("eleven");
    await untilSo("it has its own", () => has(got, "mine too"));
  });

  it("bring a large return that was whole when the member ended, but not stored", async () => {
    const { jetstream } = await server.connect();
    const first = await openReceiver("twelve");
    await untilRead(first, "before unstored");
    const [begin, ...rest] = largeOf("unstored");
    const before = first.receiver.counters.messages;
    await jetstream.publish(firstStream, begin ?? assert.fail("no piece"));
    await untilSo("it has the first piece", () => first.receiver.counters.messages > before);
    first.fail(Number.POSITIVE_INFINITY);
    for (const piece of rest) await jetstream.publish(firstStream, piece);
    await untilSo("it cannot store it", () => first.receiver.counters.failures > 0);
    await first.receiver.close();
    const { got } = await openReceiver("twelve");
    await untilSo("it has it", () => has(got, "unstored"));
  });

  it("bring a large return while the member's clock jumps", async (t) => {
    const { jetstream } = await server.connect();
    const { got, receiver } = await openReceiver("thirteen");
    await untilRead({ got }, "before the jump");
    const before = receiver.counters.messages;
    const [begin, ...rest] = largeOf("through time");
    await jetstream.publish(firstStream, begin ?? assert.fail("no piece"));
    await untilSo("it has read the first piece", () => receiver.counters.messages > before);
    const { now } = Date;
    t.mock.method(Date, "now", () => now() + 2 * returnRepeatWindowMs);
    for (const piece of rest) await jetstream.publish(firstStream, piece);
    await untilSo("it has it", () => has(got, "through time"));
  });

  it("tell what they dropped in the middle", async () => {
    const { manager, jetstream } = await server.connect();
    const sequences: number[] = [];
    for (const id of ["before", "between", "behind"])
      sequences.push((await jetstream.publish(firstStream, encodeReturns("other", [returnOf(id)]))).seq);
    await manager.streams.deleteMessage(firstStream, sequences[1] ?? assert.fail("no second"));
    const { got, receiver } = await openReceiver("fourteen");
    await untilSo("it has the others", () => has(got, "before") && has(got, "behind"));
    assert.equal(receiver.lostCount, 1);
  });

  it("wait at a message of a later release", async () => {
    const { manager, jetstream } = await server.connect();
    const first = await openReceiver("fifteen");
    const later = encodeReturns("other", [returnOf("later")]);
    later[0] = 2;
    const { seq } = await jetstream.publish(firstStream, later);
    await jetstream.publish(firstStream, encodeReturns("other", [returnOf("after later")]));
    await untilSo("it warns", () => first.warnings.some((text) => text.includes("upgrade this member")));
    await first.receiver.close();
    assert.ok(!has(first.got, "after later"));
    assert.equal(first.receiver.counters.malformed, 0);
    await manager.streams.deleteMessage(firstStream, seq);
    const second = await openReceiver("fifteen");
    await untilSo("it goes on", () => has(second.got, "after later"));
    assert.equal(second.receiver.lostCount, 1);
  });

  it("are made anew if one is gone, and get again what members have", async () => {
    const { manager, jetstream } = await server.connect();
    const { got, repairs, warnings } = await openReceiver("sixteen");
    await untilRead({ got }, "before the loss");
    await manager.streams.delete(firstStream);
    await untilSo("it sends its own again", () => repairs.length > 0);
    assert.ok((repairs[0] ?? 0) <= Date.now() - returnStreamAgeMs);
    assert.ok(warnings.some((text) => text.includes("made anew: this member sends its returns again")));
    await jetstream.publish(firstStream, encodeReturns("other", [returnOf("afterwards")]));
    await untilSo("it reads on", () => has(got, "afterwards"));
  });

  it("get the bounds that they lack, and keep higher ones", async () => {
    const { manager } = await server.connect();
    const configOf = async () => (await manager.streams.info("bounded")).config;
    await ensureReturnStreams(manager, ["bounded"], 1);
    const { max_age: ageNs, max_bytes: bytes } = await configOf();
    await manager.streams.update("bounded", { max_age: ageNs / 2, max_bytes: 2 * bytes });
    await ensureReturnStreams(manager, ["bounded"], 1);
    const { max_age: raisedNs, max_bytes: kept } = await configOf();
    assert.deepEqual([raisedNs, kept], [ageNs, 2 * bytes]);
    await manager.streams.delete("bounded");
  });

  it("are read to their ends after a large return whose rest never came", async () => {
    const { streams, manager, jetstream } = {
      streams: clusterNames(clusterId).returnStreams,
      ...(await server.connect()),
    };
    const whole = encodeReturns("dead", [returnOf("never", returnMessageBytesMax)]);
    const [, rest] = piecesOf("dead", whole, returnMessageBytesMax);
    for (const name of streams) await jetstream.publish(name, rest ?? assert.fail("no second piece"));
    const sender = await openSender("alive");
    const ids = Array.from({ length: 2 * streams.length + 1 }, (_, index) => `behind${index}`);
    for (const id of ids) await sender.send([returnOf(id)]);
    const { got, receiver } = await openReceiver("reader");
    await untilSo("it has all", () => ids.every((id) => has(got, id)));
    const infos = await Promise.all(streams.map((name) => manager.streams.info(name)));
    const count = infos.reduce((sum, { state }) => sum + state.messages, 0);
    await untilSo("it has read all", () => receiver.counters.messages === count);
  });
});
