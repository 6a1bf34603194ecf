/** Orchestrations that the master runs: for the reactor, for other orchestrations. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { EventWatch } from "../../interop/event-watch.ts";
import { startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const waitMs = 120_000;
const files = {
  "inner.sls": "said {{ pillar.get('who') }}:\n  salt.runner:\n    - name: test.arg\n    - args: {x: 1}\n",
  "bad.sls": "bad:\n  test.fail_without_changes\n",
  "outer.sls": `
good:
  salt.runner: [{name: state.orchestrate}, {mods: inner}, {pillar: {who: outer}}]
bad:
  salt.runner: [{name: state.orch}, {mods: bad}]
wrong:
  salt.runner: [{name: state.orchestrate}, {nonsense: 1}]
shown:
  salt.runner: [{name: state.orchestrate_show_sls}, {mods: bad}]
`,
  "on-event.sls":
    "go:\n  runner.state.orchestrate:\n    - args:\n      - mods: inner\n      - pillar: {who: {{ data['who'] }}}\n",
};

describe("an orchestration that the master runs", { timeout: 300_000 }, () => {
  let root: string;
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let watch: EventWatch;

  before(async () => {
    root = mkdtempSync(join(tmpdir(), "sw-master-orchestration-"));
    mkdirSync(join(root, "roots"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "roots", name), text);
    master = await startOurMaster(1, {
      id: "m_master",
      file_roots: { base: [join(root, "roots")] },
      reactor: [{ "my/go": [join(root, "roots", "on-event.sls")] }],
    });
    watch = await EventWatch.open(loadMasterConfig(master.configDirectory).sock_dir, waitMs);
  });
  after(async () => {
    watch?.close();
    await master?.remove();
    rmSync(root, { force: true, maxRetries: 5, recursive: true });
  });

  const run = (...words: readonly string[]) => runCli(["run", "-c", master.configDirectory, ...words], waitMs);
  const orchestrate = async (sls: string) => {
    const { stdout } = await run("--out=json", "state.orchestrate", sls);
    return JSON.parse(stdout).data.m_master;
  };

  it("answers the reactor, with Salt's result in the call's event", async () => {
    const { exitCode } = await run("event.send", "my/go", "data={who: ann}");
    assert.equal(exitCode, 0);
    const { data } = await watch.until(
      "the orchestration's result",
      (event) => /^salt\/run\/\d+\/ret$/.test(event.tag) && event.data.get("fun") === "runner.state.orchestrate",
      waitMs,
    );
    assert.equal(data.get("success"), true);
    assert.equal(data.get("user"), "Reactor");
    const result = data.get("return") as ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, unknown>>>;
    assert.deepEqual([...(result.get("data")?.get("m_master")?.keys() ?? [])], ["salt_|-said ann_|-test.arg_|-runner"]);
    const inner = watch.seen.find((event) => event.data.get("fun") === "runner.test.arg");
    assert.equal(inner?.data.get("user"), "Reactor");
  });

  it("runs within another one, and has no success if a state failed", async () => {
    const states = await orchestrate("outer");
    const of = (id: string, name: string) => states[`salt_|-${id}_|-${name}_|-runner`];
    const good = of("good", "state.orchestrate");
    assert.deepEqual([good.result, good.changes.return.retcode], [true, 0]);
    assert.deepEqual(Object.keys(good.changes.return.data.m_master), ["salt_|-said outer_|-test.arg_|-runner"]);
    const bad = of("bad", "state.orch");
    assert.deepEqual([bad.result, bad.changes.return.retcode], [false, 1]);
    const wrong = of("wrong", "state.orchestrate");
    assert.match(wrong.changes.return, /Passed invalid arguments: orchestrate\(\) got an unexpected keyword argument/);
    const shown = of("shown", "state.orchestrate_show_sls");
    assert.deepEqual(shown.changes.return.m_master.bad.test[0], "fail_without_changes");
  });
});
