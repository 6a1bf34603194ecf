/** `saltworks check-store`: exit codes and texts for stores that are undamaged, damaged and unreadable. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import { checkSaltMinions } from "../../src/store/check/salt-checks.ts";
import { Tally } from "../../src/store/check/tally.ts";
import { claimInstance } from "../../src/store/disk/instance-lock.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { ensureMasterKeys } from "../../src/store/keys/master-keys.ts";
import { openMinionData } from "../../src/store/minions/data.ts";
import { jobDirectory } from "../../src/store/salt/job-files.ts";
import { openSecretBox } from "../../src/store/secrets/sealed.ts";
import { openMasterSecrets } from "../../src/store/secrets/secrets.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { Encodable } from "../../src/wire/values.ts";
import { sealSession } from "../../src/workers/state/session-record.ts";
import { loadOf, returnOf } from "../contract/job-samples.ts";
import { cliFile } from "../fleet/our-master.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { TestHost } from "./test-host.ts";

/** Writes a part of the file, reports it, and completes the file a moment later. */
const writeLater = `
  const { writeFileSync } = require("node:fs");
  const [file, hex] = process.argv.slice(1);
  const bytes = Buffer.from(hex, "hex");
  writeFileSync(file, bytes.subarray(0, 10));
  process.stdout.write("x");
  setTimeout(() => writeFileSync(file, bytes), 300);
`;
const noPython = spawnSync("python3", ["-c", "import pty"]).status === 0 ? false : "python3 makes the pseudo-terminal";
const inPseudoTerminal = `
import os, pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(status))
`;

const jid = "20260102030405000001";

describe("saltworks check-store", () => {
  const temporary = temporaryDirectories();
  let root = "";
  const at = (...names: string[]) => join(root, ...names);

  beforeEach(async () => {
    root = temporary();
    for (const name of ["cache", "pki", "sock"]) mkdirSync(at(name));
    writeFileSync(at("master"), `cachedir: ${at("cache")}\npki_dir: ${at("pki")}\nsock_dir: ${at("sock")}\n`);
    const { privatePem, publicPem } = ensureMasterKeys(at("pki"), 2_048);
    const box = openSecretBox(privatePem, at("pki", ".seal-salt"));
    openMasterSecrets({ file: at("pki", ".secrets.sealed"), box }).close();
    mkdirSync(at("pki", "minions"));
    writeFileSync(at("pki", "minions", "m1"), publicPem);
    const jobs = openLmdbJobCache({ path: at("cache", "jobs.lmdb"), shards: 1, durability: "fsync" });
    await jobs.keepJobs([loadOf(jid, ["m1"])]);
    await jobs.keepReturns([returnOf(jid, "m1", "a value that is told apart from all others")]);
    await jobs.close();
    const minions = openMinionData({ path: at("cache", "minions.lmdb") });
    await minions.putGrains("m1", encode({ os: "Debian" }, "bin"), encode({}, "bin"));
    await minions.putSession("m1", sealSession(box, "m1", { keyString: "k", createdMs: 1 }));
    await minions.close();
    const tokens = at("cache", "tokens");
    mkdirSync(tokens);
    writeFileSync(join(tokens, "ab".repeat(32)), encode({ token: "ab".repeat(32), expire: 1 }, "bin"));
  });

  async function check(...more: string[]): Promise<{ code: number; out: string }> {
    const host = new TestHost();
    const code = await dispatch(["check-store", "-c", root, ...more], host);
    return { code, out: host.out + host.err };
  }

  function damage(file: string, text = ""): void {
    const bytes = readFileSync(file);
    const place = bytes.lastIndexOf(text);
    assert.ok(place > 0);
    bytes[place - 5] = (bytes[place - 5] ?? 0) ^ 0x02;
    writeFileSync(file, bytes);
  }

  it("ends with 0 when all is whole, whether a master runs or not", async () => {
    const { code, out } = await check();
    assert.equal(code, 0, out);
    for (const line of [
      /^keys \(.*\): 2 records, whole$/m,
      /^jobs \(.*\): 2 records, whole$/m,
      /^tokens \(.*\): 1 record, whole$/m,
    ])
      assert.match(out, line);
    assert.match(out, /\nAll is whole\.\n$/);
    const lock = claimInstance([at("cache")]);
    assert.equal((await check()).code, 0);
    lock.release();
  });

  it("ends with 1 and names each record that is damaged", async () => {
    damage(at("cache", "jobs.lmdb", "0.mdb"), "told apart");
    damage(at("pki", ".secrets.sealed"));
    writeFileSync(at("pki", "minions", "m2"), "no key");
    writeFileSync(at("cache", "tokens", "cd".repeat(32)), "x");
    const { code, out } = await check();
    assert.equal(code, 1, out);
    assert.match(out, /the return of m1 for job 20260102030405000001 is not what was stored/);
    assert.match(out, /\.secrets\.sealed does not open under this master's key: minions will authenticate again/);
    assert.match(out, /minions\/m2 is not a key of a minion/);
    assert.match(out, /is not a token: its user must log in again/);
    const { state, parts } = JSON.parse((await check("--json")).out) as {
      state: string;
      parts: { what: string; faultCount: number }[];
    };
    assert.equal(state, "damaged");
    assert.deepEqual(
      parts.filter(({ faultCount }) => faultCount > 0).map(({ what }) => what),
      ["keys", "sealed secrets", "jobs", "tokens"],
    );
  });

  it("calls a file empty that lost its content, and none that a master had just made when it ended", async () => {
    const file = at("cache", "minions.lmdb", "data.mdb");
    rmSync(file);
    writeFileSync(file, "");
    const { code, out } = await check();
    assert.equal(code, 0, out);
    const laterSeconds = Date.now() / 1_000 + 10;
    utimesSync(file, laterSeconds, laterSeconds);
    const emptied = await check();
    assert.equal(emptied.code, 1);
    assert.ok(emptied.out.includes(`${file} is empty: what was stored there is gone`), emptied.out);
  });

  it("reads what a Salt master left, names what is damaged in it, and what it leaves alone", async () => {
    const job = at("cache", "jobs", "ab", "0123456789abcdef0123456789abcdef");
    const saltsJid = "20260102030405000009";
    const folder = jobDirectory(at("cache"), "sha256", saltsJid);
    const folders = [
      job,
      join(folder, "m1"),
      join(folder, "m2"),
      at("cache", "minions", "m1", "files"),
      at("cache", "proc"),
    ];
    for (const each of folders) mkdirSync(each, { recursive: true });
    const old = new Date(Date.now() - 60_000);
    const put = (file: string, content: string | Uint8Array) => {
      writeFileSync(file, content);
      utimesSync(file, old, old);
    };
    const packed = (value: Encodable) => encode(value, "bin");
    put(join(folder, "jid"), saltsJid);
    put(join(folder, ".load.p"), packed({ jid: saltsJid, fun: "test.ping" }));
    put(join(folder, ".minions.p"), packed(["m1", "m2"]));
    put(join(folder, "m1", "return.p"), packed({ return: true, retcode: 0 }));
    put(join(folder, "m2", "return.p"), packed({ return: "x".repeat(100) }).subarray(0, 50));
    put(join(folder, "notes.txt"), "mine");
    put(at("cache", "minions", "m1", "data.p"), packed({ grains: { os: "x".repeat(50) }, pillar: {} }).subarray(0, 20));
    put(at("cache", "minions", "m1", "mine.p"), packed({ a: 1 }));
    put(at("cache", "sched.bin"), "x");
    const { code, out } = await check();
    assert.equal(code, 1, out);
    assert.match(out, /^jobs in Salt's files \(.*\): 5 records, DAMAGED$/m);
    assert.match(out, /m2\/return\.p of 50 bytes cannot be decoded/);
    assert.match(out, /^minions' data in Salt's files \(.*\): 2 records, DAMAGED$/m);
    assert.match(out, /minions\/m1\/data\.p of 20 bytes cannot be decoded/);
    const left = [...out.matchAll(/^ {2}left alone: (.*)$/gm)].map(([, name]) => name);
    const known = [join(folder, "notes.txt"), at("cache", "minions", "m1", "files"), at("cache", "proc")];
    assert.deepEqual(left.toSorted(), [...known, at("cache", "sched.bin")].toSorted());
    assert.doesNotMatch(out, /m1\/return\.p/, "what is whole is not named");
  });

  it("reads a file of Salt's again that is being written", async () => {
    const file = at("cache", "minions", "m1", "data.p");
    mkdirSync(at("cache", "minions", "m1"), { recursive: true });
    const whole = encode({ grains: { os: "Debian" }, pillar: {} }, "bin");
    const writer = spawn(process.execPath, ["-e", writeLater, file, whole.toString("hex")]);
    await once(writer.stdout, "data");
    const tally = new Tally(10);
    checkSaltMinions(tally, { path: at("cache"), isRunning: false, onProgress: () => undefined });
    assert.deepEqual([tally.records, tally.faults], [1, []]);
    await once(writer, "exit");
  });

  it("shows how far it is on a terminal only", { skip: noPython }, () => {
    const command = [process.execPath, cliFile, "check-store", "-c", root];
    const shown = spawnSync("python3", ["-c", inPseudoTerminal, ...command], { encoding: "utf8", timeout: 60_000 });
    assert.equal(shown.status, 0, shown.stdout + shown.stderr);
    assert.match(shown.stdout, /jobs\.lmdb: 0 %/);
    assert.match(shown.stdout, /All is whole\./);
    const piped = spawnSync(command[0] ?? "", command.slice(1), { encoding: "utf8", timeout: 60_000 });
    assert.equal(piped.status, 0, piped.stdout);
    for (const mark of ["%", "\r", "\u001b"]) assert.ok(!piped.stdout.includes(mark), piped.stdout);
    assert.equal(piped.stderr, "");
  });

  it("ends with 2 when something cannot be read, and reads the rest", async () => {
    const file = at("cache", "minions.lmdb", "data.mdb");
    rmSync(file);
    mkdirSync(file);
    const { code, out } = await check();
    assert.equal(code, 2, out);
    assert.match(out, /^minions' data \(.*\): not read: EISDIR/m);
    assert.match(out, /^tokens \(.*\): 1 record, whole$/m);
  });
});
