/** A rolling upgrade: members of the former release and of this one work side by side as one cluster, and one goes back to the former release. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { MasterClient } from "../../../src/client/master-client.ts";
import type { LikenessReport } from "../../../src/cluster/likeness/ask.ts";
import { readOwnPackage } from "../../../src/config/host/program.ts";
import type { Program } from "../../interop/program.ts";
import { type FormerRelease, formerVersion, unpackFormerRelease } from "../../releases/former-release.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { cliFile } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { createKey, logOf, untilSo } from "./members.ts";
import { places, type Release, ReleaseSite, startMinion } from "./release-site.ts";
import { RunningMinion } from "./running-minion.ts";

const skip = await natsServerSkip();
/** Of one wait, on a machine that does much else. */
const limitMs = 150_000;
const jobMs = 400;
const webs = ["web1", "web2", "web3"];
/** Minions as programs, of the former release and of this one. */
const real = ["former1", "present1"];
const realAt = [0, 2] as const;
const all = [...real, ...webs];
const lates = ["late1", "late2", "late3"];
const ann = { eauth: "auto", username: "ann", password: "any" };
const present: Release = { version: readOwnPackage().version, cliFile };
const batch = { size: "1", waitSeconds: 0, isFailHard: false, canary: 0, failuresMax: undefined, isStatic: false };

describe("members of two releases", { skip, timeout: 600_000 }, () => {
  const temporary = temporaryDirectories();
  const minionKeys = new Map([...webs, ...lates, "data1", "gone"].map((id) => [id, createKey()]));
  const programs: Program[] = [];
  /** Every simulated minion that there was. */
  const minions: RunningMinion[] = [];
  /** Ids of all jobs, with the minions that had to return. */
  const jobs = new Map<string, readonly string[]>();
  let unpacked: FormerRelease;
  let former: Release;
  let site: ReleaseSite;
  let ranFile = "";
  let turn = 0;

  const until = (what: string | (() => string), isSo: () => boolean | Promise<boolean>) => untilSo(what, isSo, limitMs);
  const keyOf = (id: string) => minionKeys.get(id) ?? assert.fail(id);
  const open = async (id: string, at: number) => {
    const minion = await RunningMinion.open(id, keyOf(id), site.member(at), () => pause(jobMs));
    minions.push(minion);
    return minion;
  };
  /** `webAt`: the members of the simulated minions. Otherwise a publish might be earlier than a subscription. */
  const untilSubscribed = async (webAt: readonly number[]) => {
    const expected = places.map((at) => [...realAt, ...webAt].filter((one) => one === at).length).join();
    let found = "";
    await until(
      () => `${expected} minions are subscribed, not ${found}`,
      async () => {
        found = (await Promise.all(places.map((at) => site.subscriberCount(at)))).join();
        return found === expected;
      },
    );
  };
  /** The simulated minions move to these members. */
  const openWebs = async (...at: readonly number[]) => {
    for (const minion of minions) minion.close();
    await untilSubscribed([]);
    const webAt = webs.map((_, index) => at[index % at.length] ?? 0);
    await Promise.all(webs.map((id, index) => open(id, webAt[index] ?? 0)));
    await untilSubscribed(webAt);
  };
  const ranBy = (id: string) => minions.flatMap((one) => (one.id === id ? one.ran : []));
  const runCount = () => minions.reduce((sum, { ran }) => sum + ran.length, 0);
  const publish = async (at: number, ids: readonly string[], name: string) => {
    const request = { target: ids, targetKind: "list", args: [`echo ${name} >> ${ranFile}`] };
    const jid = await site.publish(at, "", request);
    jobs.set(jid, ids);
    return jid;
  };
  const untilReturned = async (jid: string) => {
    const expected = [...(jobs.get(jid) ?? [])].sort().join();
    for (const at of places) {
      let found = "";
      await until(
        () => `member ${at} has the returns of ${expected} for ${jid}, not ${found}`,
        async () => {
          found = [...(await site.read(at, "jobs.lookup_jid", { jid })).keys()].sort().join();
          return found === expected;
        },
      );
    }
  };
  const untilPresent = async () => {
    for (const at of places)
      await until(`all minions are present on ${at}`, async () => {
        const outcome = await (await site.client(at)).read("runner", "manage.present", new Map());
        return all.every((id) => (outcome.value as string[]).includes(id));
      });
  };

  /** One member deletes a key, whereupon all have another AES key; another one accepts and rejects keys of others. */
  const changeKeys = async (at: number) => {
    const [one, other] = [at, (at + 1) % 3];
    const rotations = () => places.map((place) => logOf(site.member(place)).split("rotated the AES key").length);
    const { publicPem } = keyOf("gone");
    site.writeKey(one, "minions", `gone${turn}`, publicPem);
    for (const id of [`yes${turn}`, `no${turn}`]) site.writeKey(one, "minions_pre", id, publicPem);
    await site.untilKeysAlike(
      "they came",
      (keys) => keys.has(`minions/gone${turn}`) && keys.has(`minions_pre/no${turn}`),
    );
    const before = rotations();
    await site.wheel(other, "key.accept", `yes${turn}`);
    await site.wheel(one, "key.reject", `no${turn}`);
    await site.wheel(other, "key.delete", `gone${turn}`);
    await site.untilKeysAlike(
      "they changed",
      (keys) =>
        keys.has(`minions/yes${turn}`) && keys.has(`minions_rejected/no${turn}`) && !keys.has(`minions/gone${turn}`),
    );
    await until("all have the new AES key", () => rotations().every((count, place) => count > (before[place] ?? 0)));
  };

  const shareTokens = async (at: number) => {
    const token = (await MasterClient.makeToken(site.config(at), ann)) ?? assert.fail("no token");
    const isGood = async (place: number) => {
      const client = await MasterClient.open(site.config(place), "ann", { token });
      try {
        return (await client.runner("test.arg", [], new Map())).isSuccess;
      } catch {
        return false;
      } finally {
        client.close();
      }
    };
    for (const place of places) await until(`the token is good on ${place}`, () => isGood(place));
    await site.runner((at + 1) % 3, "auth.del_token", token);
    for (const place of places) await until(`the token is gone on ${place}`, async () => !(await isGood(place)));
  };

  const shareData = async (at: number) => {
    const { requestPort } = site.member(at);
    const os = `step${turn}`;
    const probe = await ProbeMinion.open("data1", keyOf("data1"), requestPort);
    await probe.pillar({ os, id: "data1" }, requestPort);
    assert.equal(await probe.ask(probe.seal({ cmd: "_mine", data: { os }, clear: false })), true);
    probe.close();
    for (const place of places) {
      const target = { target: `os:${os}`, targetKind: "grain", delimiter: ":" };
      await until(`grains are on ${place}`, async () =>
        (await (await site.client(place)).matchTarget(target)).includes("data1"),
      );
      await until(`the mine is on ${place}`, async () => {
        const mine = (await site.read(place, "cache.mine", { tgt: "data1" })).get("data1");
        return mine instanceof Map && mine.get("os") === os;
      });
    }
  };

  /** All that members do together, from each of them. */
  const workTogether = async () => {
    turn += 1;
    await changeKeys(turn % 3);
    await openWebs(turn % 3, (turn + 1) % 3, (turn + 2) % 3);
    const published = await Promise.all(places.map((at) => publish(at, all, `turn${turn}-${at}`)));
    await Promise.all([shareTokens(turn % 3), shareData((turn + 1) % 3)]);
    for (const jid of published) await untilReturned(jid);
    await untilPresent();
  };

  /** Whether another member's log says so of a job. */
  const isToldBy = (others: readonly number[], text: string, jid: string) =>
    others.some((at) =>
      logOf(site.member(at))
        .split("\n")
        .some((line) => line.includes(text) && line.includes(jid)),
    );

  /** Replaces a member's program while it owns a batch job and a waiting job, with which others go on. */
  const change = async (at: number, release: Release) => {
    const others = places.filter((place) => place !== at);
    const [one = 0, other = 0] = others;
    const late = lates.shift() ?? assert.fail("too many changes");
    await openWebs(...others);
    const ranCount = runCount();
    const [batched, waiting] = await Promise.all([
      site.publish(at, "web*", { batch }),
      site.publish(at, late, { kwargs: { deliver_within: "1h" } }),
    ]);
    jobs.set(batched, webs);
    jobs.set(waiting, [late]);
    await until("a minion runs the batch job", () => runCount() > ranCount);
    let meanwhile = "";
    await site.change(at, release, async () => {
      meanwhile = await publish(one, webs, `away${turn}`);
      site.writeKey(other, "minions", `new${turn}${at}${release.version}`, keyOf("gone").publicPem);
      await until("another owns the batch job", () => isToldBy(others, "a batch job is resumed", batched));
      await until("another owns the waiting job", () => isToldBy(others, "goes on with a job that waits", waiting));
      await until("the batch job is over", async () => (await stateOf(other, batched)) === "finished");
    });
    await (await open(late, at)).announce();
    for (const jid of [batched, waiting, meanwhile]) await untilReturned(jid);
    for (const place of places) {
      await until(`${place} shows the end`, async () => (await stateOf(place, batched)) === "finished");
      await until(`${place} has none that waits`, async () => !(await site.read(place, "jobs.pending")).has(waiting));
    }
    await site.untilKeysAlike("of a member that was away", (keys) =>
      keys.has(`minions/new${turn}${at}${release.version}`),
    );
  };
  const stateOf = async (at: number, jid: string) => {
    const found = (await site.read(at, "jobs.batches")).get(jid);
    return found instanceof Map ? found.get("State") : undefined;
  };

  before(async () => {
    unpacked = await unpackFormerRelease();
    former = { version: formerVersion, cliFile: unpacked.cliFile };
    const directory = temporary();
    ranFile = join(directory, "ran");
    site = await ReleaseSite.start(former, {
      external_auth: { auto: { ann: [".*", "@runner", "@wheel"] } },
      gather_job_timeout: 3,
    });
    for (const [id, { publicPem }] of minionKeys) site.writeKey(0, "minions", id, publicPem);
    for (const [id, release, at] of [
      ["former1", former, realAt[0]],
      ["present1", present, realAt[1]],
    ] as const) {
      programs.push(startMinion(release, id, site.member(at), join(directory, id)));
      await until(`${id} waits`, () => existsSync(join(site.member(1).pkiDirectory, "minions_pre", id)));
      await site.wheel(1, "key.accept", id);
    }
    await site.untilKeysAlike("at the start", (keys) => all.every((id) => keys.has(`minions/${id}`)));
  });
  after(async () => {
    for (const minion of minions) minion.close();
    await Promise.all(programs.map((program) => program.stop()));
    await site?.remove();
    unpacked?.remove();
  });

  it("work as one when the first is upgraded, and hand jobs to each other", async () => {
    await change(0, present);
    assert.deepEqual(site.versions(), [present.version, former.version, former.version]);
    await workTogether();
  });

  it("tell of the two releases", async () => {
    const told = async (at: number) => {
      const [check, status] = await Promise.all([
        site.cli(at, "cluster", "check", "--json"),
        site.cli(at, "cluster", "status"),
      ]);
      const { differences, unasked } = JSON.parse(check.stdout) as LikenessReport;
      const versions = differences.flatMap(({ subject, member, detail }) =>
        subject === "version" ? [[member, detail]] : [],
      );
      return { versions, unasked, exitCodes: [check.exitCode, status.exitCode], status: status.stdout };
    };
    for (const { versions, unasked, exitCodes, status } of await Promise.all([told(0), told(1)])) {
      assert.deepEqual([exitCodes, unasked, versions], [[1, 0], [], [["member1", present.version]]]);
      for (const place of places) assert.match(status, new RegExp(`member${place + 1} .*answers`));
    }
  });

  it("take a member back that returns to the former release, and its jobs from it", async () => {
    await change(0, former);
  });

  it("go on while one after the other is upgraded", async () => {
    const nothing = async () => undefined;
    await site.change(0, present, nothing);
    await site.change(1, present, nothing);
    await workTogether();
    await change(2, present);
    assert.deepEqual(site.versions(), [present.version, present.version, present.version]);
  });

  it("have each job of that time once for each minion, and nothing that they could not read", async () => {
    for (const jid of jobs.keys()) await untilReturned(jid);
    for (const id of minionKeys.keys()) {
      const ran = ranBy(id);
      assert.equal(new Set(ran).size, ran.length, `${id} ran ${ran}`);
      // A step of a batch job has an id of its own.
      assert.equal(ran.length, [...jobs.values()].filter((ids) => ids.includes(id)).length, `${id} ran ${ran}`);
    }
    const lines = readFileSync(ranFile, "utf8").trim().split("\n");
    for (const name of new Set(lines)) assert.equal(lines.filter((line) => line === name).length, real.length, name);
    for (const at of places) {
      const faults = logOf(site.member(at))
        .split("\n")
        .filter((line) => /(?:has|of) version|cannot be (?:read|taken)/.test(line));
      assert.deepEqual(faults, []);
    }
  });
});
