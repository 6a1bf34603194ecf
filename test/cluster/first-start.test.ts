/** Members of a new cluster that start at the same moment make its streams once, and agree on which they are. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it, mock } from "node:test";
import pino from "pino";
import { LeaseBucket } from "../../src/cluster/leases/bucket.ts";
import { MinionStream } from "../../src/cluster/minions/stream.ts";
import { ensureReturnStreams } from "../../src/cluster/returns/streams.ts";
import { identityOf } from "../../src/cluster/stream-identity.ts";
import { secretBoxWith } from "../../src/store/secrets/sealed.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { type NatsClients, NatsServer } from "./nats.ts";

const skip = await natsServerSkip();
const streamNameTaken = 10_058;

describe("a stream that two members make at once", { skip, timeout: 120_000 }, () => {
  const server = new NatsServer();
  const box = secretBoxWith(randomBytes(32));
  const logger = pino({ level: "silent" });

  before(() => server.start());
  after(() => server.close());

  /** Both look, and find nothing; then the first makes it, and the second tries to. @returns error codes of the second's request */
  async function race(open: (clients: NatsClients) => Promise<unknown>): Promise<(number | undefined)[]> {
    const [first, second] = [await server.connect(), await server.connect()];
    const request = second.nats.request.bind(second.nats);
    const codes: (number | undefined)[] = [];
    mock.method(second.nats, "request", async (...asked: Parameters<typeof request>) => {
      if (!asked[0].startsWith("$JS.API.STREAM.CREATE.")) return await request(...asked);
      if (codes.length === 0) await open(first);
      const answer = await request(...asked);
      codes.push(answer.json<{ readonly error?: { readonly err_code: number } }>().error?.err_code);
      return answer;
    });
    await open(second);
    return codes;
  }

  it("is one for a bucket that is watched", async () => {
    const opened: LeaseBucket[] = [];
    const options = { bucket: "raced", replicas: 1, box, logger, onEntry: () => undefined, onLost: assert.fail };
    const codes = await race(async (clients) => opened.push(await LeaseBucket.open({ ...options, clients })));
    assert.deepEqual(codes, [streamNameTaken]);
    assert.deepEqual(new Set(opened.map(({ identity }) => identity)).size, 1);
    assert.equal(opened.length, 2);
  });

  it("is one for the data of minions", async () => {
    const identities: string[] = [];
    const described = { name: "raced_minions", prefix: "raced.minions", replicas: 1 };
    const codes = await race(async (clients) => {
      identities.push((await MinionStream.open(clients, described)).identity);
    });
    assert.deepEqual(codes, [streamNameTaken]);
    assert.deepEqual([identities.length, new Set(identities).size], [2, 1]);
  });

  it("is one for returns", async () => {
    const identities: string[] = [];
    const codes = await race(async ({ manager }) => {
      await ensureReturnStreams(manager, ["raced_returns"], 1);
      identities.push(identityOf(await manager.streams.info("raced_returns")));
    });
    assert.deepEqual(codes, [streamNameTaken]);
    assert.deepEqual([identities.length, new Set(identities).size], [2, 1]);
  });

  it("is opened again when the servers cannot change it at the moment", async () => {
    const clients = await server.connect();
    const request = clients.nats.request.bind(clients.nats);
    const error = { code: 503, err_code: 10_008, description: "JetStream system temporarily unavailable" };
    const refusal = { data: Buffer.from(JSON.stringify({ error })), json: () => ({ error }) };
    let refused = 0;
    mock.method(clients.nats, "request", async (...asked: Parameters<typeof request>) => {
      if (!asked[0].startsWith("$JS.API.STREAM.UPDATE.") || refused > 0) return await request(...asked);
      refused += 1;
      return refusal as unknown as Awaited<ReturnType<typeof request>>;
    });
    const options = { clients, bucket: "later", replicas: 1, box, logger, onEntry: () => undefined };
    const open = () => LeaseBucket.open({ ...options, onLost: assert.fail });
    await assert.rejects(open(), { code: "CLUSTER_UNAVAILABLE" });
    await open();
    assert.equal((await clients.manager.streams.info("KV_later")).config.allow_atomic, true);
  });
});
