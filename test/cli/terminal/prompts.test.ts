import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { generateKeyPair } from "../../../src/crypto/pem.ts";
import { FakeMaster } from "../../client/fake-master.ts";
import { cliFile } from "../../fleet/our-master.ts";
import { keys, noTerminal, onTerminal, type Step, type TerminalResult } from "./on-terminal.ts";

const goodbye = "Exiting gracefully on Ctrl-c\n";
const states = { pending: "minions_pre", accepted: "minions", rejected: "minions_rejected", denied: "minions_denied" };

/** Checks that hold for each question, whatever the answer. */
function assertEnded(result: TerminalResult, exitCode: number): void {
  assert.ok(result.isTyped, `the question did not come: ${result.shown}`);
  assert.ok(result.isOver, `the command did not end: ${result.shown}`);
  assert.equal(result.exitCode, exitCode, result.shown);
  assert.ok(result.echo, "the terminal no longer shows what is typed");
}

describe("questions of saltworks key on a terminal", { skip: noTerminal }, () => {
  let folder: string;
  let publicPem: string;
  const file = (state: keyof typeof states, id: string) => join(folder, "pki", states[state], id);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "saltworks-prompts-"));
    ({ publicPem } = await generateKeyPair(2_048));
    const lines = [`pki_dir: ${folder}/pki`, `cachedir: ${folder}/cache`, `sock_dir: ${folder}/run`];
    writeFileSync(join(folder, "master"), `${lines.join("\n")}\n`);
  });
  beforeEach(() => {
    rmSync(join(folder, "pki"), { recursive: true, force: true });
    for (const name of Object.values(states)) mkdirSync(join(folder, "pki", name), { recursive: true });
    for (const id of ["es1", "es2"]) writeFileSync(file("pending", id), publicPem);
    writeFileSync(file("accepted", "web1"), publicPem);
  });
  after(() => rm(folder, { recursive: true }));

  const actions = {
    "-A": { words: ["-A"], id: "es1", from: "pending", to: "accepted", question: "Proceed? [n/Y] " },
    "-a": { words: ["-a", "es*"], id: "es2", from: "pending", to: "accepted", question: "Proceed? [n/Y] " },
    "-R": { words: ["-R"], id: "es1", from: "pending", to: "rejected", question: "Proceed? [n/Y] " },
    "-r": { words: ["-r", "es1"], id: "es1", from: "pending", to: "rejected", question: "Proceed? [n/Y] " },
    "-D": { words: ["-D"], id: "web1", from: "accepted", to: undefined, question: "Proceed? [N/y] " },
    "-d": { words: ["-d", "web*"], id: "web1", from: "accepted", to: undefined, question: "Proceed? [N/y] " },
  } as const;
  // Each answer to each kind of question, and each action once more.
  for (const [action, answer, typed, isYes] of [
    ["-A", "y", "y\n", true],
    ["-A", "n", "n\n", false],
    ["-A", "Enter", keys.enter, true],
    ["-d", "y", "y\n", true],
    ["-d", "n", "n\n", false],
    ["-d", "Enter", keys.enter, false],
    ["-a", "yes", "yes\n", true],
    ["-R", "Enter", keys.enter, true],
    ["-r", "another word", "later\n", false],
    ["-D", "Y", "Y\n", true],
    ["-A", "Ctrl-C", keys.interrupt, false],
    ["-d", "Ctrl-C", keys.interrupt, false],
    ["-A", "the end of input", keys.end, false],
    ["-d", "the end of input", keys.end, false],
  ] as const) {
    it(`${action}: ${answer} ${isYes ? "does it" : "leaves it"}, and the command ends`, async () => {
      const { words, id, from, to, question } = actions[action];
      const result = await onTerminal(["key", "-c", folder, ...words], [[question, typed]]);
      assertEnded(result, 0);
      assert.equal(!existsSync(file(from, id)) && (to === undefined || existsSync(file(to, id))), isYes);
      if (typed === keys.interrupt) assert.ok(result.shown.endsWith(goodbye));
      if (typed === keys.end) assert.ok(result.shown.endsWith("Error: EOF when reading a line\n"));
    });
  }

  it("ends after an answer from a pipe that stays open", async () => {
    const child = spawn(process.execPath, [cliFile, "key", "-c", folder, "-A"], {
      stdio: ["pipe", "ignore", "inherit"],
    });
    child.stdin.write("y\n");
    assert.deepEqual(await once(child, "exit"), [0, null]);
    child.stdin.destroy();
    assert.ok(existsSync(file("accepted", "es1")));
  });
});

describe("questions of saltworks salt and of logins on a terminal", { skip: noTerminal }, () => {
  let master: FakeMaster;
  before(async () => {
    const ids = ["a", "b", "c"];
    master = await FakeMaster.start({
      publish: () => ({ enc: "clear", load: { jid: null, minions: [] } }),
      wheel: () => ({ tag: "", data: { return: { count: ids.length }, success: true, jid: "" } }),
      // The reply of a master to a wrong password.
      mk_token: () => "",
      runner: () => "",
    });
    appendFileSync(join(master.folder, "master"), "confirm_above: 2\n");
  });
  after(() => master.stop());
  beforeEach(() => {
    master.requests.length = 0;
  });
  const count = (cmd: string) => master.requests.filter((load) => load.get("cmd") === cmd).length;
  const run = (command: string, words: readonly string[], steps: readonly Step[]) =>
    onTerminal([command, "-c", master.folder, ...words], steps, { HOME: master.folder });

  for (const [name, words, refusals] of [
    ["a job", ["*", "test.ping"], ["n\n", keys.enter, keys.end]],
    ["a batch", ["-b", "2", "*", "test.ping"], [keys.end]],
  ] as const) {
    it(`--confirm-above asks before ${name}, and the command ends after each answer`, async () => {
      const type = (typed: string) => run("salt", words, [["Proceed? [N/y] ", typed]]);
      for (const typed of refusals) {
        const declined = await type(typed);
        assertEnded(declined, 1);
        assert.ok(declined.shown.endsWith("\nNo command was sent.\n"), declined.shown);
      }
      const interrupted = await type(keys.interrupt);
      assertEnded(interrupted, 0);
      assert.ok(interrupted.shown.endsWith(goodbye));
      assert.equal(count("publish"), 0);
      const sent = await type("y\n");
      assert.ok(sent.isOver && sent.shown.includes("No minions matched the target."), sent.shown);
      assert.equal(count("publish"), 1);
    });
  }

  for (const [command, words] of [
    ["salt", ["-a", "pam", "-T", "--yes", "a", "test.ping"]],
    ["run", ["-a", "pam", "-T", "jobs.list_jobs"]],
    ["key", ["--auth", "pam", "-T", "-L"]],
  ] as const) {
    it(`${command} asks for name and password, shows no password, and gives the terminal back`, async () => {
      const name: Step = ["username: ", "ann\n"];
      const whole = await run(command, words, [name, ["password: ", "wrong\u0015o\u00e4x\u007fpen\n"]]);
      assert.ok(whole.isOver && whole.echo, whole.shown);
      assert.ok(!whole.shown.includes("pen"), whole.shown);
      const [asked] = master.requests.filter((load) => load.get("cmd") === "mk_token");
      assert.deepEqual([asked?.get("username"), asked?.get("password")], ["ann", "o\u00e4pen"]);
      const interrupted = await run(command, words, [name, ["password: ", keys.interrupt]]);
      assertEnded(interrupted, 0);
      assert.ok(interrupted.shown.endsWith(goodbye), interrupted.shown);
    });
  }

  it("says at a terminal why a target matches no minion, and where a master was looked for that is not there", async () => {
    const { shown, exitCode } = await run("salt", ["--yes", "nosuch", "test.ping"], []);
    assert.match(shown, /^No minions matched[^\n]*\nNo minion with an accepted key matches\. --explain [^\n]*\n/);
    assert.equal(exitCode, 2);
    await master.closeBus();
    try {
      const lost = await run("salt", ["--yes", "nosuch", "test.ping"], []);
      const { configFile, sock_dir: sockets, ret_port: port } = master.config;
      const place = `According to ${configFile}: event sockets in ${sockets}, requests at tcp://127.0.0.1:${port}.\n`;
      assert.ok(lost.shown.endsWith(`\n${place}`), lost.shown);
      assert.equal(lost.exitCode, 0);
    } finally {
      await master.reopenBus();
    }
  });

  it("begins a batch and leaves it with --async", async () => {
    const { exitCode, shown } = await run("salt", ["--yes", "--async", "-b", "1", "nosuch", "test.ping"], []);
    assert.equal(exitCode, 0);
    assert.match(
      shown,
      /^No minions matched[^\n]*\nNo minion with an accepted key matches[^\n]*\nExecuted command with job ID: 0\n$/,
    );
    const asked = master.requests.find((load) => load.get("cmd") === "publish")?.get("kwargs");
    assert.ok(asked instanceof Map && asked.get("batch") instanceof Map);
  });

  it("ends with Salt's code where the input ends before the questions are answered", async () => {
    for (const steps of [
      [["username: ", keys.end]],
      [
        ["username: ", "ann\n"],
        ["password: ", keys.end],
      ],
    ] as Step[][]) {
      const ended = await run("salt", ["-a", "pam", "a", "test.ping"], steps);
      assertEnded(ended, 1);
      assert.ok(ended.shown.endsWith("EOFError: EOF when reading a line\n"), ended.shown);
    }
  });
});
