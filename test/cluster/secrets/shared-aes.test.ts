/** The AES key of a cluster: one at each moment, also when two members rotate at once and when its record vanishes. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, describe, it } from "node:test";
import type { KV } from "@nats-io/kv";
import { SharedAes } from "../../../src/cluster/secrets/shared-aes.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";
import type { PresentKeys } from "../../../src/store/secrets/secrets.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { type NatsClients, NatsServer } from "../nats.ts";

const keysOf = (aes: string): PresentKeys => ({ aes, former: undefined, createdMs: 1 });
const lookMs = 20;

describe("the AES key of a cluster", { skip: await natsServerSkip(), timeout: 60_000 }, () => {
  const server = new NatsServer();
  const box = secretBoxWith(randomBytes(32));
  const opened: SharedAes[] = [];
  let clients: NatsClients;
  let bucketCount = 0;
  before(async () => {
    await server.start();
    clients = await server.connect();
  });
  after(() => server.close());
  afterEach(() => {
    for (const shared of opened.splice(0)) shared.close();
  });

  const newBucket = () => clients.kvm.create(`secrets_${++bucketCount}`);
  async function open(bucket: KV, member: string, own: string, giveFromMs = 0) {
    let lost = () => {};
    const isLost = new Promise<void>((resolve) => {
      lost = resolve;
    });
    const faults: Error[] = [];
    const onFault = (error: Error) => faults.push(error);
    const options = { bucket, box, member, onFault, onLost: lost, giveFromMs, lookMs };
    const shared = await SharedAes.open(options, keysOf(own));
    opened.push(shared);
    return { shared, isLost, faults };
  }

  it("is given by the first member, and taken by the others, also if both come at once", async () => {
    const bucket = await newBucket();
    const [a, b] = await Promise.all([open(bucket, "a", "key-a"), open(bucket, "b", "key-b")]);
    assert.equal(a.shared.keys.aes, b.shared.keys.aes);
    assert.equal([a, b].filter(({ shared }) => shared.isGiven).length, 1);
  });

  it("is one key after two members rotated at the same time, and each knows it", async () => {
    const bucket = await newBucket();
    for (let round = 1; round <= 5; round += 1) {
      const { shared: a } = await open(bucket, "a", "key-0");
      const { shared: b } = await open(bucket, "b", "unused");
      const [ofA, ofB] = await Promise.all([a.rotate(keysOf(`a-${round}`)), b.rotate(keysOf(`b-${round}`))]);
      assert.equal(ofA.aes, ofB.aes);
      assert.ok([`a-${round}`, `b-${round}`].includes(ofA.aes));
      assert.deepEqual([a.keys.aes, b.keys.aes], [ofA.aes, ofA.aes]);
      assert.deepEqual(
        [a.counters.rotations + b.counters.rotations, a.counters.conflicts + b.counters.conflicts],
        [1, 1],
      );
    }
  });

  it("is told to those who follow it, but not to the one who rotated", async () => {
    const bucket = await newBucket();
    const { shared: a } = await open(bucket, "a", "key-0");
    const { shared: b } = await open(bucket, "b", "unused");
    const heardByA: string[] = [];
    await a.follow(({ aes }) => heardByA.push(aes));
    const heard = new Promise<string>((resolve) => void b.follow(({ aes }) => resolve(aes)));
    await a.rotate(keysOf("key-1"));
    assert.equal(await heard, "key-1");
    // For the same removal the other one rotates, too.
    assert.equal((await b.rotate(keysOf("key-2"))).aes, "key-1");
    assert.deepEqual(heardByA, []);
  });

  it("is not followed back to a former one, and is replaced by the next rotation", async () => {
    const bucket = await newBucket();
    const { shared: a } = await open(bucket, "a", "key-0");
    const { shared: b, faults } = await open(bucket, "b", "unused");
    const first = (await bucket.get("aes"))?.value ?? assert.fail("no record");
    const heard: string[] = [];
    await b.follow(({ aes }) => heard.push(aes));
    await a.rotate(keysOf("key-1"));
    await untilSo("the new one is followed", () => heard.length === 1);
    await bucket.put("aes", first);
    await untilSo("it is refused", () => faults.length > 0);
    assert.match(String(faults[0]), /a former AES key was put back/);
    assert.deepEqual([heard, b.keys.aes], [["key-1"], "key-1"]);
    await assert.rejects(a.rotate(keysOf("key-2")), /a former AES key was put back|not known yet/);
    assert.equal((await a.rotate(keysOf("key-2"))).aes, "key-2");
    await untilSo("the next one is followed", () => heard.length === 2);
  });

  it("is not rotated in a bucket that was made anew, and its loss is told", async () => {
    for (const isMadeAnew of [false, true]) {
      const bucket = await newBucket();
      const { shared, isLost, faults } = await open(bucket, "a", "key-0");
      await shared.follow(() => assert.fail("there is no other key"));
      const told = isLost.then(() => "told");
      await bucket.destroy();
      if (isMadeAnew) await clients.kvm.create(`secrets_${bucketCount}`);
      await assert.rejects(shared.rotate(keysOf("key-1")));
      assert.equal(await told, "told");
      assert.deepEqual([shared.keys.aes, faults], ["key-0", []]);
    }
  });

  it("is not given by a member that was in the cluster before, until the others had time", async () => {
    const bucket = await newBucket();
    await assert.rejects(open(bucket, "late", "old", performance.now() + 60_000), /gives it again/);
    await open(bucket, "a", "present");
    const { shared } = await open(bucket, "late", "old", performance.now() + 60_000);
    assert.deepEqual([shared.keys.aes, shared.isGiven], ["present", false]);
  });
});
