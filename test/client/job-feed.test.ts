import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { JobFeed } from "../../src/client/job-feed.ts";
import { FakeMaster } from "./fake-master.ts";

const jid = "20261121070000123456";

describe("JobFeed", () => {
  let master: FakeMaster;
  let feed: JobFeed;
  const open = (bytesMax: number, earlyEventsMax: number): Promise<JobFeed> =>
    JobFeed.open(join(master.config.sock_dir, "master_event_pub.ipc"), { bytesMax, earlyEventsMax, silenceMs: 60_000 });

  beforeEach(async () => {
    master = await FakeMaster.start({});
  });
  afterEach(async () => {
    feed.close();
    await master.stop();
  });

  it("keeps the ids of returns for whose bodies it has no room, and has room again once some are read", async () => {
    feed = await open(2_000, 10);
    feed.follow(jid);
    for (const id of ["a", "b"]) master.fireReturn(jid, id, "x".repeat(1_500));
    master.fire(`salt/job/${jid}/new`, { minions: ["a", "b", "c"], missing: ["ghost"] });
    const items = [await feed.next(), await feed.next(), await feed.next()];
    assert.deepEqual(
      items.map((item) => (item.kind === "return" ? [item.id, item.data !== undefined] : item)),
      [["a", true], ["b", false], { kind: "expected", minions: ["a", "b", "c"], missing: ["ghost"] }],
    );
    master.fireReturn(jid, "c", "x".repeat(1_500));
    const last = await feed.next();
    assert.ok(last.kind === "return" && last.data !== undefined);
  });

  it("forgets the oldest of too many events that come before the job is known", { timeout: 10_000 }, async () => {
    feed = await open(1_000_000, 3);
    for (const id of ["a", "b", "c"]) master.fireReturn(jid, id, true);
    master.fire("salt/auth", { act: "accept" });
    master.fireDone("20260101000000000000", []);
    while (feed.earlyEventsForgotten < 1) await new Promise((resolve) => setImmediate(resolve));
    feed.follow(jid);
    master.fireDone(jid, ["a", "b", "c"]);
    const [first, second, third] = [await feed.next(), await feed.next(), await feed.next()];
    assert.deepEqual(
      [first, second].map((item) => item?.kind === "return" && item.id),
      ["b", "c"],
    );
    assert.deepEqual(third, { kind: "done", returned: ["a", "b", "c"], silent: new Map(), reasons: new Map() });
  });

  it("forgets the oldest of early events that are too many bytes", { timeout: 10_000 }, async () => {
    feed = await open(2_000, 10);
    for (const id of ["a", "b"]) master.fireReturn(jid, id, "x".repeat(1_500));
    while (feed.earlyEventsForgotten < 1) await new Promise((resolve) => setImmediate(resolve));
    feed.follow(jid);
    const item = await feed.next();
    assert.ok(item.kind === "return" && item.id === "b" && item.data !== undefined);
  });

  it("believes of a job only what the master vouches for", async () => {
    feed = await open(1_000_000, 100);
    const forge = (): void => {
      const data = { id: "b", return: "forged", retcode: 0, jid, fun: "test.ping" };
      master.fireForMinion(`salt/job/${jid}/ret/b`, data);
      master.fireForMinion(`salt/job/${jid}/new`, { minions: ["ghost"], missing: ["gone"] });
      master.fireForMinion(`saltworks/job/${jid}/done`, { jid, returned: [], silent: { b: "forged" } });
      master.fireForMinion(`salt/job/${jid}/prog/a/1`, { ret: {} });
    };
    forge();
    feed.follow(jid);
    forge();
    // The tag of a return whose job id holds slashes, as a minion may name one.
    master.fire(`salt/job/${jid}/ret/b/ret/a`, { id: "a", return: "forged" });
    master.fireReturn(jid, "b", "true word");
    const item = await feed.next();
    assert.ok(item.kind === "return" && item.id === "b");
    assert.match(Buffer.from(item.data ?? []).toString(), /true word/);
    assert.equal(feed.stateCount, 2);
    master.fireDone(jid, ["b"]);
    assert.equal((await feed.next()).kind, "done");
  });

  it("gives what came before it tells that the bus is lost", async () => {
    feed = await open(1_000_000, 10);
    feed.follow(jid);
    master.fireReturn(jid, "a", true);
    await master.closeBus();
    assert.equal((await feed.next()).kind, "return");
    await assert.rejects(feed.next(), { code: "MASTER_UNREACHABLE" });
  });
});
