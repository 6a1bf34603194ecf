/**
 * Keys that are removed, rejected or replaced shortly after they were accepted, by other programs and by our own command: the former holder's
 * session no longer counts, and each command makes one new AES key.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { defaultKeyDirectory, loadPrimes, type MinionKey, minionKey } from "../../../bench/fleet/keys.ts";
import type { LocalClient } from "../../../bench/local-client.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { hasCode } from "../../../src/errors.ts";
import { startOurMaster } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { runCli } from "../run-cli.ts";

/** The effect comes within a second; the rest of the timeout is for a busy machine. */
const effectDeadlineMs = 30_000;
const pollMs = 50;
const cliTimeoutMs = 60_000;
/** The longest wait of the key watch before it looks. Salt's dropfile may come after the key was removed. */
const quietMs = 1_200;
const gapsMs = [0, 10, 30, 50, 100, 150, 250, 400];

describe("a key that goes soon after it was accepted", () => {
  let master: MasterProcess;
  let client: LocalClient;
  let keys: readonly [MinionKey, MinionKey];
  let jids = 0;
  let ids = 0;

  before(async () => {
    master = await startOurMaster(2, { deliver_within: 3_600, pillar_cache: true });
    client = master.client();
    const primes = await loadPrimes(defaultKeyDirectory(), 2);
    keys = [minionKey(primes, 0), minionKey(primes, 1)];
  });
  after(async () => {
    client?.close();
    await master?.remove();
  });

  const file = (id: string, folder = "minions") => join(master.pkiDirectory, folder, id);
  /** Removes the key with another program, so that the master's process does not do it. */
  const shell = (script: string) => execFileSync("/bin/sh", ["-ec", script]);

  async function rotations(): Promise<number> {
    const rows = (await client.wheel("saltworks.metrics")) as readonly (readonly unknown[])[];
    return Number(rows.find(([name]) => name === "saltworks_key_rotations_total")?.at(-1));
  }

  async function isServed(minion: ProbeMinion): Promise<boolean> {
    jids += 1;
    try {
      await minion.return(`20260102030405${String(jids).padStart(6, "0")}`);
      return true;
    } catch (error) {
      if (!hasCode(error, "WIRE_MALFORMED") && !hasCode(error, "CRYPTO_BAD_MAC")) throw error;
      return false;
    }
  }

  async function untilRefused(minion: ProbeMinion): Promise<void> {
    const startedMs = performance.now();
    while (await isServed(minion)) {
      assert.ok(performance.now() - startedMs < effectDeadlineMs, `${minion.id} is still served`);
      await wait(pollMs);
    }
  }

  type Removal = (id: string) => unknown;

  /** Accepts a key by writing its file, lets the minion authenticate, waits `gapMs`, and calls `remove`. */
  async function isRefusedAfter(gapMs: number, remove: Removal): Promise<void> {
    ids += 1;
    const id = `m${ids}`;
    writeFileSync(file(id), keys[0].publicPem);
    const minion = await ProbeMinion.open(id, keys[0], master.requestPort);
    try {
      await wait(gapMs);
      await remove(id);
      await untilRefused(minion);
      await wait(quietMs);
      assert.equal(await isServed(minion), false);
    } finally {
      minion.close();
    }
  }

  async function isOneRotation(command: () => Promise<void>): Promise<void> {
    const before = await rotations();
    await command();
    assert.equal(await rotations(), before + 1, "one command, one new AES key");
  }

  const removals: readonly [string, Removal][] = [
    ["removed", (id) => shell(`rm ${file(id)}`)],
    [
      "rejected",
      (id) => shell(`mkdir -p ${file("", "minions_rejected")}; mv ${file(id)} ${file(id, "minions_rejected")}`),
    ],
    [
      "replaced",
      (id) => {
        writeFileSync(file(`${id}.next`, "."), keys[1].publicPem);
        shell(`mv ${file(`${id}.next`, ".")} ${file(id)}`);
      },
    ],
  ];

  it("is refused whatever another program did, and however soon", async () => {
    await Promise.all(gapsMs.flatMap((gapMs) => removals.map(([, remove]) => isRefusedAfter(gapMs, remove))));
  });

  for (const [name, remove] of removals) {
    it(`causes one new AES key when it is ${name}`, () => isOneRotation(() => isRefusedAfter(50, remove)));
  }

  it("is refused after saltworks key -d and -r", async () => {
    const key = (...args: string[]) => runCli(["key", "-c", master.configDirectory, "-y", ...args], cliTimeoutMs);
    await isOneRotation(() => isRefusedAfter(0, (id) => key("-d", id)));
    await isOneRotation(() => isRefusedAfter(0, (id) => key("-r", id, "--include-accepted")));
  });

  const keptPillar = (id: string) => join(master.cacheDirectory, "pillar_cache", id);
  /** A waiting job for each minion, and a kept pillar. */
  async function giveWaiting(ids: readonly string[]): Promise<void> {
    mkdirSync(keptPillar(""), { recursive: true });
    for (const id of ids) {
      writeFileSync(keptPillar(id), "of the former holder");
      await client.publish(id, "test.echo", ["x"]);
    }
    assert.deepEqual(await waitingFor(), [...ids].sort());
  }
  async function waitingFor(): Promise<string[]> {
    const shown = await runCli(["run", "-c", master.configDirectory, "jobs.pending", "--out", "json"], cliTimeoutMs);
    assert.equal(shown.exitCode, 0, shown.stderr);
    const jobs = Object.values(JSON.parse(shown.stdout || "{}") as Record<string, { Minions: string[] }>);
    return jobs.flatMap((job) => job.Minions).sort();
  }
  async function untilWaitingFor(ids: readonly string[], gone: readonly string[]): Promise<void> {
    const startedMs = performance.now();
    while ((await waitingFor()).join() !== ids.join() || gone.some((id) => existsSync(keptPillar(id)))) {
      assert.ok(performance.now() - startedMs < effectDeadlineMs, `jobs wait for ${await waitingFor()}`);
      await wait(pollMs);
    }
    for (const id of ids) assert.ok(existsSync(keptPillar(id)), id);
  }

  it("leaves nothing that waited for its former holder, and all where its file is only touched", async () => {
    const waiting = ["taken", "stays"];
    for (const id of waiting) writeFileSync(file(id), keys[0].publicPem);
    const minions = await Promise.all(waiting.map((id) => ProbeMinion.open(id, keys[0], master.requestPort)));
    await giveWaiting(waiting);
    // The master has heard from neither since its start.
    await master.stop();
    await master.restart();
    writeFileSync(file("taken.next", "."), keys[1].publicPem);
    shell(`touch ${file("stays")}; mv ${file("taken.next", ".")} ${file("taken")}`);
    await untilWaitingFor(["stays"], ["taken"]);
    shell(`rm ${file("stays")}`);
    await untilWaitingFor([], ["stays"]);
    for (const minion of minions) minion.close();
  });

  it("keeps its session where its file is only touched, or written again as it was", async () => {
    const before = await rotations();
    writeFileSync(file("kept"), keys[0].publicPem);
    const minion = await ProbeMinion.open("kept", keys[0], master.requestPort);
    try {
      await wait(quietMs);
      shell(`touch ${file("kept")}; cp ${file("kept")} ${file("copy", ".")}; mv ${file("copy", ".")} ${file("kept")}`);
      await wait(quietMs);
      assert.equal(await isServed(minion), true);
      assert.equal(await rotations(), before);
    } finally {
      minion.close();
    }
  });

  it("is refused after a restart if it went or was replaced while the master was down, and the AES key is another one", async () => {
    const [gone, replaced, kept] = await Promise.all(
      ["gone", "other", "same"].map((id) => {
        writeFileSync(file(id), keys[0].publicPem);
        return ProbeMinion.open(id, keys[0], master.requestPort);
      }),
    );
    assert.ok(gone && replaced && kept);
    const { aes } = kept.keys;
    await giveWaiting(["gone", "other", "same"]);
    await master.stop();
    await master.restart();
    assert.deepEqual(
      await Promise.all([gone, replaced, kept].map(isServed)),
      [true, true, true],
      "a restart ends nothing",
    );
    await master.stop();
    shell(`rm ${file("gone")}`);
    writeFileSync(file("other"), keys[1].publicPem);
    await master.restart();
    assert.deepEqual(await Promise.all([gone, replaced, kept].map(isServed)), [false, false, true]);
    await untilWaitingFor(["same"], ["gone", "other"]);
    assert.match(master.logTail(), /removed or replaced while the master was down/);
    const again = await ProbeMinion.open("same", keys[0], master.requestPort);
    assert.notEqual(again.keys.aes.text, aes.text);
    for (const minion of [gone, replaced, kept, again]) minion.close();
  });

  it("is a target of the very next publish after another program put it there", async () => {
    for (let count = 0; count < 20; count += 1) {
      const id = `new${count}`;
      writeFileSync(file(id), keys[0].publicPem);
      const { minions } = await client.publish(id, "test.ping");
      assert.deepEqual(minions, [id]);
    }
  });
});
