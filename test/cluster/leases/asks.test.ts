/** Questions to the owner of a job: each is answered once, also if a copy of it is sent again. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, describe, it } from "node:test";
import { createInbox, type NatsConnection } from "@nats-io/nats-core";
import { OwnerAsks, type OwnerQuestion } from "../../../src/cluster/leases/asks.ts";
import { encodeName, type Owner } from "../../../src/cluster/leases/record.ts";
import { openRecord, sealRecord } from "../../../src/cluster/secrets/record.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { NatsServer } from "../nats.ts";

const subject = "sw_test.owners";
const pause: OwnerQuestion = { kind: "control", action: "pause", jid: "20260101000000000000", user: "root" };
const a: Owner = { member: "a", session: "a-1" };
const b: Owner = { member: "b", session: "b-1" };
const failed = (error: unknown) => assert.fail(String(error));
const subjectOf = ({ member }: Owner) => `${subject}.${encodeName(member)}`;

describe("questions to the owner of a job", { skip: await natsServerSkip(), timeout: 60_000 }, () => {
  const server = new NatsServer();
  const box = secretBoxWith(randomBytes(32));
  const opened: OwnerAsks[] = [];
  before(() => server.start());
  after(() => server.close());
  afterEach(() => {
    for (const one of opened.splice(0)) one.close();
  });

  async function open(self: Owner, isOperatorNats: boolean, onFault: (error: unknown) => void = failed) {
    const { nats } = await server.connect();
    const answered: string[] = [];
    const asks = new OwnerAsks({
      ...{ nats, subject, self, isOperatorNats, box },
      answer: async (question) => `${answered.push(question.kind)} times`,
      onAppeared: () => undefined,
      onFault,
    });
    opened.push(asks);
    await nats.flush();
    return { asks, answered, nats };
  }
  /** The question as a stranger on the servers sees it. */
  async function overheard(ask: () => Promise<unknown>): Promise<Uint8Array> {
    const { nats } = await server.connect();
    const seen = new Promise<Uint8Array>((resolve) => {
      nats.subscribe(`${subject}.>`, { max: 1, callback: (_, { data }) => resolve(Uint8Array.from(data)) });
    });
    await nats.flush();
    await ask();
    return await seen;
  }

  /** Asks `a`. What comes back is in the array before the answer to a later question of this connection. */
  async function answersTo(question: Uint8Array, nats: NatsConnection): Promise<Uint8Array[]> {
    const answers: Uint8Array[] = [];
    const reply = createInbox();
    nats.subscribe(reply, { callback: (_, { data }) => void answers.push(data) });
    nats.publish(subjectOf(a), question, { reply });
    await nats.flush();
    return answers;
  }

  for (const isOperatorNats of [false, true]) {
    const where = isOperatorNats ? "an operator's NATS" : "own servers";

    it(`are answered once on ${where}, and a copy gets no answer`, async () => {
      const [owner, other] = [await open(a, isOperatorNats), await open(b, isOperatorNats)];
      const copy = await overheard(async () => assert.equal(await other.asks.ask(a, pause), "1 times"));
      const answers = await answersTo(copy, other.nats);
      // The owner takes questions in their order.
      assert.equal(await other.asks.ask(a, pause), "2 times");
      assert.equal(owner.asks.refused.repeated, 1);
      assert.deepEqual(answers, []);
    });

    it(`for a former process of the owner are refused on ${where}`, async () => {
      const owner = await open({ ...a, session: "a-2" }, isOperatorNats);
      const other = await open(b, isOperatorNats);
      await assert.rejects(other.asks.ask(a, pause), /member a: the owner was started again since/);
      assert.deepEqual(owner.answered, []);
      assert.equal(owner.asks.refused.process, 1);
    });
  }

  it("that do not open get no answer, and are told once and counted, as what is told to all", async () => {
    const faults: string[] = [];
    const owner = await open(a, true, (error) => void faults.push(String(error)));
    const other = await open(b, true, () => undefined);
    const garbage = [Buffer.alloc(0), randomBytes(100), sealRecord(secretBoxWith(randomBytes(32)), "owner/ask", pause)];
    const answers: Uint8Array[][] = [];
    for (const bytes of garbage) {
      other.nats.publish(subject, bytes);
      answers.push(await answersTo(bytes, other.nats));
    }
    assert.equal(await other.asks.ask(a, pause), "1 times");
    assert.deepEqual(answers.flat(), []);
    assert.equal(faults.length, 1, faults.join("; "));
    assert.match(faults[0] ?? "", /does not open/);
    assert.equal(owner.asks.refused.unreadable, 2 * garbage.length);
  });

  it("of the former release are answered on own servers, in its form", async () => {
    const owner = await open(a, false);
    const { nats } = await server.connect();
    const reply = await nats.request(subjectOf(a), sealRecord(box, "owner/ask", pause), { timeout: 5_000 });
    assert.equal(openRecord<{ value: string }>(box, "owner/answer", reply.data).value, "1 times");
    assert.deepEqual(owner.answered, [pause.kind]);
  });

  it("of the former release are refused on an operator's NATS, and say why", async () => {
    const owner = await open(a, true);
    const { nats } = await server.connect();
    const reply = await nats.request(subjectOf(a), sealRecord(box, "owner/ask", pause), { timeout: 5_000 });
    const { why } = openRecord<{ why: string }>(box, "owner/answer", reply.data);
    assert.match(why, /runs an older release, so upgrade it first/);
    assert.deepEqual(owner.answered, []);
    assert.equal(owner.asks.refused.unmarked, 1);
  });

  it("get an answer of the former release on own servers only", async () => {
    const { nats } = await server.connect();
    const former = nats.subscribe(subjectOf(a), {
      callback: (_, message) => void message.respond(sealRecord(box, "owner/answer", { value: "it is paused" })),
    });
    await nats.flush();
    assert.equal(await (await open(b, false)).asks.ask(a, pause), "it is paused");
    await assert.rejects((await open(b, true)).asks.ask(a, pause), /its answer cannot be checked/);
    former.unsubscribe();
  });
});
