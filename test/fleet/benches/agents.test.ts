/** Four agents on four addresses of this machine: together they do what one generator does, and one that dies is named. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseAgents } from "../../../bench/agents/addresses.ts";
import { openAgents } from "../../../bench/agents/agents.ts";
import { readAgentKey, writeNewSecret } from "../../../bench/agents/secret.ts";
import { thisTool } from "../../../bench/machine.ts";
import type { ParameterValues, Point } from "../../../bench/results/schema.ts";
import { runScenario } from "../../../bench/scenarios/run.ts";
import { noProgress } from "../../../bench/scenarios/scenario.ts";
import { cliFile } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const timeoutMs = 180_000;
/** An agent that died is told within this, on a busy machine. */
const lostTimeoutMs = 60_000;
const agentCount = 4;
const folder = mkdtempSync(join(tmpdir(), "saltworks-agents-"));
const secret = join(folder, "secret");

type Running = { readonly child: ChildProcess; readonly address: string; said: string };

async function startAgent(host: string): Promise<Running> {
  const argv = [cliFile, "bench", "agent", "--listen", `${host}:0`, "--secret", secret];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "pipe"] });
  const said: Buffer[] = [];
  child.stderr.on("data", (bytes) => said.push(bytes));
  const [line] = (await once(child.stdout, "data", { signal: AbortSignal.timeout(timeoutMs) })) as [Buffer];
  const address = /agent on (\S+):/.exec(String(line))?.[1] ?? assert.fail(String(line));
  return {
    child,
    address,
    get said() {
      return String(Buffer.concat(said));
    },
  };
}

describe("four agents", () => {
  const agents: Running[] = [];
  before(async () => {
    writeNewSecret(secret);
    for (let index = 1; index <= agentCount; index += 1) agents.push(await startAgent(`127.0.0.${index}`));
  });
  after(async () => {
    for (const { child } of agents) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGTERM");
      await once(child, "exit");
    }
    rmSync(folder, { recursive: true });
  });

  async function run(scenario: string, parameters: ParameterValues, isOnAgents: boolean): Promise<readonly Point[]> {
    const signal = AbortSignal.timeout(timeoutMs);
    const common = { scenario, parameters, master: { kind: "saltworks", workers: 2 }, progress: noProgress } as const;
    if (!isOnAgents) return (await runScenario({ ...common, signal })).points;
    const addresses = parseAgents("--agents", agents.map(({ address }) => address).join(","));
    const options = { version: thisTool().version, masterHost: "127.0.0.1", signal };
    const opened = await openAgents({ addresses, key: readAgentKey(secret) }, options);
    try {
      return (await runScenario({ ...common, signal: opened.signal, agents: opened.hosts })).points;
    } finally {
      await opened.close();
    }
  }

  function countsOf([point]: readonly Point[]) {
    const { planned, sent, completed, failed, timedOut } = point?.operations.return ?? {};
    return { planned, sent, completed, failed, timedOut, ...point?.correctness };
  }

  for (const [scenario, parameters] of [
    ["return-storm", { minions: 42, returns: 5, warmUp: 2, returnBytes: "0..5000" }],
    ["light-load", { minions: 42, rate: 84, seconds: 2, warmUp: 2, warmSeconds: 1 }],
    ["ping-all", { minions: 42, publishes: 3, warmUp: 1, delayMs: "0..20" }],
  ] as const) {
    it(`give the counts of one generator in ${scenario}, and everything is stored`, async () => {
      const [alone, together] = [await run(scenario, parameters, false), await run(scenario, parameters, true)];
      assert.deepEqual(countsOf(together), countsOf(alone));
      const { missing, duplicates, errors } = together[0]?.correctness ?? {};
      assert.deepEqual({ missing, duplicates, errors }, { missing: 0, duplicates: 0, errors: {} });
      const reports = together[0]?.generator.agents ?? [];
      assert.deepEqual(
        reports.map(({ address }) => address),
        agents.map(({ address }) => address),
      );
      assert.equal(
        reports.reduce((sum, { minions }) => sum + minions, 0),
        42,
      );
      for (const { clockOffsetMs, clockUncertaintyMs } of reports) {
        assert.ok(Math.abs(clockOffsetMs) <= clockUncertaintyMs, `${clockOffsetMs} ± ${clockUncertaintyMs}`);
      }
      const { publishToLastReturn } = together[0]?.operations ?? {};
      if (publishToLastReturn !== undefined) assert.ok(publishToLastReturn.percentilesUs.p50 > 0);
    });
  }

  it("serve the command, and their secret is in no output", async () => {
    const list = agents.map(({ address }) => address).join(",");
    const argv = ["return-storm", "--minions", "20", "--set", "returns=2", "--set", "warmUp=1", "--output", folder];
    const { stdout, stderr } = await runCli(["bench", ...argv, "--agents", list, "--agent-secret", secret], timeoutMs);
    assert.match(stdout, /generator host +minions/, stderr);
    for (const { address } of agents) assert.ok(stdout.includes(address), address);
    const text = readFileSync(secret, "utf8").trim();
    const results = readdirSync(folder).filter((name) => name.endsWith(".json"));
    const all = [
      stdout,
      stderr,
      ...agents.map(({ said }) => said),
      ...results.map((name) => readFileSync(join(folder, name), "utf8")),
    ];
    assert.equal(results.length, 1);
    for (const output of all) assert.ok(!output.includes(text));
    for (const { said } of agents) assert.match(said, /serves the bench from .*\n.* ended: it was done\n/);
  });

  it("end a run within seconds if one of them dies, by name, and the others are free again", async () => {
    const victim = agents[agentCount - 1] ?? assert.fail();
    const running = run("light-load", { minions: 42, rate: 42, seconds: 150, warmUp: 1, warmSeconds: 0 }, true);
    const ended = running.then(
      () => assert.fail("it ended well"),
      (error: unknown) => error,
    );
    const isServing = () => victim.said.split("serves the bench").length - victim.said.split(" ended: ").length > 0;
    while (!isServing()) await once(victim.child.stderr ?? assert.fail(), "data");
    const killedMs = performance.now();
    process.kill(-childOf(victim.child.pid ?? 0), "SIGKILL");
    const error = (await ended) as Error & { cause?: Error };
    assert.ok(performance.now() - killedMs < lostTimeoutMs);
    assert.match(
      String(error.cause ?? error),
      new RegExp(`the agent ${victim.address} is lost: the connection was closed`),
    );
    agents.pop();
    const [point] = await run("return-storm", { minions: 20, returns: 2, warmUp: 1 }, true);
    assert.equal(point?.correctness.missing, 0);
    assert.equal(point?.generator.agents?.length, agentCount - 1);
  });
});

/** The bench program, which the command line starts in a group of its own. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0]);
}
