/**
 * `saltworks check-store` beside a master whose fleet returns in a storm: it reports no damage, and no return is lost. Two checks;
 * SALTWORKS_FAULT_ROUNDS=50 runs more (`npm run test:soak`).
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openFleet } from "../../bench/fleet/fleet.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { startOurMaster } from "../fleet/our-master.ts";
import { runCli } from "../fleet/run-cli.ts";

const minionCount = 40;
/** Jobs accumulate from check to check, so that each check takes longer than the one before. */
const checksMax = 20;
const checks = Math.min(Number(process.env.SALTWORKS_FAULT_ROUNDS ?? 2), checksMax);
const upTimeoutMs = 120_000;
const checkTimeoutMs = 120_000;
const storedTimeoutMs = 60_000;
/** A slow machine is not asked for more. */
const returnsWaitingMax = 1_000;
const suiteTimeoutMs = 400_000;

describe("a check beside a master that is written to", { timeout: suiteTimeoutMs }, () => {
  it("finds all whole each time, also after one that was killed, and every return is stored", async (context) => {
    const master = await startOurMaster(minionCount, { auto_accept: true, worker_threads: 2 });
    context.after(() => master.remove());
    const fleet = await openFleet({
      ...{ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount },
      ...{ returnTries: 60, returnTimeoutMs: [2_000, 4_000] },
    });
    context.after(() => fleet.close());
    await fleet.untilUp(upTimeoutMs);
    const client = master.client();
    context.after(() => client.close());
    const storm = { isOn: true, jids: [] as string[] };
    const publishing = (async () => {
      while (storm.isOn) {
        const { jid } = await client.publish("*", "test.ping");
        storm.jids.push(jid);
        churn(master.cacheDirectory, storm.jids.length);
        await delay(100);
        const isBehind = ({ returnsAcknowledged }: { readonly returnsAcknowledged: number }) =>
          storm.jids.length * minionCount - returnsAcknowledged > returnsWaitingMax;
        await fleet.until("few returns wait", (counters) => !isBehind(counters), storedTimeoutMs);
      }
    })();
    const argv = ["check-store", "-c", master.configDirectory];
    const killed = spawn(process.execPath, [
      "--enable-source-maps",
      join(import.meta.dirname, "../../src/cli/main.js"),
      ...argv,
    ]);
    // Resolves also if the program ends without output.
    await Promise.race([once(killed.stdout, "data"), once(killed, "exit")]);
    killed.kill("SIGKILL");
    for (let round = 0; round < checks; round += 1) {
      const { exitCode, stdout, stderr } = await runCli(argv, checkTimeoutMs);
      assert.equal(exitCode, 0, stdout + stderr);
      assert.match(stdout, /All is whole/);
    }
    storm.isOn = false;
    await publishing;
    context.diagnostic(`${storm.jids.length} jobs of ${minionCount} minions meanwhile`);
    assert.ok(storm.jids.length >= checks);
    const giveUpMs = performance.now() + storedTimeoutMs;
    // Each check costs a process, so only the first, the last and some between are run.
    const looked = storm.jids.filter(
      (_, at) => at % Math.ceil(storm.jids.length / 4) === 0 || at === storm.jids.length - 1,
    );
    for (const jid of looked) {
      for (;;) {
        const { stdout } = await runCli(
          ["run", "-c", master.configDirectory, "--out=json", "jobs.lookup_jid", jid],
          checkTimeoutMs,
        );
        const count = stdout.split("sim-").length - 1;
        if (count === minionCount) break;
        assert.ok(performance.now() < giveUpMs, `job ${jid} has ${count} returns: ${stdout.slice(0, 300)}`);
        await delay(100);
      }
    }
  });
});

/** Makes and removes keys and tokens as Salt's tools do. */
function churn(cachedir: string, turn: number): void {
  const tokens = join(cachedir, "tokens");
  mkdirSync(tokens, { recursive: true });
  const name = turn.toString(16).padStart(64, "0");
  writeFileSync(join(tokens, `.${name}`), encode({ token: name, expire: 1 }, "bin"));
  renameSync(join(tokens, `.${name}`), join(tokens, name));
  rmSync(join(tokens, (turn - 2).toString(16).padStart(64, "0")), { force: true });
}
