/** The place of NATS in messages. */
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { natsEvents } from "../../../src/databases/events/nats.ts";

it("the place of NATS shows no user and no password of its URLs", () => {
  const servers = ["nats://ann:s3cret@a:4222", "b:4222", "tls://t0ken@c"];
  const config = loadMasterConfig(join(tmpdir(), "saltworks-none"), { "nats.servers": servers });
  assert.equal(natsEvents.open(config).place, "nats://a:4222,b:4222,c/salt.events");
});
