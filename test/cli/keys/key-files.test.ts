import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { dispatch } from "../../../src/cli/dispatch.ts";
import { cleanPem, fingerprint, generateKeyPair } from "../../../src/crypto/pem.ts";
import { takeKeepMark } from "../../../src/store/keys/keep-marks.ts";
import { TestHost } from "../test-host.ts";

const permissions = 0o777;

describe("saltworks key makes key files and knows its options", () => {
  let folder: string;
  let pki: string;
  let publicPem: string;

  async function run(...argv: string[]): Promise<{ out: string; err: string; code: number }> {
    const host = new TestHost();
    const code = await dispatch(["key", "-c", folder, ...argv], host);
    return { out: host.out, err: host.err, code };
  }

  before(async () => {
    ({ publicPem } = await generateKeyPair(2_048));
    folder = await mkdtemp(join(tmpdir(), "saltworks-keyfiles-"));
    pki = join(folder, "pki");
    const lines = [`pki_dir: ${pki}`, `cachedir: ${folder}/cache`, `sock_dir: ${folder}/run`, "id: a_master"];
    writeFileSync(join(folder, "master"), `${lines.join("\n")}\n`);
  });
  beforeEach(() => {
    rmSync(pki, { recursive: true, force: true });
    rmSync(join(folder, "cache"), { recursive: true, force: true });
    for (const name of ["minions", "minions_pre"]) mkdirSync(join(pki, name), { recursive: true });
  });
  after(() => rm(folder, { recursive: true }));

  it("makes a pair in a directory of its own and leaves one that is there", async () => {
    const directory = join(folder, "made", "here");
    const { out, code } = await run("--gen-keys=web9", `--gen-keys-dir=${directory}`);
    const pem = readFileSync(join(directory, "web9.pub"), "utf8");
    assert.equal(out, `return:\n    ${fingerprint(pem)}\n`);
    assert.equal(code, 0);
    assert.equal(statSync(join(directory, "web9.pem")).mode & permissions, 0o400);
    assert.equal(statSync(join(directory, "web9.pub")).mode & permissions, 0o644);
    assert.equal(createPublicKey(pem).asymmetricKeyDetails?.modulusLength, 2_048);
    const again = await run("--gen-keys=web9", `--gen-keys-dir=${directory}`, "--out=json");
    assert.deepEqual(JSON.parse(again.out), { return: fingerprint(pem) });
  });

  it("makes pairs without a configuration", async () => {
    const host = new TestHost();
    const directory = join(folder, "without");
    const words = ["-c", join(folder, "nowhere"), "--gen-keys=a", `--gen-keys-dir=${directory}`, "--keysize=3072"];
    assert.equal(await dispatch(["key", ...words], host), 0);
    assert.equal(host.err, "");
    const { asymmetricKeyDetails } = createPublicKey(readFileSync(join(directory, "a.pub"), "utf8"));
    assert.equal(asymmetricKeyDetails?.modulusLength, 3_072);
  });

  it("signs the master's public key once, so that minions can verify it", async () => {
    assert.equal((await run("--gen-signature")).out, "return:\n    No usable private-key found\n");
    assert.equal((await run("--gen-signature", "--auto-create")).out, "return:\n    No usable public-key found\n");
    writeFileSync(join(pki, "master.pub"), publicPem);
    assert.equal((await run("--gen-signature")).out, "return:\n    True\n");
    assert.equal((await run("--gen-signature")).out, "return:\n    False\n");
    const text = readFileSync(join(pki, "master_pubkey_signature"), "ascii");
    assert.match(text, /^[A-Za-z0-9+/]+={0,2}\n$/);
    const signing = createPublicKey(readFileSync(join(pki, "master_sign.pub"), "utf8"));
    assert.ok(verify("sha1", Buffer.from(cleanPem(publicPem)), signing, Buffer.from(text, "base64")));
  });

  it("signs another key with another one, where it is told to, and names files that are not there", async () => {
    const target = join(folder, "signed");
    mkdirSync(target, { recursive: true });
    await run("--gen-keys=other", `--gen-keys-dir=${target}`);
    writeFileSync(join(target, "some.pub"), publicPem);
    const priv = ["--priv", join(target, "other.pem")];
    const { out } = await run(
      "--gen-signature",
      ...priv,
      "--pub",
      join(target, "some.pub"),
      "--signature-path",
      target,
    );
    assert.equal(out, "return:\n    True\n");
    const signature = Buffer.from(readFileSync(join(target, "master_pubkey_signature"), "ascii"), "base64");
    const key = createPublicKey(readFileSync(join(target, "other.pub"), "utf8"));
    assert.ok(verify("sha1", Buffer.from(cleanPem(publicPem)), key, signature));
    assert.equal((await run("--gen-signature", "--pub=/no/a")).out, "return:\n    Public-key /no/a does not exist\n");
    assert.equal((await run("--gen-signature", "--priv=/no/b")).out, "return:\n    Private-key /no/b does not exist\n");
  });

  for (const [words, message] of [
    [["--keysize=1024"], "The minimum value for keysize is 2048"],
    [["--keysize=40000"], "The maximum value for keysize is 32768"],
    [["--rotate-aes-key=maybe"], "option --rotate-aes-key: invalid value: 'maybe' (choose from 'True', 'False')"],
    [["--preserve-minions=1"], "option --preserve-minions: invalid value: '1' (choose from 'True', 'False')"],
    [["-D", "es1"], "Delete all takes no arguments. Use -d to delete specified keys"],
  ] as const) {
    it(`refuses ${words.join(" ")}`, async () => {
      const { out, err, code } = await run(...words);
      assert.equal(err, `Usage: salt-key [options]\n\nsalt-key: error: ${message}\n`);
      assert.deepEqual([out, code], ["", 64]);
    });
  }

  it("asks for a new AES key unless told not to, and marks whose data stays", async () => {
    const dropfile = join(folder, "cache", ".dfn");
    for (const id of ["a", "b"]) writeFileSync(join(pki, "minions", id), publicPem);
    await run("-y", "-d", "a", "--rotate-aes-key=False", "--preserve-minions=True");
    assert.ok(!existsSync(dropfile));
    assert.ok(takeKeepMark(join(folder, "cache"), "a"));
    assert.ok(!takeKeepMark(join(folder, "cache"), "a"), "a mark counts once");
    await run("-y", "-d", "b");
    assert.ok(existsSync(dropfile));
    assert.ok(!takeKeepMark(join(folder, "cache"), "b"));
  });

  it("prints keys before it accepts any, where both are asked for", async () => {
    writeFileSync(join(pki, "minions_pre", "p"), publicPem);
    assert.match((await run("-A", "-y", "-P")).out, /^Unaccepted Keys:\np: {2}-----BEGIN PUBLIC KEY-----\n/);
    assert.ok(existsSync(join(pki, "minions_pre", "p")));
  });

  it("writes what it did to the log that it is given, and to the terminal at that level", async () => {
    writeFileSync(join(pki, "minions_pre", "p"), publicPem);
    const logFile = join(folder, "logs", "key");
    const { err } = await run("-y", "-a", "p", `--log-file=${logFile}`, "--log-file-level=info");
    assert.equal(err, "");
    const [line = ""] = readFileSync(logFile, "utf8").split("\n");
    assert.equal((JSON.parse(line) as { msg: string }).msg, `Key for minion p accepted in ${pki}`);
    assert.match((await run("-y", "-d", "p", "--log-level=info")).err, /^\[INFO {4}\] Key for minion p deleted in /);
  });

  it("does nothing as a user who does not exist", async () => {
    const { err, code } = await run("-u", "no-such-user", "-D", "-y");
    assert.match(err, /user no-such-user\. The user is not available\.\n$/);
    assert.equal(code, 67);
  });
});
