/** An orchestration on a running master with our minion: states that act on the fleet, and states that the minion runs. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { EventWatch } from "../../interop/event-watch.ts";
import { Program } from "../../interop/program.ts";
import { cliFile, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const waitMs = 120_000;
const files = {
  "web.sls": "changes:\n  test.succeed_with_changes\nstill:\n  test.nop:\n    - name: {{ pillar.get('v') }}\n",
  "bad.sls": "bad:\n  test.fail_without_changes\n",
  "all.sls": `
ping:
  salt.function:
    - name: test.ping
    - tgt: '*'
nobody:
  salt.function:
    - name: test.ping
    - tgt: 'nobody*'
deploy:
  salt.state:
    - tgt: web1
    - sls: [web]
    - pillar: {v: {{ pillar.get('v', 'one') }}}
    - require:
      - salt: ping
again:
  salt.state:
    - tgt: web1
    - sls: bad
held back:
  salt.function:
    - name: test.ping
    - tgt: '*'
    - require:
      - salt: again
missing:
  salt.state:
    - tgt: web1
    - sls: nothere
runner:
  salt.runner:
    - name: test.arg
    - args: {x: 1}
wheel:
  salt.wheel:
    - name: key.list
    - match: accepted
send:
  event.send:
    - name: my/orchestration
    - data: {a: b}
wait:
  salt.wait_for_event:
    - name: never/*
    - id_list: [web1]
    - timeout: 1
refused:
  salt.state:
    - tgt: web1
    - sls: web
    - ssh: True
`,
  "waits.sls":
    "begun:\n  event.send: [{name: my/begun}]\nend:\n  salt.wait_for_event: [{name: never/*}, {id_list: [a]}]\n",
  "top.sls": "base:\n  '*': [web]\n",
  "ways.sls": `
top:
  salt.state: [{tgt: web1}, {top: top.sls}]
batch:
  salt.state: [{tgt: '*'}, {sls: web}, {batch: '50%'}, {queue: False}]
subset:
  salt.function: [{name: test.arg}, {tgt: 'web1,web2'}, {tgt_type: list}, {subset: 1}, {arg: [a]}]
some:
  salt.function: [{name: test.ping}, {tgt: 'web1,gone'}, {tgt_type: list}]
all:
  salt.function: [{name: test.ping}, {tgt: 'web1,gone'}, {tgt_type: list}, {expect_minions: True}]
batch of a list:
  salt.function: [{name: test.ping}, {tgt: 'web1'}, {tgt_type: list}, {batch: 1}]
`,
  "asks.sls": `
{% set up = salt['saltutil.runner']('manage.up') %}
{% set found = salt.saltutil.cmd('web1', 'test.arg', arg=['a'], kwarg={'k': 'v'}) %}
{% set keys = salt.saltutil.wheel('key.list', match='accepted') %}
{{ up | join }} {{ found.web1.ret.args[0] }} {{ found.web1.ret.kwargs.k }} {{ keys.return.minions | join }}:
  test.nop
`,
};

const failed = "Run failed on minions: web1";
type State = { readonly result: boolean | null; readonly comment: string; readonly changes: Record<string, unknown> };

describe("an orchestration", { timeout: 300_000 }, () => {
  let root: string;
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let minion: Program;
  let watch: EventWatch;

  before(async () => {
    root = mkdtempSync(join(tmpdir(), "sw-orchestrate-"));
    mkdirSync(join(root, "roots"));
    mkdirSync(join(root, "etc"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "roots", name), text);
    master = await startOurMaster(1, {
      auto_accept: true,
      id: "m_master",
      file_roots: { base: [join(root, "roots")] },
    });
    const config = loadMasterConfig(master.configDirectory);
    watch = await EventWatch.open(config.sock_dir, waitMs);
    const settings = {
      id: "web1",
      master: "127.0.0.1",
      master_port: master.requestPort,
      publish_port: config.publish_port,
      root_dir: join(root, "root"),
      user: userInfo().username,
      enable_fqdns_grains: false,
    };
    writeFileSync(join(root, "etc", "minion"), JSON.stringify(settings));
    minion = new Program("web1", process.execPath, [cliFile, "minion", "-c", join(root, "etc")]);
    await watch.until("the minion's start", ({ tag }) => tag === "salt/minion/web1/start", waitMs);
  });
  after(async () => {
    await minion?.stop();
    watch?.close();
    await master?.remove();
    rmSync(root, { force: true, maxRetries: 5, recursive: true });
  });

  const run = (...words: readonly string[]) => {
    const [command = "", ...rest] = words;
    return runCli([command, "-c", master.configDirectory, ...rest], waitMs);
  };

  it("runs jobs, runners and wheel functions in order, and ends with 1 if a state failed", async () => {
    const { stdout, stderr, exitCode } = await run(
      "run",
      "--out=json",
      "state.orchestrate",
      "all",
      "pillar={v: given}",
    );
    assert.equal(exitCode, 1, stderr);
    const { data, outputter, retcode } = JSON.parse(stdout);
    assert.deepEqual([outputter, retcode], ["highstate", 1]);
    const states: [string, State][] = Object.entries(data.m_master);
    const outcomes = states.map(([tag, { result, comment }]) => [tag.split("_|-")[1], result, comment]);
    assert.deepEqual(outcomes, [
      ["ping", true, "Function ran successfully. Function test.ping ran on web1."],
      ["nobody", false, "No minions responded"],
      ["deploy", true, "States ran successfully. Updating web1."],
      ["again", false, failed],
      ["held back", false, "One or more requisite failed: all.again"],
      ["missing", false, `${failed}\nMinion web1 returned errors: No matching sls found for 'nothere' in env 'base'`],
      ["runner", true, "Runner function 'test.arg' executed."],
      ["wheel", true, "Wheel function 'key.list' executed."],
      ["send", true, "Event fired"],
      ["wait", false, "Timeout value reached."],
      ["refused", false, "ssh of salt.state is not supported by this program's states"],
    ]);
    const { changes } = data.m_master["salt_|-deploy_|-deploy_|-state"];
    assert.deepEqual(Object.keys(changes.ret.web1), [
      "test_|-changes_|-changes_|-succeed_with_changes",
      "test_|-still_|-given_|-nop",
    ]);
    await watch.until("the orchestration's event", ({ tag }) => tag === "my/orchestration", waitMs);
  });

  it("runs states by a top file, in batches, and on some minions; a list's unknown minions are silent", async () => {
    const { stdout } = await run("run", "--out=json", "state.orchestrate", "ways");
    const states: [string, State][] = Object.entries(JSON.parse(stdout).data.m_master);
    assert.deepEqual(
      states.map(([tag, { result, comment }]) => [tag.split("_|-")[1], result, comment]),
      [
        // Our minion does not have it; real ones do.
        ["top", false, `${failed}\nMinion web1 returned "'state.top' is not available." instead of a state result.`],
        ["batch", true, "States ran successfully. Updating web1."],
        ["subset", true, "Function ran successfully. Function test.arg ran on web1."],
        ["some", true, "Function ran successfully. Function test.ping ran on web1."],
        ["all", false, "Running function test.ping failed on minions: gone Function test.ping ran on web1, gone."],
        ["batch of a list", true, "Function ran successfully. Function test.ping ran on web1."],
      ],
    );
  });

  it("answers the runners, wheel functions and jobs of its templates", async () => {
    const { stdout } = await run("run", "--out=json", "state.orchestrate", "asks");
    assert.deepEqual(Object.keys(JSON.parse(stdout).data.m_master), ["test_|-web1 a v web1_|-web1 a v web1_|-nop"]);
  });

  it("shows the runs on minions as runs", async () => {
    const { stdout } = await run("run", "state.orch", "all");
    assert.match(stdout, /Changes: {3}\n {14}web1:\n {14}-{10}\n {24}ID: changes\n {18}Function: test.succeed_with_/);
    assert.match(stdout, /Summary for web1\n {14}-{12}\n {14}Succeeded: 2 \(changed=1\)/);
    assert.match(stdout, /Summary for m_master\n-+\nSucceeded: 5 \(changed=5\)\nFailed: {4}6\n/);
  });

  it("only tries with test=True, and shows what it would run", async () => {
    const tried = JSON.parse((await run("run", "--out=json", "state.orchestrate", "all", "test=True")).stdout);
    assert.equal(tried.data.m_master["salt_|-ping_|-test.ping_|-function"].result, null);
    assert.equal(tried.data.m_master["salt_|-deploy_|-deploy_|-state"].result, null);
    const shown = JSON.parse((await run("run", "--out=json", "state.orchestrate_show_sls", "web")).stdout);
    assert.deepEqual(shown.m_master.changes.test, ["succeed_with_changes", { order: 10_000 }]);
    const single = await run("run", "state.orchestrate_single", "salt.function", "name=test.ping", "tgt=web1");
    assert.equal(single.exitCode, 0);
    assert.match(single.stdout, /Function test.ping ran on web1\./);
  });

  it("ends with 130 when it is interrupted, so that no script goes on", async () => {
    const words = [cliFile, "run", "-c", master.configDirectory, "state.orchestrate", "waits"];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"] });
    const ended = once(child, "exit");
    let shown = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
    await watch.until("the orchestration's first state", ({ tag }) => tag === "my/begun", waitMs);
    child.kill("SIGINT");
    assert.deepEqual(await ended, [130, null]);
    assert.match(shown, /stopped by Ctrl-C\. Jobs that it started go on\./);
  });

  it("gives minions state.apply with the master's files and pillar", async () => {
    const { stdout } = await run("salt", "--out=json", "web1", "state.apply", "web", "pillar={v: mine}");
    assert.deepEqual(Object.keys(JSON.parse(stdout).web1), [
      "test_|-changes_|-changes_|-succeed_with_changes",
      "test_|-still_|-mine_|-nop",
    ]);
    const failed = await run("salt", "web1", "state.sls", "bad");
    assert.equal(failed.exitCode, 1);
  });
});
