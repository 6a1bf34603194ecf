/** What a member sees of an operator's server whose disk is full. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectCluster, retried } from "../../../src/cluster/connection.ts";
import { clusterNames } from "../../../src/cluster/names.ts";
import { operatorServers } from "../../../src/cluster/operator/servers.ts";
import { ServerWatch } from "../../../src/cluster/server-watch.ts";
import { untilSo } from "../../fleet/cluster/members.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { mountSmall, unmount } from "../small-disk.ts";
import { OperatorServers } from "./servers.ts";

const megabyte = 1024 * 1024;
const disk = { megabytes: 20, filledMegabytes: 15 } as const;

describe("a member's watch of an operator's servers", { skip: await natsServerSkip(), timeout: 180_000 }, () => {
  let servers: OperatorServers;
  let unmounted: string | false = "not tried";
  before(async () => {
    const users = [{ user: "masters", password: "password" }];
    servers = await OperatorServers.start({ more: { accounts: { MASTERS: { jetstream: "enabled", users } } } });
    await servers.kill(0);
    unmounted = mountSmall(servers.store(0), disk.megabytes);
    await servers.run(0);
  });
  after(async () => {
    await servers.kill(0);
    if (unmounted === false) unmount(servers.store(0));
    await servers.close();
  });

  it("names the one that keeps no records, and counts it", async (test) => {
    if (unmounted !== false) return test.skip(unmounted);
    const credentials = { kind: "password", user: "masters", file: servers.file("password", "password") } as const;
    const tls = { caFile: servers.certificates.ca, handshakeFirst: false };
    // Its connection stays, because it goes to another server.
    const addresses = servers.addresses.slice(1).map((address) => address.replace("tls://", ""));
    const watched = operatorServers({ servers: addresses, credentials, tls }, "test", Buffer.alloc(32));
    const errors: { readonly fields: unknown; readonly text: string }[] = [];
    const logger = {
      ...{ info: () => undefined, warn: () => undefined },
      error: (fields: unknown, text = "") => void errors.push({ fields, text }),
    };
    const watch = new ServerWatch({ ...watched, member: "member1", logger, everyMs: 50 });
    const { kvm, close } = await connectCluster({ ...watched.access, name: "w", waitMs: 10_000 });
    try {
      const { keyBucket } = clusterNames("test");
      const bucket = await retried("the cluster", 60_000, () => kvm.create(keyBucket, { replicas: 3 }));
      watch.start();
      await untilSo("all take part", () => watch.status?.servers.filter(({ isStoring }) => isStoring).length === 3);
      writeFileSync(join(servers.store(0), "filler"), Buffer.alloc(disk.filledMegabytes * megabyte));
      for (let count = 0; count < 10 * disk.megabytes && watch.counters.storesLost === 0; count += 1)
        await bucket.put(`key${count}`, Buffer.alloc(megabyte / 8)).catch(() => undefined);
      await untilSo("it is noticed", () => watch.counters.storesLost > 0);
      const said = errors.find(({ text }) => /keeps none of the cluster's new records/.test(text));
      assert.deepEqual(said?.fields, { server: "n1", isOwn: false });
      assert.equal(watch.status?.hasQuorum, true);
    } finally {
      await watch.close();
      await close();
    }
  });
});
