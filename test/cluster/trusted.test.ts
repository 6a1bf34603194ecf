/** A new cluster takes the key pair of the master that has minions, also if another one comes first. */
import assert from "node:assert/strict";
import { after, before, it, mock } from "node:test";
import { demandNoneTrusted, TrustedTeller } from "../../src/cluster/secrets/trusted.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { NatsServer } from "./nats.ts";

const skip = await natsServerSkip();
const server = new NatsServer();

before(() => (skip === false ? server.start() : undefined));
after(() => server.close());

it("a master without minions waits for one whose minions trust its key", { skip, timeout: 60_000 }, async () => {
  const [trusted, other] = [await server.connect(), await server.connect()];
  const telling = new TrustedTeller("prod", "master1");
  telling.tellOn(trusted.nats);
  await trusted.nats.flush();
  await assert.rejects(demandNoneTrusted(other.nats, "prod"), /master1 has minions/);
  await demandNoneTrusted(other.nats, "another");
  telling.close();
  await trusted.nats.flush();
  await demandNoneTrusted(other.nats, "prod");
});

it("so it does for one that connects while it asks", { skip, timeout: 60_000 }, async () => {
  const [trusted, other] = [await server.connect(), await server.connect()];
  const telling = new TrustedTeller("late", "master1");
  const request = other.nats.request.bind(other.nats);
  const asked = mock.method(other.nats, "request", async (...question: Parameters<typeof request>) => {
    const answer = await request(...question).catch((error: unknown) => error);
    telling.tellOn(trusted.nats);
    await trusted.nats.flush();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  await assert.rejects(demandNoneTrusted(other.nats, "late"), /master1 has minions/);
  assert.equal(asked.mock.callCount(), 2);
});

it("one that has minions tells so on its new connection, too", { skip, timeout: 60_000 }, async () => {
  const [former, present, other] = [await server.connect(), await server.connect(), await server.connect()];
  const telling = new TrustedTeller("moved", "master1");
  telling.tellOn(former.nats);
  await former.nats.close();
  telling.tellOn(present.nats);
  await present.nats.flush();
  await assert.rejects(demandNoneTrusted(other.nats, "moved"), /master1 has minions/);
});
