/** Jobs in Redis beside Salt's: both masters write the same keys, and each one's tools find what the other wrote. */
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { RedisServer } from "../../databases/redis-server.ts";
import { skipWithout } from "../../services/service.ts";
import { openSaltsReturners } from "../returners/salts-returner.ts";
import { minionId, type Side, TwoMasters } from "./two-masters.ts";

const salts = await openSaltsReturners();
const skip = salts.skip || skipWithout("redis-server", "redis-cli");
const keepSeconds = 7_200;
/** How exactly lifetimes of keys are compared. */
const stepSeconds = 600;

describe("jobs in Redis beside Salt's", { skip, timeout: 400_000 }, () => {
  const site = new TwoMasters(salts);
  let server: RedisServer;

  before(async () => {
    server = await RedisServer.start();
    const options = { master_job_cache: "redis", keep_jobs_seconds: keepSeconds, ...server.options() };
    await site.open({ theirs: options, ours: options }, "redis");
  });
  after(async () => {
    await site.bed.close();
    await server?.service.close();
  });

  /**
   * What Redis has of a job's return: the return, the function's last job, and for how long. Empty until all of it is there. The load is
   * looked at elsewhere, because a master of Salt's overwrites it with each return.
   */
  function rowsOf(jid: string): string[] {
    const ret = server.command("HGETALL", `ret:${jid}`);
    if (ret.length < 2 || server.command("EXISTS", `load:${jid}`)[0] !== "1") return [];
    const { fun } = JSON.parse(ret[1] ?? "") as { fun: string };
    const keys = [`load:${jid}`, `ret:${jid}`, `${minionId}:${fun}`];
    // On a loaded machine a minute passes between two keys of a job.
    const lifetimes = keys.map((key) => `${key} ${Math.ceil(Number(server.command("TTL", key)[0]) / stepSeconds)}`);
    return [...ret, ...server.command("GET", `${minionId}:${fun}`), ...lifetimes];
  }

  site.bed.it("a master of ours writes the keys of Salt's for as long", async () => {
    // The key of a function's last job is the same for the minions of both masters.
    for (const theirs of await site.compare(rowsOf, false)) {
      assert.equal(theirs[2], "JID");
      assert.equal(theirs.at(-1)?.endsWith(` ${keepSeconds / stepSeconds}`), true);
    }
    assert.deepEqual(server.command("SMEMBERS", "minions"), [minionId]);
  });

  site.bed.it("a master of ours writes the load of Salt's, and keeps it when the minion returns", async () => {
    const started = async (side: Side) => {
      const jid = await site.start(side, ["test.sleep", "2"]);
      const load = await site.until(() => server.command("GET", `load:${jid}`).find((line) => line !== ""));
      return { jid, load: load.replaceAll(jid, "JID") };
    };
    const [theirs, ours] = [await started("theirs"), await started("ours")];
    assert.equal(ours.load, theirs.load);
    assert.match(ours.load, /^\{"cmd": "publish", /);
    await site.until(() => rowsOf(ours.jid)[0]);
    assert.equal(server.command("GET", `load:${ours.jid}`)[0]?.replaceAll(ours.jid, "JID"), theirs.load);
  });

  site.bed.it("each one's tools find the jobs of the other", async () => {
    for (const [writer, reader] of [
      ["ours", "theirs"],
      ["theirs", "ours"],
    ] as const) {
      const { jid } = await site.operator(writer, writer).job(minionId, ["test.echo", "found"]);
      await site.rowsOf(writer, ["test.ping"], rowsOf);
      const operator = site.operator(reader, reader);
      assert.deepEqual(await operator.json("run", ["jobs.lookup_jid", jid]), { [minionId]: "found" }, reader);
      const listed = (await operator.json("run", ["jobs.list_jobs", "ext_source=redis"])) as Record<string, unknown>;
      assert.equal((listed[jid] as { Function: string }).Function, "test.echo", reader);
    }
  });
});
