/** Files that minions have pushed, as Salt 3007's `minionfs` serves them. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import { type OpenFiles, openFiles } from "../open-files.ts";

const pushed = {
  "cache/minions/web1/files/etc/app.conf": "one\n",
  "cache/minions/web1/files/top.sls": "base: {'*': [evil]}\n",
  "cache/minions/db1/files/var/x": "two\n",
  "cache/minions/quiet/data.p": "",
};

describe("files that minions have pushed", () => {
  const opened: OpenFiles[] = [];
  afterEach(() => {
    for (const one of opened.splice(0)) one.remove();
  });
  const begin = (options: Overrides = {}): OpenFiles => {
    const files = openFiles({ fileserver_backend: ["minionfs"], file_recv: true, ...options }, pushed);
    opened.push(files);
    return files;
  };
  const text = async ({ ask }: OpenFiles, path: string, saltenv = "base") => {
    const answer = (await ask({ cmd: "_serve_file", path, saltenv, loc: 0 })) as Map<string, unknown>;
    return String(answer.get("data"));
  };

  it("are served below the minion's id, with stat and hash, in one environment", async () => {
    const files = begin();
    assert.deepEqual(await files.server.environments(), ["base"]);
    assert.equal(await text(files, "web1/etc/app.conf"), "one\n");
    assert.equal(await text(files, "web1/etc/app.conf", "dev"), "");
    assert.equal(await text(files, "web1"), "");
    const found = (await files.ask({ cmd: "_file_find", path: "db1/var/x", saltenv: "base" })) as Map<string, unknown>;
    assert.deepEqual([found.get("rel"), found.get("back")], ["db1/var/x", "minionfs"]);
    assert.equal((found.get("stat") as unknown[]).length, 10);
    const listed = ["db1/var/x", "web1/etc/app.conf", "web1/top.sls"];
    assert.deepEqual(await files.server.list("files", "base"), listed);
    assert.deepEqual(await files.server.list("dirs", "base"), ["db1/var", "web1/etc"]);
  });

  it("are never a top file, and lead nowhere by links", async () => {
    const files = begin();
    const secret = files.write("secret", "hidden\n");
    symlinkSync(secret, join(files.folder, "cache/minions/web1/files/link"));
    symlinkSync(files.folder, join(files.folder, "cache/minions/web1/files/all"));
    for (const path of ["web1/top.sls", "web1/link", "web1/all/secret", "web1/../../secret", "../minions/web1/top.sls"])
      assert.equal(await text(files, path), "", path);
    const listed = await files.server.list("files", "base");
    assert.deepEqual(
      listed.filter((name) => /link|all/.test(name)),
      [],
    );
  });

  it("obey environment, mountpoint, white and black list, and the rules of ignored files", async () => {
    const files = begin({
      minionfs_env: "pushed",
      minionfs_mountpoint: "salt://from/minions",
      minionfs_whitelist: ["web*", "db\\d"],
      minionfs_blacklist: ["db1"],
      file_ignore_glob: ["*.sls"],
    });
    assert.deepEqual(await files.server.environments(), ["pushed"]);
    assert.deepEqual(await files.server.list("files", "pushed"), ["from/minions/web1/etc/app.conf"]);
    assert.equal(await text(files, "from/minions/web1/etc/app.conf", "pushed"), "one\n");
    assert.equal(await text(files, "from/minions/db1/var/x", "pushed"), "");
    assert.equal(await text(files, "web1/etc/app.conf", "pushed"), "");
  });

  it("are not served while minions may not push, and a warning says so", async () => {
    const files = begin({ file_recv: false });
    assert.deepEqual([await files.server.environments(), await text(files, "web1/etc/app.conf")], [[], ""]);
    assert.deepEqual(files.settings.faults, [
      "fileserver_backend: minionfs serves nothing, because file_recv is False",
    ]);
  });
});
