/** What root's commands leave while the master is down belongs to the master's user. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { needsRoot, type OrdinaryUser, ordinaryUser } from "../../fleet/ordinary-user.ts";

describe("root's `run` while the master is down", { skip: needsRoot }, () => {
  const user: OrdinaryUser = ordinaryUser();
  after(() => user.remove());

  it("leaves files of the master's user only", () => {
    const root = join(user.home, "site");
    const roots = join(root, "srv", "salt");
    for (const folder of ["etc", "cache", "pki", "sock", "srv/salt"])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(roots, "a.sls"), "a: test.nop\n");
    const options = {
      ...{ user: user.name, cachedir: join(root, "cache"), pki_dir: join(root, "pki"), sock_dir: join(root, "sock") },
      ...{ log_file: join(root, "log"), file_roots: { base: [roots] }, ret_port: 1 },
    };
    writeFileSync(join(root, "etc", "master"), JSON.stringify(options));
    for (const folder of ["cache", "pki", "sock", ""]) chownSync(join(root, folder), user.uid, user.gid);
    for (const fun of ["fileserver.file_list", "fileserver.update"]) {
      const ended = spawnSync(user.program, ["run", "-c", join(root, "etc"), fun], { env: user.env, encoding: "utf8" });
      assert.equal(ended.status, 0, ended.stdout + ended.stderr);
    }
    const cache = join(root, "cache");
    const made = readdirSync(cache, { recursive: true, encoding: "utf8" });
    assert.ok(existsSync(join(cache, "file_lists")) && made.length > 2, made.join(" "));
    for (const name of made) assert.equal(statSync(join(cache, name)).uid, user.uid, name);
  });
});
