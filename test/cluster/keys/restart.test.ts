/** What changed on either side while a member was down is told apart by its record of what was last in step. */
import assert from "node:assert/strict";
import { cpSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import type { ConsumeOptions, JsMsg } from "@nats-io/jetstream";
import { bucketKeyOf, encodeEntry } from "../../../src/cluster/keys/entry.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { type NatsClients, NatsServer } from "../nats.ts";
import { pem, TestMember } from "./member.ts";

const ids = ["web1", "web2", "web3", "web4"];

/** Clients of a server that was down a moment ago, and has none of the entries until it has caught up. */
function behind(clients: NatsClients, onAsked: () => void, caughtUp: Promise<void>): NatsClients {
  const { consumers } = clients.jetstream;
  const get = async (...asked: Parameters<typeof consumers.get>) => {
    const consumer = await consumers.get(...asked);
    const info = async () => ({ ...(await consumer.info()), num_pending: 0 });
    const consume = async (options: ConsumeOptions = {}) => {
      onAsked();
      const callback = (message: JsMsg) => void caughtUp.then(() => options.callback?.(message));
      return await consumer.consume({ ...options, callback });
    };
    return Object.assign(Object.create(consumer) as typeof consumer, { info, consume });
  };
  const jetstream = Object.create(clients.jetstream, { consumers: { value: { get } } }) as NatsClients["jetstream"];
  return { ...clients, jetstream };
}

describe("a member that was down", { skip: await natsServerSkip() }, () => {
  const temporary = temporaryDirectories();
  const server = new NatsServer();
  let a: TestMember;
  let b: TestMember;
  let bucket = "";
  let bucketCount = 0;
  before(() => server.start());
  after(() => server.close());
  afterEach(() => Promise.all([a.stop(), b.stop()]));

  /** Both in step with four accepted keys, and then B stopped. */
  async function begin(): Promise<void> {
    bucket = `restart_${++bucketCount}`;
    a = new TestMember(server, bucket, "master-a", temporary());
    b = new TestMember(server, bucket, "master-b", temporary());
    for (const id of ids) a.keys.write("accepted", id, pem(id));
    await a.start();
    await a.untilInStep();
    await b.start();
    for (const id of ids) await b.untilHolds(id, { accepted: pem(id) });
    await b.stop();
    b.changes.splice(0);
  }

  async function bothHold(id: string, expected: Record<string, string>): Promise<void> {
    await a.untilHolds(id, expected);
    await b.untilHolds(id, expected);
  }

  it("sends what was changed in its directories meanwhile: a new key, another state, a deletion", async () => {
    await begin();
    b.keys.move("web1", "accepted", "rejected");
    b.keys.remove("accepted", "web2");
    b.keys.write("accepted", "web9", pem("web9"));
    await b.start();
    await bothHold("web1", { rejected: pem("web1") });
    await bothHold("web2", {});
    await bothHold("web9", { accepted: pem("web9") });
    assert.deepEqual(b.warnings(""), []);
  });

  it("deletes nothing that its own server has not caught up with", async () => {
    await begin();
    let catchUp = (): void => assert.fail("nothing was asked");
    const caughtUp = new Promise<void>((resolve) => {
      catchUp = resolve;
    });
    let starting: Promise<void> = Promise.resolve();
    await new Promise<void>((asked) => {
      starting = b.start((clients) => behind(clients, asked, caughtUp));
    });
    catchUp();
    await starting;
    await b.untilInStep();
    for (const id of ids) await bothHold(id, { accepted: pem(id) });
    await b.stop();
    assert.deepEqual(b.changes, []);
  });

  it("sends a deletion of a key that came in the second before it was killed", async () => {
    await begin();
    await b.start();
    a.keys.write("accepted", "web9", pem("web9"));
    await b.untilHolds("web9", { accepted: pem("web9") });
    const folder = dirname(b.recordFile);
    const atDeath = join(temporary(), "record");
    cpSync(folder, atDeath, { recursive: true });
    await b.stop();
    rmSync(folder, { recursive: true });
    cpSync(atDeath, folder, { recursive: true });
    b.keys.remove("accepted", "web9");
    await b.start();
    await bothHold("web9", {});
    assert.deepEqual(b.warnings(""), []);
  });

  it("takes what others changed meanwhile, and accepts no key that was deleted", async () => {
    await begin();
    a.keys.move("web1", "accepted", "rejected");
    a.keys.remove("accepted", "web2");
    a.keys.write("accepted", "web9", pem("web9"));
    await a.until("sent", () => a.replica.counters.sent === ids.length + 3);
    await b.start();
    assert.deepEqual(b.look("web1"), { rejected: pem("web1") });
    assert.deepEqual(b.look("web2"), {});
    assert.deepEqual(b.look("web9"), { accepted: pem("web9") });
    assert.deepEqual(b.warnings(""), []);
    await b.until("told", () => b.changes.length === 1);
    assert.deepEqual(b.changes[0], {
      added: ["web9"],
      removed: ["web1", "web2"],
      changed: [],
      rotate: false,
    });
  });

  it("gives way where both changed, and says so", async () => {
    await begin();
    a.keys.move("web1", "accepted", "rejected");
    a.keys.remove("accepted", "web2");
    a.keys.write("accepted", "web3", pem("new"));
    await a.until("sent", () => a.replica.counters.sent === ids.length + 3);
    b.keys.move("web1", "accepted", "denied");
    b.keys.write("accepted", "web2", pem("newer"));
    b.keys.remove("accepted", "web3");
    await b.start();
    await bothHold("web1", { rejected: pem("web1") });
    await bothHold("web2", {});
    await bothHold("web3", { accepted: pem("new") });
    assert.deepEqual(
      b
        .warnings("the other's holds")
        .map(({ fields }) => [fields.id, fields.here, fields.there, fields.member])
        .toSorted(),
      [
        ["web1", "denied", "rejected", "master-a"],
        ["web2", "accepted", "none", ""],
        ["web3", "none", "accepted", "master-a"],
      ],
    );
  });

  it("has nothing to say where both made the same change", async () => {
    await begin();
    for (const member of [a, b]) member.keys.move("web1", "accepted", "rejected");
    for (const member of [a, b]) member.keys.remove("accepted", "web2");
    await a.until("sent", () => a.replica.counters.sent === ids.length + 2);
    await b.start();
    await b.untilInStep();
    await bothHold("web1", { rejected: pem("web1") });
    await bothHold("web2", {});
    assert.deepEqual([b.warnings(""), b.changes], [[], []]);
  });

  it("sends a key that was deleted before, and came again while it was down", async () => {
    await begin();
    await b.start();
    a.keys.remove("accepted", "web1");
    await b.untilHolds("web1", {});
    await b.stop();
    b.keys.write("pending", "web1", pem("new"));
    await b.start();
    await bothHold("web1", { pending: pem("new") });
  });

  it("without its record unites both sides, and still takes no deleted key", async () => {
    await begin();
    a.keys.remove("accepted", "web1");
    await a.until("sent", () => a.replica.counters.sent === ids.length + 1);
    rmSync(b.recordFile);
    b.keys.remove("accepted", "web2");
    b.keys.write("accepted", "web9", pem("web9"));
    await b.start();
    await bothHold("web1", {});
    await bothHold("web2", { accepted: pem("web2") });
    await bothHold("web9", { accepted: pem("web9") });
  });

  it("names a damaged record, and does as without one", async () => {
    await begin();
    truncateSync(b.recordFile, 60);
    b.keys.remove("accepted", "web2");
    await b.start();
    await bothHold("web2", { accepted: pem("web2") });
    assert.equal(b.warnings("the record of keys in step is damaged")[0]?.fields.file, b.recordFile);
    assert.equal(b.lines.filter(({ level }) => level === "warn").length, 1);
  });

  it("deletes no key because the bucket was made anew", async () => {
    await begin();
    await a.stop();
    const { kvm } = await server.connect();
    await (await kvm.open(bucket)).destroy();
    await b.start();
    await b.untilInStep();
    assert.equal(b.warnings("made anew").length, 1);
    await a.start();
    for (const id of ids) await bothHold(id, { accepted: pem(id) });
  });

  it("deletes no key on the others because its directories were lost", async () => {
    for (const isWholeLost of [true, false]) {
      await begin();
      rmSync(isWholeLost ? b.pkiDir : join(b.pkiDir, "minions"), { recursive: true });
      await b.start();
      assert.equal(b.warnings("missing or empty").length, 1);
      for (const id of ids) await bothHold(id, { accepted: pem(id) });
      await Promise.all([a.stop(), b.stop()]);
    }
    await begin();
  });

  it("writes a key again whose file a loss of power left empty", async () => {
    await begin();
    writeFileSync(join(b.pkiDir, "minions", "web1"), "");
    await b.start();
    await bothHold("web1", { accepted: pem("web1") });
    assert.equal(b.warnings("empty or too large").length, 1);
    assert.deepEqual(a.warnings(""), []);
  });

  it("knows a key of its own that was sent, and not yet in its record", async () => {
    await begin();
    const { kvm } = await server.connect();
    const kv = await kvm.open(bucket);
    const revision = (await kv.get(bucketKeyOf("web1")))?.revision ?? 0;
    const keys = { rejected: pem("web1") };
    await kv.update(bucketKeyOf("web1"), encodeEntry({ id: "web1", by: "master-b", keys }), revision);
    b.keys.remove("accepted", "web1");
    await b.start();
    await bothHold("web1", {});
    assert.deepEqual(b.warnings(""), []);
  });
});
