/** A new cluster takes the key pair of the master that has minions, also if another one comes first. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { demandNoneTrusted, tellTrusted } from "../../src/cluster/secrets/trusted.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { NatsServer } from "./nats.ts";

const skip = await natsServerSkip();
const server = new NatsServer();

before(() => (skip === false ? server.start() : undefined));
after(() => server.close());

it("a master without minions waits for one whose minions trust its key", { skip, timeout: 60_000 }, async () => {
  const [trusted, other] = [await server.connect(), await server.connect()];
  await demandNoneTrusted(other.nats, "prod");
  const stop = tellTrusted(trusted.nats, "prod", "master1");
  await trusted.nats.flush();
  await assert.rejects(demandNoneTrusted(other.nats, "prod"), /master1 has minions/);
  await demandNoneTrusted(other.nats, "another");
  stop();
  await trusted.nats.flush();
  await demandNoneTrusted(other.nats, "prod");
});
