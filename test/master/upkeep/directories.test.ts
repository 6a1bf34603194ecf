import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { prepareDirectories } from "../../../src/master/upkeep/directories.ts";
import { openLocalCache } from "../../../src/store/salt/local-cache.ts";
import { encode } from "../../../src/wire/msgpack.ts";

const root = mkdtempSync(join(tmpdir(), "sw-modes-"));
const umaskBefore = process.umask();
after(() => {
  process.umask(umaskBefore);
  rmSync(root, { recursive: true });
});

function directoriesOf(name: string) {
  const pki = join(root, name, "etc", "salt", "pki");
  const cachedir = join(root, name, "var", "cache", "master");
  return { pki_dir: join(pki, "master"), cachedir, sock_dir: join(root, name, "run", "salt") };
}
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe("the master's directories", () => {
  for (const umask of [0o000, 0o077, 0o022]) {
    it(`have Salt's modes whatever the umask is that the master was started with: ${umask.toString(8)}`, async () => {
      process.umask(umask);
      const config = directoriesOf(`new-${umask}`);
      const { pki_dir: pki, cachedir, sock_dir: sock } = config;
      prepareDirectories(config);
      assert.equal(modeOf(pki), "700");
      for (const path of [
        join(pki, ".."),
        join(pki, "..", ".."),
        join(pki, "minions"),
        cachedir,
        join(cachedir, ".."),
        sock,
      ])
        assert.equal(modeOf(path), "755", path);
      for (const name of ["jobs", "minions"]) assert.equal(modeOf(join(cachedir, name)), "750");
      const cache = openLocalCache({ cachedir, hashType: "sha256" });
      const jid = "20260102030405000001";
      await cache.keepJobs([{ jid, load: encode({ fun: "test.ping" }, "bin"), minions: ["web1"] }]);
      await cache.keepReturns([{ jid, minionId: "web1", body: encode({ return: true, fun: "test.ping" }, "bin") }]);
      const modes = new Map<string, Set<string>>();
      for (const entry of readdirSync(join(cachedir, "jobs"), { recursive: true, withFileTypes: true })) {
        const kind = entry.isDirectory() ? "directories" : "files";
        modes.set(kind, (modes.get(kind) ?? new Set()).add(modeOf(join(entry.parentPath, entry.name))));
      }
      assert.deepEqual([...(modes.get("directories") ?? [])], ["750"]);
      assert.deepEqual([...(modes.get("files") ?? [])], ["640"]);
    });
  }

  it("keep the modes that a takeover finds, except for keys that others could reach", () => {
    const config = directoriesOf("taken-over");
    for (const name of ["jobs", "minions"]) {
      mkdirSync(join(config.cachedir, name), { recursive: true });
      chmodSync(join(config.cachedir, name), 0o755);
    }
    mkdirSync(config.pki_dir, { recursive: true });
    for (const [before, expected] of [
      [0o755, "700"],
      [0o750, "750"],
      [0o777, "700"],
      [0o700, "700"],
    ] as const) {
      chmodSync(config.pki_dir, before);
      prepareDirectories(config);
      assert.equal(modeOf(config.pki_dir), expected);
    }
    for (const name of ["jobs", "minions"]) assert.equal(modeOf(join(config.cachedir, name)), "755");
  });
});
