/** Records and messages that a newer release wrote: each kind is refused with both versions in the log or the answer, and nothing is written over it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { headers } from "@nats-io/nats-core";
import { pack } from "msgpackr";
import type { Logger } from "pino";
import { bucketKeyOf, decodeEntry } from "../../src/cluster/keys/entry.ts";
import { OwnerAsks, type OwnerQuestion } from "../../src/cluster/leases/asks.ts";
import { LeaseBucket } from "../../src/cluster/leases/bucket.ts";
import { MemberLeases } from "../../src/cluster/leases/member-leases.ts";
import { type LeaseKey, leaseKeyText, openLease } from "../../src/cluster/leases/record.ts";
import { compareMembers } from "../../src/cluster/likeness/ask.ts";
import { decodeQuestion, likenessSubject } from "../../src/cluster/likeness/message.ts";
import { clusterNames } from "../../src/cluster/names.ts";
import { Elsewhere } from "../../src/cluster/presence/elsewhere.ts";
import { PresenceExchange } from "../../src/cluster/presence/exchange.ts";
import { heardMembers } from "../../src/cluster/presence/heard.ts";
import { openRecord } from "../../src/cluster/secrets/record.ts";
import { SharedAes } from "../../src/cluster/secrets/shared-aes.ts";
import { demandNoneTrusted } from "../../src/cluster/secrets/trusted.ts";
import { TokenReplica } from "../../src/cluster/tokens/replica.ts";
import { secretBoxWith } from "../../src/store/secrets/sealed.ts";
import { Tokens } from "../../src/store/secrets/tokens.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { untilSo } from "../fleet/cluster/members.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { pem, TestMember } from "./keys/member.ts";
import { type NatsClients, NatsServer } from "./nats.ts";

const bothVersions = /has version 2, and this member reads version 1: upgrade this member$/;
const box = secretBoxWith(randomBytes(32));
const newer = (name: string, content: object = {}) => box.seal(name, pack({ v: 2, ...content }));

/** A log that is kept. */
class Lines {
  readonly texts: string[] = [];
  readonly #note = (_: unknown, text?: string) => void this.texts.push(text ?? "");
  readonly logger = { warn: this.#note, error: this.#note, info: () => undefined } as unknown as Logger;

  async untilOne(): Promise<void> {
    await untilSo("the log tells", () => this.texts.length > 0);
    assert.equal(this.texts.length, 1, this.texts.join("; "));
    assert.match(this.texts[0] ?? "", bothVersions);
  }
}

describe("a member's lease of another release", () => {
  it("holds while it is renewed, and ends as any other", () => {
    const key = { kind: "lease", member: "newer" } as const;
    let nowMs = 1_000;
    let revision = 0;
    const leases = new MemberLeases({
      ...{ member: "own", box, now: () => nowMs, times: { leaseMs: 15_000, marginMs: 5_000, renewMs: 1_000_000 } },
      put: async ({ value }) => {
        leases.note("own", ++revision, value);
        return revision;
      },
      ...{ onGained: () => undefined, onLapsed: () => undefined, onFault: () => undefined },
    });
    const owner = { member: "newer", session: "any" };
    const renew = () =>
      assert.throws(() => leases.note("newer", ++revision, newer(leaseKeyText(key))), { message: bothVersions });
    return leases
      .renew()
      .then(async () => {
        for (let turn = 0; turn < 4; turn += 1) {
          renew();
          nowMs += 10_000;
          await leases.renew();
          assert.equal(leases.hasLapsed(owner), false);
        }
        nowMs += 10_000;
        await leases.renew();
        nowMs += 1_000;
        assert.equal(leases.hasLapsed(owner), true);
      })
      .finally(() => leases.release());
  });
});

describe("records of a newer release", { skip: await natsServerSkip(), timeout: 120_000 }, () => {
  const temporary = temporaryDirectories();
  const server = new NatsServer();
  let clients: NatsClients;
  before(async () => {
    await server.start();
    clients = await server.connect();
  });
  after(() => server.close());

  it("are refused as keys, and no change made here is written over them", async () => {
    const bytes = encode({ v: 2, id: "web1", by: "newer", keys: { accepted: pem("newer") } }, "bin");
    assert.throws(() => decodeEntry("web1", bytes), { code: "CLUSTER_REFUSED", message: bothVersions });
    const member = new TestMember(server, "newer_keys", "older", temporary());
    await member.start();
    const bucket = await clients.kvm.open("newer_keys");
    await bucket.put(bucketKeyOf("web1"), bytes);
    const revision = await bucket.put(bucketKeyOf("web2"), bytes);
    await member.until("both are ignored", () => member.replica.counters.ignored === 2);
    assert.equal(member.warnings("has version 2").length, 1);
    member.keys.write("accepted", "web2", pem("older"));
    member.keys.write("accepted", "web3", pem("older"));
    await member.until("the third is sent", () => member.replica.counters.sent === 1);
    assert.equal((await bucket.get(bucketKeyOf("web2")))?.revision, revision);
    assert.deepEqual(member.look("web1"), {});
    await member.stop();
  });

  it("are refused as secrets, and the member goes on with the AES key that it has", async () => {
    assert.throws(() => openRecord(box, "master_key", newer("master_key")), {
      code: "CLUSTER_REFUSED",
      message: /^the cluster's record master_key has version 2, and this member reads version 1: upgrade this member$/,
    });
    const bucket = await clients.kvm.create("newer_secrets");
    const faults: Error[] = [];
    const onFault = (error: Error) => void faults.push(error);
    const options = { bucket, box, member: "older", onFault, onLost: () => undefined };
    const shared = await SharedAes.open(options, { aes: "present", former: undefined, createdMs: 1 });
    await shared.follow(() => assert.fail("it follows"));
    await bucket.put("aes", newer("aes", { aes: "next", by: "newer" }));
    await untilSo("it is refused", () => faults.length > 0);
    assert.match(faults[0]?.message ?? "", bothVersions);
    assert.equal(shared.keys.aes, "present");
    await assert.rejects(shared.rotate({ aes: "own", former: undefined, createdMs: 2 }), { message: bothVersions });
    shared.close();
  });

  it("are refused as tokens", async () => {
    const lines = new Lines();
    const tokens = new Tokens(join(temporary(), "tokens"), "sha256", true);
    const options = { clients, bucket: "newer_tokens", replicas: 1, box, tokens, logger: lines.logger };
    const replica = await TokenReplica.open(options);
    const bucket = await clients.kvm.open("newer_tokens");
    for (const name of ["aa".repeat(32), "bb".repeat(32)]) await bucket.put(name, newer(`token/${name}`));
    await untilSo("both are counted", () => replica.counters.failed === 2);
    await lines.untilOne();
    await replica.close();
  });

  it("are refused as presence, and the member that sends them is asked by cluster check all the same", async () => {
    const lines = new Lines();
    const { digest, others } = new Elsewhere();
    const subject = clusterNames("newer").presenceSubject;
    const exchange = new PresenceExchange({
      ...{ nats: clients.nats, subject, member: "older", digest, others, logger: lines.logger },
    });
    const told = pack({ v: 2, by: "member2", kind: "change", more: [] });
    const heard = heardMembers(clients.nats, "newer");
    clients.nats.publish(subject, told);
    clients.nats.publish(subject, told);
    await untilSo("both are counted", () => exchange.counters.unreadable === 2);
    await lines.untilOne();
    assert.match(lines.texts.join(), /^what member2 tells of its minions/);
    assert.ok((await heard).has("member2"));
    await exchange.close();
  });

  it("are refused as leases, logs of batch jobs and waiting jobs, each kind once", async () => {
    const lines = new Lines();
    const options = { clients, bucket: "newer_leases", replicas: 1, box, logger: lines.logger };
    const bucket = await LeaseBucket.open({
      ...options,
      onEntry: (key, _, value) => void (value && openLease(box, key, value)),
      onLost: (error) => assert.fail(error),
    });
    await bucket.watch();
    const jid = "20261129200000000000";
    const keys: readonly LeaseKey[] = [
      ...["newer", "newest"].map((member) => ({ kind: "lease", member }) as const),
      ...[0, 1].map((number) => ({ kind: "part", jid, number }) as const),
      ...(["record", "state"] as const).map((kind) => ({ kind, jid })),
    ];
    const raw = await clients.kvm.open("newer_leases");
    for (const key of keys) await raw.put(leaseKeyText(key), newer(leaseKeyText(key)));
    for (const key of ["queue.a", "queue.b"]) await raw.put(key, newer(key));
    await untilSo("the log tells of the unknown kind", () => lines.texts.some((text) => /does not know$/.test(text)));
    const told = lines.texts.filter((text) => bothVersions.test(text));
    assert.deepEqual([told.length, lines.texts.length], [4, 5], lines.texts.join("\n"));
    await bucket.close();
  });

  it("are refused as questions to an owner, as its answers, and as what it tells", async () => {
    const [faults, asked]: [unknown[], OwnerQuestion[]] = [[], []];
    const subject = "newer.owners";
    const owner = new OwnerAsks({
      ...{ nats: clients.nats, subject, box, isOperatorNats: false, self: { member: "older", session: "1" } },
      answer: async (question) => void asked.push(question),
      onAppeared: () => assert.fail("it appears"),
      onFault: (error) => void faults.push(error),
    });
    const question = (value: Buffer) => clients.nats.request(`${subject}.${bucketKeyOf("older")}`, value);
    const why = async (value: Buffer) =>
      openRecord<{ why: string }>(box, "owner/answer", (await question(value)).data).why;
    assert.match(await why(newer("owner/ask", { kind: "cancel", jid: "1" })), bothVersions);
    const unknown = box.seal("owner/ask", pack({ v: 1, kind: "postpone", jid: "1" }));
    assert.match(await why(unknown), /does not know the question/);
    assert.deepEqual(asked, []);
    clients.nats.publish(subject, newer("owner/told", { ids: ["web1"], how: "auth", by: "newer" }));
    await untilSo("it is refused", () => faults.length > 0);
    assert.match((faults[0] as Error).message, bothVersions);
    const stand = clients.nats.subscribe(`${subject}.${bucketKeyOf("newer")}`, {
      callback: (_, message) => void message.respond(newer("owner/answer", { value: 1 })),
    });
    await assert.rejects(
      owner.ask({ member: "newer", session: "1" }, { kind: "cancel", jid: "1", minion: undefined }),
      {
        message: bothVersions,
      },
    );
    stand.unsubscribe();
    owner.close();
  });

  it("are refused by cluster check, whose report names both forms", async () => {
    assert.deepEqual(decodeQuestion(JSON.stringify({ form: 2, kind: "state" })), {
      why: "it is asked in form 2, and reads form 1",
    });
    const stand = clients.nats.subscribe(likenessSubject("newer", "member2"), {
      callback: (_, message) => void message.respond(JSON.stringify({ form: 2, ok: true, value: {} })),
    });
    const asked = { clusterId: "newer", own: "member1", names: ["member2"] };
    assert.deepEqual((await compareMembers(clients.nats, asked)).unasked, [
      { member: "member2", why: "it answers in form 2, and this member reads form 1" },
    ]);
    stand.unsubscribe();
  });

  it("are understood as the answer that there is a master with minions", async () => {
    const stand = clients.nats.subscribe("sw.newer.trusted", {
      callback: (_, message) => {
        const head = headers();
        head.set("Saltworks-Version", "2");
        message.respond("member2", { headers: head });
      },
    });
    await clients.nats.flush();
    const about = /^member2 has minions .* \(it answers in version 2, and this member reads version 1\)$/;
    await assert.rejects(demandNoneTrusted(clients.nats, "newer"), { message: about });
    stand.unsubscribe();
  });
});
