import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { auditMachineLines, auditRefusals, auditTextLengthMax, auditWaitingBytesMax } from "../../../src/limits.ts";
import { Audit, type AuditedWork } from "../../../src/master/audit/audit.ts";
import { AuditFile } from "../../../src/master/audit/audit-file.ts";

const folder = mkdtempSync(join(tmpdir(), "sw-audit-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function newFile() {
  files += 1;
  const path = join(folder, `audit${files}`);
  const told: object[] = [];
  const file = new AuditFile(path, { error: (fields: object) => void told.push(fields) });
  const lines = () => readFileSync(path, "utf8").split("\n").filter(Boolean);
  return { path, told, file, lines };
}

describe("the file of audit_log", () => {
  it("has all lines in order, for its owner alone", async () => {
    const { path, file, lines } = newFile();
    for (let index = 0; index < 1_000; index += 1) {
      file.write(String(index));
      if (index % 100 === 0) await delay(0);
    }
    await file.close();
    assert.deepEqual(
      lines(),
      Array.from({ length: 1_000 }, (_, index) => String(index)),
    );
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(file.counters, { written: 1_000, lost: 0 });
  });

  it("follows a rotation at once when it is told, else soon, and stays private", async () => {
    const { path, file, lines } = newFile();
    renameSync(path, `${path}.1`);
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    file.reopen();
    assert.equal(statSync(path).mode & 0o777, 0o600);
    renameSync(path, `${path}.2`);
    for (let index = 0; !existsSync(path) || lines().length === 0; index += 1) {
      file.write(`line ${index}`);
      await delay(20);
    }
    await file.close();
    assert.equal(readFileSync(`${path}.1`, "utf8"), "");
    const all = [...readFileSync(`${path}.2`, "utf8").split("\n").filter(Boolean), ...lines()];
    assert.deepEqual(
      all,
      Array.from({ length: all.length }, (_, index) => `line ${index}`),
    );
  });

  it("loses lines on a full disk and above its bound, counts them, and goes on", async () => {
    const told: object[] = [];
    const full = new AuditFile("/dev/full", { error: (fields: object) => void told.push(fields) });
    full.write("one");
    await delay(0);
    full.write("two");
    await full.close();
    assert.deepEqual(full.counters, { written: 0, lost: 2 });
    assert.match(JSON.stringify(told), /ENOSPC/);
    assert.equal(told.length, 1);

    const { file, lines } = newFile();
    const line = "x".repeat(1_024);
    const count = auditWaitingBytesMax / line.length;
    for (let index = 0; index < count + 5; index += 1) file.write(line);
    while (file.waitingBytes > 0) await delay(1);
    file.write("last");
    await file.close();
    assert.deepEqual(file.counters, { written: count + 1, lost: 5 });
    const gap = lines().filter((each) => each.startsWith("{"));
    assert.deepEqual([gap.length, JSON.parse(gap[0] ?? "{}").lines, lines().at(-1)], [1, 5, "last"]);
  });

  it("that cannot be opened is an error of the configuration", () => {
    assert.throws(() => new AuditFile(join(folder, "none", "audit"), { error: () => undefined }), {
      code: "CONFIG_INVALID",
    });
  });
});

const credential = { eauth: "file", username: "ann", password: "pass-1" };
const load = new TextEncoder().encode("arguments-1");
const eauth = { kind: "eauth", user: "root", credential } as const;
const works: Record<string, AuditedWork> = {
  publish: { item: 0, kind: "publish", load, caller: eauth, clientAddress: "192.0.2.7" },
  runner: {
    item: 0,
    kind: "command",
    command: "runner",
    load,
    caller: { kind: "token", user: ":api", token: "token-1" },
  },
  wheel: {
    item: 0,
    kind: "command",
    command: "wheel",
    load,
    caller: { kind: "key", user: "sudo_bob", isMaster: true },
  },
  login: { item: 0, kind: "makeToken", credential, expireSeconds: undefined },
};

describe("audit_log", () => {
  it("names who, from where, what and how it ended, and no secret", async () => {
    const { file, lines } = newFile();
    const audit = new Audit(file);
    const about = (name: string) => audit.about(works[name] ?? assert.fail(), "192.0.2.7");
    const job = {
      user: "ann",
      eauth: "file",
      fun: ["test.ping", "cmd.run"],
      target: "web*",
      targetKind: "glob",
      jid: "2026",
    };
    about("publish")({ ...job, outcome: "published", minions: 3 });
    about("publish")({ outcome: "unauthenticated" });
    about("runner")({ user: "ann", eauth: "ldap", fun: "jobs.active", jid: "2027", outcome: "succeeded" });
    about("runner")({ outcome: "unauthenticated" });
    about("wheel")({ user: "sudo_bob", eauth: "local", fun: "key.delete", jid: "2028", outcome: "denied" });
    about("login")({ outcome: "authentic" });
    about("login")({ outcome: "unauthenticated" });
    about("wheel")({ user: "u\n{}", fun: "f".repeat(auditTextLengthMax + 100), outcome: "failed" });
    await file.close();
    const seen = lines().map((line) => JSON.parse(line));
    for (const each of seen) assert.ok(Date.parse(each.time) > 0);
    const told = seen.map(({ time: _, ...rest }) => rest);
    const from = { address: "192.0.2.7" };
    const http = { client: "local", proof: "password", user: "ann", eauth: "file", ...from, via: "http" };
    const token = { client: "runner", proof: "token", ...from, via: "port" };
    const key = { client: "wheel", proof: "key", user: "sudo_bob", eauth: "local", ...from, via: "port" };
    const login = { client: "token", proof: "password", user: "ann", eauth: "file", ...from, via: "port" };
    assert.deepEqual(told.slice(0, 7), [
      {
        ...{ event: "command", outcome: "published", ...http, fun: "test.ping,cmd.run", target: "web*" },
        ...{ target_type: "glob", jid: "2026", minions: 3 },
      },
      { event: "refusal", outcome: "unauthenticated", ...http },
      { event: "command", outcome: "succeeded", ...token, user: "ann", fun: "jobs.active", eauth: "ldap", jid: "2027" },
      { event: "refusal", outcome: "unauthenticated", ...token, user: "" },
      { event: "refusal", outcome: "denied", ...key, fun: "key.delete", jid: "2028" },
      { event: "login", outcome: "authentic", ...login },
      { event: "refusal", outcome: "unauthenticated", ...login },
    ]);
    assert.equal(told[7]?.fun.length, auditTextLengthMax + 2);
    assert.doesNotMatch(lines().join("\n"), /pass-1|token-1|arguments-1/);
  });

  it("cuts every text that the caller chooses", async () => {
    const { file, lines } = newFile();
    const long = "x".repeat(4_000_000);
    const asked = { user: long, eauth: long, fun: long, target: long, targetKind: long, jid: long };
    new Audit(file).about(works.wheel ?? assert.fail(), "127.0.0.1")({ ...asked, outcome: "failed" });
    await file.close();
    const [line = ""] = lines();
    assert.ok(line.length < 7 * (auditTextLengthMax + 50), `${line.length} characters`);
    const cut = `${"x".repeat(auditTextLengthMax)}..`;
    const { user, eauth, fun, target, target_type: kind, jid } = JSON.parse(line);
    assert.deepEqual(
      { user, eauth, fun, target, kind, jid },
      { ...{ user: cut, eauth: cut, fun: cut }, ...{ target: cut, kind: cut, jid: cut } },
    );
  });

  it("leaves out a part of a flood of refusals, and never a command", async () => {
    const { file, lines } = newFile();
    const note = new Audit(file).about(works.login ?? assert.fail(), "192.0.2.7");
    const flood = 10 * auditRefusals.burstLines;
    for (let index = 0; index < flood; index += 1) note({ outcome: "unauthenticated" });
    for (let index = 0; index < flood; index += 1) note({ outcome: "authentic" });
    await file.close();
    const seen = lines().map((line) => JSON.parse(line));
    const refused = seen.filter(({ event }) => event === "refusal");
    assert.ok(refused.length >= auditRefusals.burstLines && refused.length < flood, String(refused.length));
    assert.equal(seen.length - refused.length, flood);
  });

  it("names minions, the reactor and wrong keys, and bounds each apart from operators' commands", async () => {
    const { file, lines } = newFile();
    const audit = new Audit(file);
    audit.wrongKey({ command: "publish", user: "root", fun: "cmd.run" }, "127.0.0.1");
    audit.ofReactor("runner")({ user: "Reactor", eauth: "local", fun: "jobs.active", jid: "1", outcome: "succeeded" });
    audit.ofMinion("web1", "runner")({ fun: "manage.up", outcome: "denied" });
    const ofMinion = audit.ofMinion("web1", "local");
    const asked = { fun: "test.ping", target: "*", targetKind: "glob" };
    for (let index = 0; index < 2 * auditMachineLines.burstLines; index += 1)
      ofMinion({ ...asked, outcome: "published", jid: "2", minions: 1 });
    audit.about(works.login ?? assert.fail(), "192.0.2.7")({ outcome: "unauthenticated" });
    await file.close();
    const seen = lines().map((line) => JSON.parse(line));
    const told = seen.map(({ time: _, ...rest }) => rest);
    const key = { client: "local", proof: "key", user: "root", eauth: "local", address: "127.0.0.1", via: "port" };
    const minion = { proof: "minion", user: "web1", address: "", via: "minion" };
    const command = { event: "command", outcome: "published", client: "local", ...minion, fun: "test.ping" };
    assert.deepEqual(told.slice(0, 4), [
      { event: "refusal", outcome: "unauthenticated", ...key, fun: "cmd.run" },
      {
        ...{ event: "command", outcome: "succeeded", client: "runner", proof: "reactor", user: "Reactor", address: "" },
        ...{ via: "reactor", fun: "jobs.active", eauth: "local", jid: "1" },
      },
      { event: "refusal", outcome: "denied", client: "runner", ...minion, fun: "manage.up" },
      { ...command, target: "*", target_type: "glob", jid: "2", minions: 1 },
    ]);
    assert.ok(audit.counters.suppressed >= auditMachineLines.burstLines / 2, String(audit.counters.suppressed));
    assert.equal(seen.length + audit.counters.suppressed, 2 * auditMachineLines.burstLines + 4);
    assert.equal(told.at(-1).event, "refusal");
  });
});
