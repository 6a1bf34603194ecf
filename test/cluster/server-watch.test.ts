/** What a member sees of the cluster's servers: which answer, which keep records, and what it says when that changes. */
import assert from "node:assert/strict";
import { statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectCluster, retried } from "../../src/cluster/connection.ts";
import { accessTo } from "../../src/cluster/server/access.ts";
import { StoreAgain } from "../../src/cluster/server/store-again.ts";
import { watchedOwnServers } from "../../src/cluster/server/watched.ts";
import { ServerWatch } from "../../src/cluster/server-watch.ts";
import { leaderlessWithout, statusOf } from "../../src/cluster/status.ts";
import { untilSo } from "../fleet/cluster/members.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { kill, runPrepared, startPrepared, testKeys, testMembers } from "./own-server.ts";
import { mountSmall, unmount } from "./small-disk.ts";

describe("the state of a cluster's servers", () => {
  const answer = (name: string, data: object) => ({ server: { name, ver: "2.15.2" }, data });
  const leads = { meta_cluster: { leader: "a", cluster_size: 3, replicas: [{ name: "b" }, { name: "c" }] } };

  it("names a server that keeps no records, which makes no majority", () => {
    const one = statusOf([answer("a", leads), answer("b", {}), answer("c", { disabled: true })]);
    assert.deepEqual(
      one.servers.map(({ name, isAnswering, isStoring }) => [name, isAnswering, isStoring]),
      [
        ["a", true, true],
        ["b", true, true],
        ["c", true, false],
      ],
    );
    assert.equal(one.hasQuorum, true);
    const two = statusOf([answer("a", leads), answer("b", { disabled: true }), answer("c", { disabled: true })]);
    assert.equal(two.hasQuorum, false);
  });

  it("names the streams that a server may not leave alone", () => {
    const stream = (leader: string | undefined, ...replicas: string[]) => ({
      name: `of ${[leader, ...replicas].join("")}`,
      cluster: { ...(leader !== undefined && { leader }), replicas: replicas.map((name) => ({ name })) },
    });
    const keeps = (...streams: object[]) => ({ account_details: [{ stream_detail: streams }] });
    const answers = [
      answer("a", keeps(stream("a", "b", "c"), stream("a", "b", "e"), stream("a", "d", "e"))),
      answer("b", keeps(stream("b", "d", "e"), stream("b", "c", "e"), stream(undefined, "b", "e"))),
      answer("c", {}),
      answer("d", { disabled: true }),
    ];
    assert.deepEqual(leaderlessWithout("a", answers), ["of abe", "of ade", "of be"]);
    assert.deepEqual(leaderlessWithout("c", answers), ["of bce", "of be"]);
    assert.deepEqual(leaderlessWithout("e", answers), ["of ade", "of bde", "of be"]);
  });
});

const megabyte = 1024 * 1024;

describe("a member's watch of the servers", { skip: await natsServerSkip(), timeout: 180_000 }, () => {
  const keys = testKeys(4);
  const servers: Awaited<ReturnType<typeof startPrepared>>[] = [];
  const lines: { readonly level: string; readonly text: string; readonly fields: Record<string, unknown> }[] = [];
  const note = (level: string) => (fields: unknown, text?: string) =>
    void lines.push({
      level,
      text: text ?? String(fields),
      fields: text === undefined ? {} : (fields as object as Record<string, unknown>),
    });
  const logger = { info: note("info"), warn: note("warn"), error: note("error") };
  const says = (level: string, text: RegExp) => lines.some((line) => line.level === level && text.test(line.text));
  let watch: ServerWatch;
  let starting: Promise<unknown> = Promise.resolve();
  let small = "";
  let unmounted: string | false = "not tried";
  before(async () => {
    small = temporary();
    unmounted = mountSmall(small, 16);
    const members = await testMembers([small, temporary(), temporary()]);
    servers.push(...(await Promise.all(members.map((member) => startPrepared(member, keys)))));
    const [first] = servers;
    assert.ok(first !== undefined);
    const again = async () => {
      await kill(first.process);
      servers[0] = { ...first, process: await runPrepared(first) };
    };
    const endServer = () => {
      starting = again();
    };
    const store = new StoreAgain({ directory: small, endServer, roomBytes: 4 * megabyte, againMs: 20_000 });
    watch = new ServerWatch({
      ...watchedOwnServers(first.clientPorts, keys, "w", store),
      member: "member1",
      logger,
      everyMs: 50,
    });
    watch.start();
  });
  after(async () => {
    await watch.close();
    await starting;
    await Promise.all(servers.map(({ process }) => kill(process)));
    if (unmounted === false) unmount(small);
  });
  // Its directories are removed after the hook above.
  const temporary = temporaryDirectories();

  it("sees a majority, and the loss of a server", async () => {
    await untilSo("all answer", () => watch.status?.servers.filter(({ isAnswering }) => isAnswering).length === 3);
    await untilSo("they have a leader", () => watch.status?.hasQuorum === true);
    await kill(servers[2]?.process);
    await untilSo("one is silent", () => watch.status?.servers.filter(({ isAnswering }) => isAnswering).length === 2);
  });

  it("says that the server turned its store off because the disk is full, and counts it", async (test) => {
    if (unmounted !== false) return test.skip(unmounted);
    const [{ clientPorts: ports } = { clientPorts: [] }] = servers;
    const own = await connectCluster({ ...accessTo(ports, keys, "client", "w"), name: "w", waitMs: 10_000 });
    const bucket = await retried("the cluster", 60_000, () => own.kvm.create("filled", { replicas: 3 }));
    const { bavail, bsize } = statfsSync(small);
    writeFileSync(join(small, "filler"), Buffer.alloc(bavail * bsize - megabyte));
    const isOff = () => watch.counters.storesLost > 0;
    for (let count = 0; count < 100 && !isOff(); count += 1)
      await bucket.put(`key${count}`, Buffer.alloc(megabyte / 8)).catch(() => undefined);
    await untilSo("it is noticed", isOff);
    assert.ok(says("error", /turned its store off/));
    assert.deepEqual(lines.find(({ text }) => /turned its store off/.test(text))?.fields, {
      server: "member1",
      isOwn: true,
    });
    assert.equal(watch.status?.servers.find(({ name }) => name === "member1")?.isStoring, false);
    assert.equal(watch.status?.hasQuorum, false);
    await untilSo("the majority is missed", () => says("error", /lost its majority/));
    await own.close();
  });

  it("has the server started again once its disk has room, and not before", async (test) => {
    if (unmounted !== false) return test.skip(unmounted);
    assert.equal(watch.counters.storesMended, 0);
    const filler = join(small, "filler");
    truncateSync(filler, statSync(filler).size - 6 * megabyte);
    await untilSo("it is started again", () => watch.counters.storesMended === 1);
    await untilSo(
      "it stores",
      () => watch.status?.servers.some(({ name, isStoring }) => name === "member1" && isStoring) === true,
    );
    const [{ clientPorts: ports } = { clientPorts: [] }] = servers;
    const own = await connectCluster({ ...accessTo(ports, keys, "client", "w"), name: "w", waitMs: 10_000 });
    // With the third server away, each record needs this one.
    const bucket = await own.kvm.open("filled");
    await retried("the cluster", 60_000, () => bucket.put("after", Buffer.alloc(megabyte / 8)));
    await own.close();
  });

  it("counts that its own server does not answer", async () => {
    await kill(servers[0]?.process);
    await untilSo("it is noticed", () => watch.counters.unanswered > 0 && watch.status === undefined);
    assert.ok(says("warn", /no server of the cluster answers this member/));
  });
});
