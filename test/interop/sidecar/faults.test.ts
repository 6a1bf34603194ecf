/** The sidecar in trouble: Python that is missing, has no Salt, dies, hangs, needs too much memory or answers too much, and a master that dies. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { hasCode, SaltworksError } from "../../../src/errors.ts";
import { findPython } from "../../../src/sidecar/find-python.ts";
import { ProcessPool } from "../../../src/sidecar/process-pool.ts";
import { Operator } from "../operator.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";
import { pythonSite } from "./site.ts";

const { all: releases, skip } = await openReleases();
const release = releases.find(({ name }) => name === "3007") as SaltRelease;
const timeoutMs = 60_000;

function callOf(fun: string, ...args: readonly unknown[]) {
  return { kind: "call", caller: "runner", fun, args, kwargs: new Map(), jid: "1", tag: "salt/run/1", user: "root" };
}

describe("Python processes", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "sw-sidecar-"));
  const configFile = join(folder, "master");
  const told: string[] = [];
  const settings = {
    python: skip === false ? release.program("python") : "",
    configFile,
    user: "root",
    environment: process.env,
  };
  const pool = new ProcessPool({ ...settings, processesMax: 1, memoryMib: 2_048 }, (text) => told.push(text));
  const { modules } = pythonSite(folder);
  const options = {
    root_dir: folder,
    pki_dir: `${folder}/pki`,
    cachedir: `${folder}/cache`,
    sock_dir: `${folder}/run`,
  };
  writeFileSync(configFile, JSON.stringify({ ...options, extension_modules: modules, log_file: `${folder}/log` }));
  after(() => {
    pool.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const valueFrom = async (fun: string, ...args: readonly unknown[]) => {
    const { value } = await pool.ask(callOf(fun, ...args), timeoutMs);
    return value instanceof Map ? value.get("value") : value;
  };

  it("are replaced after they are killed during a call, whose caller hears of it", async () => {
    const pid = Number(await valueFrom("site_runner.process"));
    const call = pool.ask(callOf("site_runner.wait", 3_600), timeoutMs);
    process.kill(pid, "SIGKILL");
    await assert.rejects(call, { code: "SIDECAR_FAILED", message: /ended by itself \(SIGKILL\)/ });
    assert.notEqual(Number(await valueFrom("site_runner.process")), pid);
    assert.equal(pool.counters.lost, 1);
  });

  it("are killed at the deadline of a call that hangs, with what they have started", async () => {
    const pid = Number(await valueFrom("site_runner.process"));
    await assert.rejects(pool.ask(callOf("site_runner.wait", 3_600), 200), { code: "SIDECAR_TIMEOUT" });
    await untilGone(pid);
    assert.equal(pool.counters.timeouts, 1);
    assert.notEqual(Number(await valueFrom("site_runner.process")), pid);
  });

  it("end at their bound of memory, and say so", async () => {
    await assert.rejects(valueFrom("site_runner.eat"), { code: "SIDECAR_FAILED", message: /salt_python_memory/ });
    assert.equal(await valueFrom("site_runner.process").then(Number.isInteger), true);
  });

  it("cut an answer that is too large for any reader", async () => {
    await assert.rejects(valueFrom("site_runner.large", 65 * 1024 * 1024), (error) => {
      assert(error instanceof SaltworksError && hasCode(error, "FUNCTION_FAILED"));
      assert.match(error.message, /the answer has \d+ bytes/);
      return true;
    });
  });

  it("answer what was asked next after a function that wrote to all of their files", async () => {
    await assert.rejects(valueFrom("site_runner.scribble"), { code: "SIDECAR_FAILED" });
    assert.equal(await valueFrom("site_runner.process").then(Number.isInteger), true);
  });

  it("fail a question at its own deadline while others keep them busy, and have others for logins", async () => {
    const pid = Number(await valueFrom("site_runner.process"));
    const busy = pool.ask(callOf("site_runner.wait", 3_600), timeoutMs);
    await assert.rejects(pool.ask(callOf("site_runner.process"), 200), {
      code: "SIDECAR_TIMEOUT",
      message: /all Python processes were busy/,
    });
    const login = { kind: "login", eauth: "site_auth", username: "ann", password: "right" };
    const { value } = await pool.ask(login, timeoutMs);
    assert.equal(value instanceof Map && value.get("is_authentic"), true);
    process.kill(pid, "SIGKILL");
    await assert.rejects(busy, { code: "SIDECAR_FAILED" });
  });

  it("answer once for a function that forks, and print bytes", async () => {
    assert.equal(await valueFrom("site_runner.fork"), 3);
    const { value, printed } = await pool.ask(callOf("site_runner.write"), timeoutMs);
    assert.deepEqual([value, printed], [new Map([["value", "utf-8"]]), "bytes"]);
  });

  it("do not start without a usable Python, and fail at once for a while", async () => {
    const broken = new ProcessPool(
      { ...settings, python: "/bin/false", processesMax: 1, memoryMib: 512 },
      () => undefined,
    );
    await assert.rejects(broken.ask(callOf("a.b"), timeoutMs), { code: "SIDECAR_FAILED", message: /\/bin\/false/ });
    await assert.rejects(broken.ask(callOf("a.b"), timeoutMs), { code: "SIDECAR_FAILED" });
    assert.equal(broken.counters.started, 0);
    broken.close();
  });

  it("are looked for where the option says, and nowhere if it forbids them", async () => {
    const found = await findPython(release.program("python"), process.env);
    assert.deepEqual(found, { python: release.program("python"), salt: release.version });
    const forbidden = await findPython(false, process.env);
    assert.deepEqual(forbidden, { python: undefined, why: "salt_python is False" });
    const absent = await findPython("/no/such/python", process.env);
    assert.deepEqual(absent, { python: undefined, why: "salt_python: /no/such/python: there is no such program" });
    const programs = join(folder, "programs");
    mkdirSync(programs);
    writeFileSync(join(programs, "salt-run"), `#!${release.program("python")}\n`, { mode: 0o755 });
    assert.deepEqual(await findPython("auto", { ...process.env, PATH: programs }), found);
  });
});

/** Resolves when the process has ended. */
async function untilGone(pid: number): Promise<void> {
  await once(spawn("tail", [`--pid=${pid}`, "-f", "/dev/null"], { stdio: "ignore" }), "exit");
}

describe("a master with plug-ins in Python", { skip }, () => {
  const bed = new TestBed();
  after(() => bed.close());

  async function masterWith(name: string, more: Readonly<Record<string, unknown>>): Promise<MasterUnderTest> {
    const site = pythonSite(join(bed.folder, name, "site"), more);
    return await MasterUnderTest.create(bed, "ours", { ...site.options, auto_accept: true, timeout: 60 }, name);
  }

  for (const [name, python, reason] of [
    ["forbidden", false, /Python cannot serve it: salt_python is False/],
    ["without", "/usr/bin/python3", /Python cannot serve it: salt_python: \/usr\/bin\/python3: ModuleNotFoundError/],
  ] as const)
    bed.it(`refuses the start and names each of them if Python is ${name}`, async () => {
      const master = await masterWith(name, { salt_python: python });
      await assert.rejects(master.start(), /ended before/);
      const { output } = master.program;
      for (const option of ["ext_pillar", "master_tops", "event_return", "engines"])
        assert.match(output, new RegExp(`${option}: not built here`));
      if (python !== false) assert.match(output, reason);
    });

  bed.it("refuses the start and names a plug-in that Salt does not have, either", async () => {
    const options = { salt_python: release.program("python"), ext_pillar: [{ site_pillar: {} }, { nowhere: {} }] };
    const master = await masterWith("unknown", options);
    await assert.rejects(master.start(), /ended before/);
    assert.match(master.program.output, /ext_pillar: not built here \(nowhere\)/);
  });

  bed.it("refuses the start and names a value of sdb that cannot be looked up", async () => {
    for (const [python, why] of [
      [false, /values of sdb:\/\/ need a Python with Salt/],
      [release.program("python"), /ext_pillar: sdb:\/\/site_secrets\/greeting cannot be looked up: .*nowhere\.get/],
    ] as const) {
      const secrets = { driver: "nowhere" };
      const ext = { ext_pillar: [{ cmd_yaml: "sdb://site_secrets/greeting" }], master_tops: {}, event_return: "" };
      const more = {
        ...ext,
        engines: [],
        external_auth: {},
        salt_python: python,
        site_secrets: secrets,
        site_word: "",
      };
      const master = await masterWith(`sdb-${python === false ? "forbidden" : "missing"}`, more);
      await assert.rejects(master.start(), /ended before/);
      assert.match(master.program.output, why);
    }
  });

  bed.it("gives an error for a source that hangs, and holds up no pillar without Python", async () => {
    const options = { salt_python: release.program("python"), ext_pillar: [], ext_pillar_timeout: 1 };
    const master = await masterWith("hanging", { ...options, pillar_render_timeout: 20, salt_python_processes: 1 });
    const pillar = join(bed.folder, "hanging", "site", "pillar");
    writeFileSync(join(pillar, "top.sls"), "base: {slow: [slow], quick: [plain]}\n");
    writeFileSync(join(pillar, "slow.sls"), "#!py\nimport time\ndef run():\n    time.sleep(3600)\n");
    await master.start();
    const watch = await bed.watchEvents(master.sockDir);
    const operator = new Operator("ours", master);
    for (const id of ["slow", "quick"]) {
      new MinionUnderTest(master, "ours", id, {}, "hanging");
      await watch.until(`start of ${id}`, ({ tag }) => tag === `salt/minion/${id}/start`, timeoutMs);
    }
    let isOver = false;
    const slow = operator.job("slow", ["pillar.items"]).finally(() => {
      isOver = true;
    });
    assert.deepEqual((await operator.job("quick", ["pillar.items"])).value, { plain: 1 });
    assert.ok(!isOver, "the other minion waits for no Python");
    const { _errors: errors } = (await slow).value as { readonly _errors: readonly string[] };
    assert.match(errors.join(), /Rendering SLS 'slow' failed/);
  });

  bed.it("drops an event that a returner does not like, and writes the others", async () => {
    const master = await masterWith("events", { salt_python: release.program("python") });
    await master.start();
    const operator = new Operator("ours", master);
    for (const tag of ["site/before", "site/refused", "site/after"]) await operator.run("run", ["event.send", tag]);
    const file = join(bed.folder, "events", "site", "events.log");
    const endMs = performance.now() + timeoutMs;
    const written = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
    while (!/site\/after/.test(written())) {
      assert.ok(performance.now() < endMs, `events after the refused one are not written: ${written()}`);
      await delay(100);
    }
    assert.match(written(), /site\/before/);
    assert.doesNotMatch(written(), /site\/refused/);
  });

  bed.it("hands its databases down to no Python process, and takes them along when it is killed", async () => {
    const master = await masterWith("killed", { salt_python: release.program("python") });
    await master.start();
    const operator = new Operator("ours", master);
    const pid = Number(await operator.json("run", ["site_runner.process"]));
    const files = readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`));
    assert.deepEqual(
      files.filter((path) => path.endsWith(".mdb")),
      [],
      "the master's databases",
    );
    await master.program.kill();
    await untilGone(pid);
  });
});
