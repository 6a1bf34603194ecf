/** Encrypted values in pillars of a running master, which a thread decrypts. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadPrimes, minionKey } from "../../bench/fleet/keys.ts";
import { block, Keyring } from "../pillar/gpg/keyring.ts";
import { writeBelow } from "../pillar/rendering.ts";
import { plainJson } from "../plain.ts";
import { skipWithout } from "../services/service.ts";
import { startOurMaster } from "./our-master.ts";
import { ProbeMinion } from "./probe-minion.ts";

describe("pillars with encrypted values", { timeout: 120_000, skip: skipWithout("gpg", "gpgconf") }, () => {
  let keys: Keyring;
  let root = "";
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let minion: ProbeMinion;

  before(async () => {
    keys = new Keyring();
    root = mkdtempSync(join(tmpdir(), "sw-pillars-"));
    writeBelow(root, "top.sls", "base:\n  '*': [a]\n");
    writeBelow(root, "a.sls", `#!yaml|gpg\na: ${block(keys.encrypt("of {{ web1 }}"), 2)}`);
    writeBelow(root, "hosts/web1/b", `${keys.encrypt("later")}\n`);
    master = await startOurMaster(1, {
      open_mode: true,
      pillar_roots: { base: [root] },
      ext_pillar: [{ file_tree: { root_dir: root } }],
      gpg_keydir: keys.directory,
      decrypt_pillar: ["b"],
    });
    const primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), 2);
    minion = await ProbeMinion.open("web1", minionKey(primes, 0), master.requestPort);
  });
  after(async () => {
    minion?.close();
    await master?.remove();
    keys?.remove();
    rmSync(root, { recursive: true, force: true });
  });

  it("come to the minion in the clear", async () => {
    const pillar = await minion.pillar({ id: "web1" }, master.requestPort);
    assert.deepEqual(plainJson(pillar), { a: "of {{ web1 }}", b: "later" });
  });
});
