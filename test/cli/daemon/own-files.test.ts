import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { dropNodeVariables, droppedVariables } from "../../../src/cli/daemon/node-environment.ts";
import { giveFiles } from "../../../src/cli/daemon/own-files.ts";
import { removePidFile, writePidFile } from "../../../src/cli/daemon/pid-file.ts";
import { needsRoot } from "../../fleet/ordinary-user.ts";
import { repositoryRoot } from "../../root.ts";

const owner = { uid: 65_534, gid: 65_534 };
const uidOf = (path: string): number => statSync(path).uid;

describe("root gives a daemon's files to its user", { skip: needsRoot }, () => {
  let folder: string;
  let warnings: string[];
  const give = (directories: readonly string[], logFile?: string, pidFile = ""): void =>
    giveFiles(
      { directories: directories.map((path) => ({ path, mode: 0o700 })), logFile, pidFile },
      owner,
      (sentence) => warnings.push(sentence),
    );
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "sw-"));
    warnings = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("makes what is missing, the parents root's, and gives all that is in the directories", () => {
    const cache = join(folder, "a", "b", "cache");
    mkdirSync(join(cache, "minions", "m1"), { recursive: true });
    for (const name of [".root_key", "minions/m1/data.p"]) writeFileSync(join(cache, name), "");
    give([cache, join(folder, "new", "pki")], join(folder, "log", "master"), join(folder, "pid", "file"));
    for (const name of [".root_key", "minions", "minions/m1", "minions/m1/data.p"])
      assert.equal(uidOf(join(cache, name)), owner.uid, name);
    assert.deepEqual([uidOf(join(folder, "new")), statSync(join(folder, "new")).mode & 0o777], [0, 0o755]);
    assert.deepEqual(
      [uidOf(join(folder, "new", "pki")), statSync(join(folder, "new", "pki")).mode & 0o777],
      [owner.uid, 0o700],
    );
    assert.deepEqual([uidOf(join(folder, "log")), uidOf(join(folder, "log", "master"))], [0, owner.uid]);
    assert.equal(statSync(join(folder, "log", "master")).mode & 0o777, 0o640);
    assert.equal(uidOf(join(folder, "pid", "file")), owner.uid);
  });

  it("follows no link that lies in them, and gives no file that has a second name", () => {
    const secret = join(folder, "secret");
    writeFileSync(secret, "root's");
    mkdirSync(join(folder, "etc"));
    writeFileSync(join(folder, "etc", "file"), "");
    const cache = join(folder, "cache");
    mkdirSync(cache);
    symlinkSync(join(folder, "etc"), join(cache, "directory"));
    symlinkSync(secret, join(cache, "file"));
    linkSync(secret, join(cache, "name"));
    symlinkSync(secret, join(folder, "log"));
    give([cache]);
    assert.throws(() => give([], join(folder, "log")), { code: "ELOOP" });
    assert.deepEqual([uidOf(secret), uidOf(join(folder, "etc")), uidOf(join(folder, "etc", "file"))], [0, 0, 0]);
    assert.deepEqual(warnings, [`${join(cache, "name")} has a second hard link: it keeps its owner`]);
  });

  it("goes through a link on the way only if root laid it", () => {
    mkdirSync(join(folder, "there", "cache"), { recursive: true });
    symlinkSync("there", join(folder, "link"));
    give([join(folder, "link", "cache")]);
    assert.equal(uidOf(join(folder, "there", "cache")), owner.uid);
    mkdirSync(join(folder, "elsewhere", "cache"), { recursive: true });
    symlinkSync("elsewhere", join(folder, "trap"));
    lchownSync(join(folder, "trap"), owner.uid, owner.gid);
    assert.throws(() => give([join(folder, "trap", "cache")]), { code: "CONFIG_INVALID" });
    assert.equal(uidOf(join(folder, "elsewhere", "cache")), 0);
  });

  it("leaves a directory of Salt's jobs alone once it is the user's", () => {
    const jobs = join(folder, "cache", "jobs");
    mkdirSync(jobs, { recursive: true });
    writeFileSync(join(jobs, "old"), "");
    give([join(folder, "cache")]);
    assert.equal(uidOf(join(jobs, "old")), owner.uid);
    writeFileSync(join(jobs, "new"), "");
    chmodSync(join(folder, "cache"), 0o755);
    chownSync(join(folder, "cache"), 0, 0);
    give([join(folder, "cache")]);
    assert.deepEqual([uidOf(join(folder, "cache")), uidOf(join(jobs, "new"))], [owner.uid, 0]);
  });
});

describe("a process id file", () => {
  it("is written over a stale one, and removed only by the process that it names", () => {
    const folder = mkdtempSync(join(tmpdir(), "sw-"));
    const path = join(folder, "deep", "master.pid");
    try {
      assert.equal(writePidFile(path), undefined);
      writeFileSync(path, "99999999 of an earlier start\n");
      assert.equal(removePidFile(path), undefined);
      assert.equal(writePidFile(path), undefined);
      assert.equal(readFileSync(path, "utf8"), `${process.pid}`);
      assert.equal(removePidFile(path), undefined);
      writeFileSync(join(folder, "target"), "kept");
      symlinkSync(join(folder, "target"), path);
      assert.equal((writePidFile(path) as NodeJS.ErrnoException).code, "ELOOP");
      assert.equal(readFileSync(join(folder, "target"), "utf8"), "kept");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("variables that change Node.js", () => {
  it("are the same as in bin/saltworks", () => {
    const lines = readFileSync(join(repositoryRoot, "bin/saltworks"), "utf8").matchAll(/unset ([A-Z0-9_ ]+?) ;;/g);
    assert.deepEqual(
      [...lines].flatMap((line) => line[1]?.split(" ")),
      [...droppedVariables],
    );
  });

  it("are dropped, or refused where Node.js has acted on them", () => {
    const environment: Record<string, string> = {
      NODE_OPTIONS: " ",
      NODE_PATH: "/x",
      PATH: "/bin",
    };
    assert.deepEqual(dropNodeVariables(environment), ["NODE_OPTIONS", "NODE_PATH"]);
    assert.deepEqual(environment, { PATH: "/bin" });
    const acting = [
      "--inspect",
      "--inspect-brk=0",
      "-r /x.js",
      "--require=/x.js",
      "--import /x.mjs",
      "--loader x",
      "-r=/x",
      "--experimental_loader=/x.mjs",
      "--inspect_brk",
      "--tls-cipher-list=NULL",
    ];
    for (const options of acting)
      assert.throws(() => dropNodeVariables({ NODE_OPTIONS: options }), { code: "CONFIG_INVALID" }, options);
  });
});
