/** Members whose common records vanish from NATS while they run. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { after, afterEach, before, describe, it, mock } from "node:test";
import { retried } from "../../../src/cluster/connection.ts";
import { shareIdentity } from "../../../src/cluster/secrets/identity.ts";
import { SecretSharing } from "../../../src/master/cluster/secret-sharing.ts";
import type { MasterKeyPair } from "../../../src/store/keys/master-keys.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";
import type { MasterSecrets, PresentKeys } from "../../../src/store/secrets/secrets.ts";
import { type NatsClients, NatsServer } from "../../cluster/nats.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../services/nats-server.ts";

const lookMs = 20;
const retriedMs = 30_000;

function keyPair(): MasterKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

describe("the secrets of members that run", { skip: await natsServerSkip(), timeout: 240_000 }, () => {
  const server = new NatsServer();
  const box = secretBoxWith(randomBytes(32));
  const opened: SecretSharing[] = [];
  let clients: NatsClients;
  let bucketCount = 0;
  before(async () => {
    await server.start();
    clients = await server.connect();
  });
  after(() => server.close());
  afterEach(() => Promise.all(opened.splice(0).map((sharing) => sharing.close())));

  type Others = { readonly own?: NatsClients; readonly waitMs?: number };

  /** `own`: a connection of its own. `waitMs`: how long it tries again what fails. */
  async function share(bucket: string, member: string, aes: string, pair: MasterKeyPair, others: Others = {}) {
    const { own = clients, waitMs = retriedMs } = others;
    const errors: string[] = [];
    const state: PresentKeys = { aes, former: undefined, createdMs: 1 };
    const secrets = state as MasterSecrets;
    const sharing = new SecretSharing({
      ...{ member, box, secrets, lookMs, keyPair: () => pair },
      logger: { error: (...words: readonly unknown[]) => void errors.push(String(words.at(-1))) },
      openBucket: () => own.kvm.create(bucket),
      untilAnswered: (what, attempt) => retried(what, waitMs, attempt),
      keyManagement: { follow: async (keys) => void Object.assign(state, keys) },
    });
    opened.push(sharing);
    await sharing.start(false);
    return { sharing, secrets, errors };
  }

  type Shared = Awaited<ReturnType<typeof share>>;
  const isRestored = ({ sharing }: Shared) => sharing.counters.lost === 1 && sharing.shared !== undefined;

  /** Two members lose the bucket. Both find no key pair, and the second one's request to give it waits until the first has restored all. */
  async function loseTogether(waitMs: number) {
    const [bucket, pair] = [`secrets_${++bucketCount}`, keyPair()];
    const [one, other] = [await server.connect(), await server.connect()];
    const first = await share(bucket, "first", "key-0", pair, { own: one });
    const second = await share(bucket, "second", "another", pair, { own: other, waitMs });
    let isAsking = false;
    onGiving(one, bucket, "master_key", () => untilSo("the second asks", () => isAsking));
    onGiving(other, bucket, "master_key", async () => {
      isAsking = true;
      await untilSo("the first has restored", () => isRestored(first));
    });
    await (await clients.kvm.open(bucket)).destroy();
    return { first, second };
  }

  async function recordsIn(bucket: string): Promise<string[]> {
    const names: string[] = [];
    for await (const name of await (await clients.kvm.open(bucket)).keys()) names.push(name);
    return names.sort();
  }

  /** `wait` comes before the first request of these clients to make this record. */
  function onGiving({ nats }: NatsClients, bucket: string, record: string, wait: () => Promise<void>) {
    const request = nats.request.bind(nats);
    let isFirst = true;
    mock.method(nats, "request", async (...asked: Parameters<typeof request>) => {
      if (isFirst && asked[0] === `$KV.${bucket}.${record}`) {
        isFirst = false;
        await wait();
      }
      return await request(...asked);
    });
  }

  it("are given again as they are when their bucket vanishes, and each member says so", async () => {
    const bucket = `secrets_${++bucketCount}`;
    const pair = keyPair();
    const a = await share(bucket, "a", "key-0", pair);
    const b = await share(bucket, "b", "another", pair);
    assert.equal(b.secrets.aes, "key-0");
    const former = a.sharing.shared;
    await (await clients.kvm.open(bucket)).destroy();
    await untilSo("both have restored", () => isRestored(a) && isRestored(b));
    assert.notEqual(a.sharing.shared, former);
    assert.deepEqual([a.sharing.shared?.keys.aes, b.sharing.shared?.keys.aes], ["key-0", "key-0"]);
    for (const { errors } of [a, b]) assert.match(errors.join(), /have vanished from NATS/);
    const bucketNow = await clients.kvm.open(bucket);
    const present = () => undefined;
    const [make, isTrusted] = [() => assert.fail("it is recorded"), () => false];
    let taken: MasterKeyPair | undefined;
    const take = (keys: MasterKeyPair) => {
      taken = keys;
    };
    await shareIdentity({ bucket: bucketNow, box, member: "c", present, make, isTrusted, take });
    assert.deepEqual(taken, pair);
  });

  it("are restored by two members that found none at the same time", async () => {
    const { first, second } = await loseTogether(retriedMs);
    await untilSo("the second has restored", () => isRestored(second));
    assert.ok(isRestored(first));
    assert.equal(second.sharing.shared?.keys.aes, "key-0");
    assert.doesNotMatch(second.errors.join(), /are not restored/);
  });

  it("count as lost once, also if a member restores them at its second try", async () => {
    const { second } = await loseTogether(0);
    await untilSo("the first try fails", () => /are not restored/.test(second.errors.join()));
    await untilSo("the second try succeeds", () => second.sharing.shared !== undefined);
    assert.equal(second.sharing.counters.lost, 1);
    assert.equal(second.errors.filter((text) => text.includes("have vanished from NATS")).length, 1);
    assert.equal(second.sharing.shared?.keys.aes, "key-0");
  });

  it("are given whole when their bucket vanishes while they are given", async () => {
    const [bucket, pair, own] = [`secrets_${++bucketCount}`, keyPair(), await server.connect()];
    onGiving(own, bucket, "aes", async () => void (await (await clients.kvm.open(bucket)).destroy()));
    const only = await share(bucket, "only", "key-0", pair, { own });
    assert.equal(only.sharing.shared?.keys.aes, "key-0");
    assert.deepEqual(await recordsIn(bucket), ["aes", "master_key"]);
  });

  it("are followed, with an error, where another member made them anew", async () => {
    const bucket = `secrets_${++bucketCount}`;
    const pair = keyPair();
    const a = await share(bucket, "a", "key-0", pair);
    await (await clients.kvm.open(bucket)).destroy();
    const b = await share(bucket, "b", "key-b", pair);
    await untilSo("it follows", () => a.secrets.aes === b.secrets.aes);
    await untilSo("it says so", () => a.errors.concat(b.errors).some((text) => /vanished|not recorded/.test(text)));
  });

  it("are refused to a member with another key pair", async () => {
    const bucket = `secrets_${++bucketCount}`;
    await share(bucket, "a", "key-0", keyPair());
    await assert.rejects(share(bucket, "b", "key-0", keyPair()), { code: "CLUSTER_REFUSED" });
  });

  it("are not given by a member that finds the minions' keys of a cluster without a key pair", async () => {
    const bucket = await clients.kvm.create(`secrets_${++bucketCount}`);
    const mayGive = () => Promise.reject(new Error("lost"));
    const present = () => assert.fail("it is not asked for");
    const options = { bucket, box, member: "a", present, make: present, isTrusted: () => false, take: () => undefined };
    await assert.rejects(shareIdentity({ ...options, mayGive }), /lost/);
    assert.equal(await bucket.get("master_key"), null);
  });
});
