/** The master's own folders in its cache directory are not banks of runner `cache`, because a user with that grant could read or write there. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { loadPrimes, minionKey } from "../../../bench/fleet/keys.ts";
import { CacheBanks } from "../../../src/store/cache-banks.ts";
import { repositoryRoot } from "../../root.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { startOurMaster } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";
import { runCli } from "../run-cli.ts";

const deadline = { timeout: 180_000 };
const commandTimeoutMs = 60_000;

function assertNoBanks(names: readonly string[], cachedir: string): void {
  const banks = new CacheBanks(cachedir);
  for (const name of names) {
    assert.throws(() => banks.list(name), { code: "STORE_FAILED" }, name);
    assert.throws(() => banks.flush(name, undefined), { code: "STORE_FAILED" }, name);
  }
}

describe("the cache directory of a master", deadline, () => {
  const temporary = temporaryDirectories();

  it("holds no bank, whatever it has made there", async (context) => {
    const files = temporary();
    mkdirSync(join(files, "pillar"));
    writeFileSync(join(files, "pillar", "top.sls"), "base:\n  '*': [common]\n");
    writeFileSync(join(files, "pillar", "common.sls"), "secret: 1\n");
    const master = await startOurMaster(1, {
      open_mode: true,
      pillar_cache: true,
      salt_files: "always",
      file_roots: { base: [files] },
      pillar_roots: { base: [join(files, "pillar")] },
    });
    context.after(() => master.remove());
    const primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), 2);
    const minion = await ProbeMinion.open("x.p", minionKey(primes, 0), master.requestPort);
    context.after(() => minion.close());
    await minion.pillar({ id: "x.p" }, master.requestPort);
    for (const call of [["fileserver.file_list"], ["fileserver.update"], ["salt.cmd", "test.ping"]]) {
      const { exitCode, stderr } = await runCli(["run", "-c", master.configDirectory, ...call], commandTimeoutMs);
      assert.equal(exitCode, 0, stderr);
    }
    const made = readdirSync(master.cacheDirectory);
    for (const name of ["file_lists", "jobs.lmdb", "pillar_cache", "roots"])
      assert.ok(made.includes(name), `${name} is not among ${made.join(" ")}`);
    assertNoBanks(made, master.cacheDirectory);
  });

  it("has no name in the sources that is a bank", () => {
    const source = join(repositoryRoot, "src");
    const named = readdirSync(source, { recursive: true, encoding: "utf8" })
      // A minion's cache directory belongs to the minion.
      .filter((file) => file.endsWith(".ts") && !file.startsWith("minion/"))
      .flatMap((file) => [...readFileSync(join(source, file), "utf8").matchAll(/cachedir, "([^"]+)"/g)])
      .map(([, name = ""]) => name);
    assert.ok(named.includes("pillar_cache") && named.includes("salt_cmd"), named.join(" "));
    assertNoBanks(named, temporary());
  });
});
