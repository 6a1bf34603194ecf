/** Keys of two members are one set: what is changed in the directories of one is changed in those of the other. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { NatsServer } from "../nats.ts";
import { pem, TestMember } from "./member.ts";

describe("keys of two members", { skip: await natsServerSkip() }, () => {
  const temporary = temporaryDirectories();
  const server = new NatsServer();
  let [a, b]: TestMember[] = [];
  let bucketCount = 0;
  before(() => server.start());
  after(() => server.close());
  afterEach(() => Promise.all([a?.stop(), b?.stop()]));

  async function pair(prepare: (a: TestMember, b: TestMember) => void = () => undefined) {
    const bucket = `keys_${++bucketCount}`;
    const one = new TestMember(server, bucket, "master-a", temporary());
    const two = new TestMember(server, bucket, "master-b", temporary());
    [a, b] = [one, two];
    prepare(one, two);
    await one.start();
    await one.untilInStep();
    await two.start();
    await two.untilInStep();
    return { a: one, b: two };
  }

  it("follow each other when a key is pending, accepted, rejected, denied and deleted", async () => {
    const { a, b } = await pair();
    a.keys.write("pending", "web1", pem("one"));
    await b.untilHolds("web1", { pending: pem("one") });
    b.keys.move("web1", "pending", "accepted");
    await a.untilHolds("web1", { accepted: pem("one") });
    a.keys.write("denied", "web1", pem("other"));
    await b.untilHolds("web1", { accepted: pem("one"), denied: pem("other") });
    b.keys.move("web1", "accepted", "rejected");
    await a.untilHolds("web1", { rejected: pem("one"), denied: pem("other") });
    a.keys.remove("rejected", "web1");
    a.keys.remove("denied", "web1");
    await b.untilHolds("web1", {});
    assert.deepEqual([...a.warnings(""), ...b.warnings("")], []);
  });

  it("tell the master which accepted keys came, changed and went", async () => {
    const { a, b } = await pair();
    const nothing = { added: [], removed: [], changed: [], rotate: false };
    a.keys.write("accepted", "web1", pem("one"));
    await b.until("told", () => b.changes.length === 1);
    a.keys.write("accepted", "web1", pem("two"));
    await b.until("told", () => b.changes.length === 2);
    a.keys.remove("accepted", "web1");
    await b.until("told", () => b.changes.length === 3);
    assert.deepEqual(b.changes, [
      { ...nothing, added: ["web1"] },
      { ...nothing, changed: ["web1"] },
      { ...nothing, removed: ["web1"] },
    ]);
    assert.deepEqual(a.changes, []);
  });

  it("take ids that are not keys of a bucket, and a key that comes again after its deletion", async () => {
    const { a, b } = await pair();
    for (const id of ["web 1.example", "größe*>", "a".repeat(255)]) {
      a.keys.write("accepted", id, pem(id));
      await b.untilHolds(id, { accepted: pem(id) });
      b.keys.remove("accepted", id);
      await a.untilHolds(id, {});
      b.keys.write("pending", id, pem("new"));
      await a.untilHolds(id, { pending: pem("new") });
    }
  });

  it("do not send back what they were sent", async () => {
    const { a, b } = await pair();
    a.keys.write("accepted", "web1", pem("one"));
    await b.untilHolds("web1", { accepted: pem("one") });
    // Changes of another id pass through the same watches, so the first id has been looked at by then.
    b.keys.write("accepted", "web2", pem("two"));
    await a.untilHolds("web2", { accepted: pem("two") });
    await Promise.all([a.untilInStep(), b.untilInStep()]);
    assert.deepEqual([a.replica.counters.sent, b.replica.counters.sent], [1, 1]);
  });

  it("agree when both accept the same new minion at the same time", async () => {
    const { a, b } = await pair();
    for (const member of [a, b]) member.keys.write("accepted", "web1", pem("one"));
    await Promise.all([a.untilInStep(), b.untilInStep()]);
    await a.until("sent", () => a.replica.counters.sent + b.replica.counters.sent > 0);
    await Promise.all([a.untilInStep(), b.untilInStep()]);
    assert.deepEqual([a.look("web1"), b.look("web1")], [{ accepted: pem("one") }, { accepted: pem("one") }]);
    assert.equal(a.replica.counters.conflicts + b.replica.counters.conflicts, 0);
  });

  it("agree when both change a key differently at the same time, and name who lost", async () => {
    const { a, b } = await pair();
    const ids = Array.from({ length: 50 }, (_, index) => `web${index}`);
    for (const id of ids) a.keys.write("pending", id, pem(id));
    for (const id of ids) await b.untilHolds(id, { pending: pem(id) });
    await Promise.all([a.untilInStep(), b.untilInStep()]);
    for (const id of ids) {
      a.keys.move(id, "pending", "accepted");
      b.keys.move(id, "pending", "rejected");
    }
    const isSettled = (id: string) =>
      a.keys.stateOf(id) !== "pending" && JSON.stringify(a.look(id)) === JSON.stringify(b.look(id));
    await a.until("all agree", () => ids.every(isSettled));
    const conflicts = [...a.warnings("the other's holds"), ...b.warnings("the other's holds")];
    assert.equal(conflicts.length, ids.length);
    const first = conflicts[0]?.fields ?? {};
    assert.match(String(first.id), /^web\d+$/);
    assert.deepEqual([first.here, first.there].toSorted(), ["accepted", "rejected"]);
    assert.match(String(first.member), /^master-[ab]$/);
  });

  it("never take a key away while it moves between directories", async () => {
    const { a, b } = await pair();
    a.keys.write("pending", "web1", pem("one"));
    await b.untilHolds("web1", { pending: pem("one") });
    for (let count = 0; count < 200; count += 1) {
      a.keys.move("web1", "pending", "accepted");
      a.replica.noteLocal({ added: ["web1"], removed: [], changed: [] });
      a.keys.move("web1", "accepted", "pending");
      a.replica.noteLocal({ added: [], removed: ["web1"], changed: [] });
      await new Promise(setImmediate);
    }
    a.keys.move("web1", "pending", "accepted");
    await b.untilHolds("web1", { accepted: pem("one") });
    assert.deepEqual(a.warnings(""), []);
  });

  it("unite the keys of both at the first start, and the first member's hold", async () => {
    const { a, b } = await pair((one, two) => {
      one.keys.write("accepted", "only-a", pem("a"));
      two.keys.write("accepted", "only-b", pem("b"));
      one.keys.write("accepted", "both", pem("of a"));
      two.keys.write("rejected", "both", pem("of b"));
    });
    for (const member of [a, b]) {
      await member.untilHolds("only-a", { accepted: pem("a") });
      await member.untilHolds("only-b", { accepted: pem("b") });
      await member.untilHolds("both", { accepted: pem("of a") });
    }
    assert.deepEqual(
      b.warnings("the other's holds").map(({ fields }) => fields),
      [{ id: "both", here: "rejected", there: "accepted", member: "master-a" }],
    );
  });
});
