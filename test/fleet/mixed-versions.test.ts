/** Minions of all request versions wait for the operator, are accepted, and work side by side. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Fleet, openFleet } from "../../bench/fleet/fleet.ts";
import type { MasterProcess } from "../../bench/master-process.ts";
import { closeSite, readCounters, startOurMaster, sumOf } from "./our-master.ts";
import { runCli } from "./run-cli.ts";

const versions = [0, 2, 3] as const;
const minionsPerVersion = 20;
const timeoutMs = 60_000;

/** The master watches the key directories: a command's changes take effect within a second, maybe after the command's end. */
async function untilRotated(master: MasterProcess): Promise<void> {
  const client = master.client();
  const deadlineMs = Date.now() + timeoutMs;
  try {
    while (sumOf(await readCounters(client), /^keys\.rotations$/) < 1) {
      assert.ok(Date.now() < deadlineMs, "the key was not rotated");
    }
  } finally {
    client.close();
  }
}

describe("a fleet of several request versions", () => {
  let master: MasterProcess;
  let fleets: Fleet[];

  before(async () => {
    master = await startOurMaster(versions.length * minionsPerVersion, { minimum_auth_version: 0 });
    fleets = await Promise.all(
      versions.map((version, index) =>
        openFleet({
          masterHost: "127.0.0.1",
          requestPort: master.requestPort,
          minionCount: minionsPerVersion,
          firstIndex: index * minionsPerVersion,
          idPrefix: `v${version}-`,
          version,
          acceptanceWaitMs: 300,
        }),
      ),
    );
  });
  after(() => closeSite(fleets, master));

  it("is told to wait, one pending key each", async () => {
    for (const fleet of fleets) {
      const isWaiting = ({ authsPending }: { authsPending: number }): boolean => authsPending >= minionsPerVersion;
      const { authsAccepted, authsInvalid } = await fleet.until("all pending", isWaiting, timeoutMs);
      assert.deepEqual({ authsAccepted, authsInvalid }, { authsAccepted: 0, authsInvalid: 0 });
    }
    const { stdout } = await runCli(["key", "-c", master.configDirectory, "-l", "pre", "--out", "json"], timeoutMs);
    const pending = (JSON.parse(stdout) as { minions_pre: string[] }).minions_pre;
    assert.deepEqual(pending.sort(), fleets.flatMap((fleet) => fleet.ids()).sort());
  });

  it("comes up when the operator accepts it, every reply verified", async () => {
    const { exitCode, stderr } = await runCli(["key", "-c", master.configDirectory, "-A", "-y"], timeoutMs);
    assert.equal(exitCode, 0, stderr);
    for (const fleet of fleets) {
      const { authsInvalid, repliesUnreadable, reauths } = await fleet.untilUp(timeoutMs);
      assert.deepEqual(
        { authsInvalid, repliesUnreadable, reauths },
        { authsInvalid: 0, repliesUnreadable: 0, reauths: 0 },
      );
    }
  });

  it("answers one job together", async () => {
    const args = ["salt", "-c", master.configDirectory, "*", "test.ping", "-t", "30", "--static", "--out", "json"];
    const { exitCode, stdout, stderr } = await runCli(args, timeoutMs);
    assert.equal(exitCode, 0, stderr);
    const expected = Object.fromEntries(fleets.flatMap((fleet) => fleet.ids()).map((id) => [id, true]));
    assert.deepEqual(JSON.parse(stdout), expected);
  });

  it("goes on after a key rotation: each authenticates once more and reads the very publish that told it", async () => {
    const [oldest] = fleets;
    assert.ok(oldest !== undefined);
    const victim = oldest.ids()[0] ?? "";
    const { exitCode, stderr } = await runCli(["key", "-c", master.configDirectory, "-d", victim, "-y"], timeoutMs);
    assert.equal(exitCode, 0, stderr);
    await untilRotated(master);
    const args = ["salt", "-c", master.configDirectory, "*", "test.ping", "-t", "30", "--static", "--out", "json"];
    const { stdout } = await runCli(args, timeoutMs);
    const others = fleets.flatMap((fleet) => fleet.ids()).filter((id) => id !== victim);
    assert.deepEqual(JSON.parse(stdout), Object.fromEntries(others.map((id) => [id, true])));
    for (const fleet of fleets) {
      const { reauths, publishesUnreadable } = await fleet.until(
        "all authenticated again",
        (now) => now.reauths >= minionsPerVersion,
        timeoutMs,
      );
      assert.equal(reauths, minionsPerVersion);
      assert.equal(publishesUnreadable, 0);
    }
  });
});
