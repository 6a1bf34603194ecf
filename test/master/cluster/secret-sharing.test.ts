/** Members whose common records vanish from NATS while they run. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { after, afterEach, before, describe, it } from "node:test";
import { shareIdentity } from "../../../src/cluster/secrets/identity.ts";
import { SecretSharing } from "../../../src/master/cluster/secret-sharing.ts";
import type { MasterKeyPair } from "../../../src/store/keys/master-keys.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";
import type { MasterSecrets, PresentKeys } from "../../../src/store/secrets/secrets.ts";
import { type NatsClients, NatsServer } from "../../cluster/nats.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../services/nats-server.ts";

const lookMs = 20;

function keyPair(): MasterKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

describe("the secrets of members that run", { skip: await natsServerSkip(), timeout: 60_000 }, () => {
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

  async function share(bucket: string, member: string, aes: string, pair: MasterKeyPair, hasJoined = false) {
    const errors: string[] = [];
    const state: PresentKeys = { aes, former: undefined, createdMs: 1 };
    const secrets = state as MasterSecrets;
    const sharing = new SecretSharing({
      ...{ member, box, secrets, lookMs, keyPair: () => pair },
      logger: { error: (...words: readonly unknown[]) => void errors.push(String(words.at(-1))) },
      openBucket: () => clients.kvm.create(bucket),
      untilAnswered: (_, attempt) => attempt(),
      keyManagement: { follow: async (keys) => void Object.assign(state, keys) },
    });
    opened.push(sharing);
    await sharing.start(hasJoined);
    return { sharing, secrets, errors };
  }

  it("are given again as they are when their bucket vanishes, and each member says so", async () => {
    const bucket = `secrets_${++bucketCount}`;
    const pair = keyPair();
    const a = await share(bucket, "a", "key-0", pair);
    const b = await share(bucket, "b", "another", pair);
    assert.equal(b.secrets.aes, "key-0");
    const former = a.sharing.shared;
    await (await clients.kvm.open(bucket)).destroy();
    const isRestored = ({ sharing }: typeof a) => sharing.counters.lost === 1 && sharing.shared !== undefined;
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
