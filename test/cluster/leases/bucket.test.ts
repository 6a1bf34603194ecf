/** The bucket of job leases: a member notices when it was deleted. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import { LeaseBucket } from "../../../src/cluster/leases/bucket.ts";
import { hasCode } from "../../../src/errors.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { NatsServer } from "../nats.ts";

const skip = await natsServerSkip();

describe("the bucket of job leases", { skip, timeout: 120_000 }, () => {
  const server = new NatsServer();
  const box = secretBoxWith(randomBytes(32));
  const logger = pino({ level: "silent" });

  before(() => server.start());
  after(() => server.close());

  it("tells of its loss, so that the master can begin anew", async () => {
    const clients = await server.connect();
    const lost = new Promise<Error>((resolve, reject) => {
      const options = { clients, bucket: "leases", replicas: 1, box, logger };
      LeaseBucket.open({ ...options, onEntry: () => undefined, onLost: resolve })
        .then(async (bucket) => {
          await bucket.watch();
          await (await clients.kvm.open("leases")).destroy();
          await clients.kvm.create("leases");
        })
        .catch(reject);
    });
    const error = await lost;
    assert.ok(hasCode(error, "CLUSTER_UNAVAILABLE"));
    assert.match(error.message, /was deleted/);
  });
});
