import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const cliFile = fileURLToPath(new URL("../../../src/cli/main.js", import.meta.url));
const timeout = 60_000;
/** A user id that no user of the machine is likely to have. */
const strangerUid = 3_999_999;

describe("the process that a command runs in", () => {
  it("says in one line that the output cannot be written", () => {
    const full = openSync("/dev/full", "w");
    const stdio: ["ignore", number, "pipe"] = ["ignore", full, "pipe"];
    const ran = spawnSync(process.execPath, [cliFile, "salt", "--help"], { stdio, encoding: "utf8", timeout });
    closeSync(full);
    assert.match(ran.stderr, /^saltworks: the output cannot be written: ENOSPC[^\n]*\n$/);
    assert.equal(ran.status, 74);
  });

  it("goes on without an error output", () => {
    const argv = ["-c", '"$0" "$@" 2>/dev/full', process.execPath, cliFile, "run", "-d", "test.arg", "-c", "/nosuch"];
    const ran = spawnSync("/bin/sh", argv, { encoding: "utf8", timeout });
    assert.match(ran.stdout, /^test\.arg:\n/);
    assert.equal(ran.status, 0);
  });

  it("ends with Salt's words and code when Ctrl-C comes while a question is asked", async () => {
    const folder = mkdtempSync(join(tmpdir(), "host-"));
    try {
      mkdirSync(join(folder, "pki", "minions_pre"), { recursive: true });
      writeFileSync(join(folder, "pki", "minions_pre", "es1"), "key");
      writeFileSync(join(folder, "master"), `pki_dir: ${folder}/pki\ncachedir: ${folder}/cache\n`);
      const key = spawn(process.execPath, [cliFile, "key", "-c", folder, "-d", "es1"], { timeout });
      let [out, err] = ["", ""];
      key.stderr.on("data", (part) => {
        err += part;
      });
      key.stdout.on("data", (part) => {
        out += part;
        if (out.endsWith("Proceed? [N/y] ")) key.kill("SIGINT");
      });
      assert.deepEqual(await once(key, "close"), [0, null]);
      assert.equal(err, "\nExiting gracefully on Ctrl-c\n");
      assert.ok(existsSync(join(folder, "pki", "minions_pre", "es1")));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("works for a user without a name", {
    skip: process.getuid?.() === 0 ? false : "only root can be somebody else",
  }, () => {
    const ran = spawnSync(process.execPath, ["--input-type=module", "-e", strangerText], { encoding: "utf8", timeout });
    assert.equal(ran.stderr, "");
    assert.equal(ran.stdout, `${strangerUid}`);
  });
});

/** Loads modules before the change of user, because the new user may not be able to read them. */
const strangerText = `
  import { ownUserName } from ${JSON.stringify(new URL("../../../src/config/host/user.js", import.meta.url).href)};
  process.setuid(${strangerUid});
  process.stdout.write(ownUserName());
`;
