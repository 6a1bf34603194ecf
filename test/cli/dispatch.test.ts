import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import { openDaemonLog, openToolLog } from "../../src/cli/log/open-log.ts";
import { Display } from "../../src/cli/show/display.ts";
import { displayChoice } from "../../src/cli/show/display-choice.ts";
import { masterConfig, minionConfig } from "../../src/cli/start/configuration.ts";
import { repositoryRoot } from "../root.ts";
import { TestHost } from "./test-host.ts";

const folder = mkdtempSync(join(tmpdir(), "saltworks-cli-"));
after(() => rmSync(folder, { recursive: true }));

async function run(...argv: string[]): Promise<TestHost & { code: number }> {
  const host = new TestHost();
  const code = await dispatch(argv, host);
  return Object.assign(host, { code });
}

/** The output of a command. */
async function answerOf(...argv: string[]): Promise<{ out: string; err: string; code: number }> {
  const { out, err, code } = await run(...argv);
  return { out, err, code };
}

describe("saltworks", () => {
  it("names its commands and ends with 64 when it is given none of them", async () => {
    const { err, code } = await run("nosuch");
    for (const name of ["master", "minion", "salt", "key", "run", "call", "demo", "bench", "tune", "size"]) {
      assert.match(err, new RegExp(`^  ${name} `, "m"));
    }
    assert.match(err, /there is no command 'nosuch'\n$/);
    assert.equal(code, 64);
    assert.equal((await run()).code, 64);
    assert.equal((await run("--help")).code, 0);
  });

  it("shows help for `help`, and for `help COMMAND` the same as the command's --help", async () => {
    assert.deepEqual(await answerOf("help"), await answerOf("--help"));
    assert.deepEqual(await answerOf("help", "key"), await answerOf("key", "--help"));
    const unknown = await answerOf("help", "kye");
    assert.match(unknown.err, /there is no command 'kye'; did you mean 'key'\?\n$/);
    assert.equal(unknown.code, 64);
  });

  it("names the command and the option that are probably meant, and guesses nothing far from all", async () => {
    assert.match((await run("mastre")).err, /there is no command 'mastre'; did you mean 'master'\?\n$/);
    assert.match((await run("hepl")).err, /there is no command 'hepl'; did you mean 'help'\?\n$/);
    for (const command of ["salt", "run"]) {
      const { err, code } = await run(command, "--tiemout", "5", "*", "test.ping");
      assert.match(err, /: error: no such option: --tiemout\nDid you mean --timeout\?\n$/);
      assert.equal(code, 64);
    }
    assert.match((await run("salt", "--xyzzyplugh", "*")).err, /: error: no such option: --xyzzyplugh\n$/);
  });

  it("shows the version of its package", async () => {
    const { version } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as { version: string };
    assert.equal((await run("--version")).out, `saltworks ${version}\n`);
    assert.equal((await run("salt", "--version")).out, `salt ${version} (Saltworks)\n`);
  });

  it("says that a configuration directory is not there, in Salt's words, and goes on with the defaults", () => {
    const host = new TestHost();
    assert.equal(masterConfig(join(folder, "missing"), host).ret_port, 4506);
    assert.equal(host.err, `WARNING: CONFIG '${join(folder, "missing")}' directory does not exist.\n`);
    const calm = new TestHost();
    minionConfig(folder, calm);
    assert.equal(calm.err, "");
  });

  it("lists every fault of a configuration, with file and line, and ends with 64", async () => {
    writeFileSync(join(folder, "master"), "ret_port: many\nworker_threads: -1\n");
    for (const command of ["salt", "master", "key", "run"]) {
      const { err, code } = await run(command, "-c", folder, "*", "test.ping");
      assert.match(
        err,
        /configuration cannot be used:\n {2}\S*\/master:1: ret_port: .*\n {2}\S*\/master:2: worker_threads: /,
      );
      assert.equal(code, 64);
    }
  });

  it("names an output file that cannot be written before anything is done", async () => {
    writeFileSync(join(folder, "master"), `pki_dir: ${folder}/pki\n`);
    const { err, code } = await run("key", "-c", folder, "--out-file", join(folder, "nowhere", "out"), "-A", "-y");
    assert.match(err, /^saltworks key: error: the output file cannot be written: ENOENT/);
    assert.equal(code, 64);
  });

  it("says in one line what the system refuses, without a stack", async () => {
    writeFileSync(join(folder, "file"), "");
    writeFileSync(join(folder, "master"), `root_dir: ${folder}\npki_dir: ${folder}/file/pki\nlog_level: quiet\n`);
    const { err, code } = await run("master", "-c", folder);
    assert.match(err, /^saltworks master: EEXIST: .*\/file'\n$/);
    assert.equal(code, 1);
  });

  it("refuses a demo of impossible size", async () => {
    const { err, code } = await run("demo", "--minions", "0");
    assert.match(err, /--minions takes a number from 1 to 100\n$/);
    assert.equal(code, 64);
    assert.equal((await run("demo", "--nosuch")).code, 64);
    assert.match((await run("demo", "--help")).out, /--exit/);
  });

  it("runs a function of this machine without a master", async () => {
    const lines = [`pki_dir: ${folder}/pki`, `cachedir: ${folder}/cache`, `sock_dir: ${folder}/run`, "id: here"];
    writeFileSync(join(folder, "minion"), `${lines.join("\n")}\n`);
    const { out, code } = await run("call", "--local", "-c", folder, "--out=json", "test.arg_clean", "1", "k=v");
    assert.deepEqual(JSON.parse(out), { local: { args: [1], kwargs: { k: "v" } } });
    assert.equal(code, 0);
    writeFileSync(join(folder, "minion"), `${lines.join("\n")}\noutput: json\noutput_indent: pretty\n`);
    const configured = await run("call", "--local", "-c", folder, "test.outputter", "x");
    assert.equal(configured.out, '{\n    "local": "x"\n}\n');
    const unknown = await run("call", "--local", "-c", folder, "nosuch.fun");
    assert.deepEqual([unknown.err, unknown.code], ["'nosuch.fun' is not available.\n", 255]);
  });
});

describe("Display", () => {
  const choice = {
    outputter: undefined,
    defaultOutputter: "nested",
    indent: undefined,
    states: undefined,
    file: undefined,
    isAppending: false,
    isColoured: undefined,
  };
  const value = new Map([["es1", true]]);

  it("prefers what the operator chose to the configuration, and that to what the minion suggests", () => {
    const shown = (outputter?: string, configuredOutputter?: string, suggested?: string): string => {
      const host = new TestHost();
      new Display({ ...choice, outputter, configuredOutputter }, host).show(value, suggested);
      return host.out;
    };
    assert.equal(shown("raw", "json", "nested"), "{'es1': True}\n");
    assert.equal(shown(undefined, "json", "txt"), '{\n    "es1": true\n}\n');
    assert.equal(shown(undefined, undefined, "txt"), "es1: True\n");
    assert.equal(shown(), "es1:\n    True\n");
  });

  it("takes every outputter that the configuration names for the operator's choice, but highstate", () => {
    const options = { isColourOff: false, isColourForced: false, isOutputFileAppended: false };
    const chosen = (lines: string): string | undefined => {
      writeFileSync(join(folder, "master"), `pki_dir: ${folder}/pki\n${lines}`);
      const none = { output: undefined, outputIndent: undefined, outputFile: undefined };
      return displayChoice({ ...options, ...none }, masterConfig(folder, new TestHost())).configuredOutputter;
    };
    assert.deepEqual(["", "output: nested\n", "output: json\n", "output: highstate\n"].map(chosen), [
      undefined,
      "nested",
      "json",
      undefined,
    ]);
  });

  it("writes to a file instead: from its beginning, or behind what is there", () => {
    const file = join(folder, "out");
    writeFileSync(file, "old\n", { mode: 0o640 });
    const host = new TestHost();
    const display = new Display({ ...choice, file }, host);
    display.show(value);
    display.show(value);
    display.line("said aside");
    assert.equal(readFileSync(file, "utf8"), "es1:\n    True\nes1:\n    True\n");
    assert.equal(statSync(file).mode & 0o777, 0o640);
    assert.equal(host.out, "said aside\n");
    new Display({ ...choice, file, isAppending: true }, host).show("more");
    assert.match(readFileSync(file, "utf8"), /True\nmore\n$/);
  });

  it("colours on a terminal and where it is forced to, not where it is told not to", () => {
    const colours = (isTerminal: boolean, isColoured: boolean | undefined): boolean => {
      const host = new TestHost();
      host.isTerminal = isTerminal;
      new Display({ ...choice, isColoured }, host).show(value);
      return host.out.includes("\x1b[");
    };
    assert.deepEqual([colours(true, undefined), colours(false, undefined)], [true, false]);
    assert.deepEqual([colours(true, false), colours(false, true)], [false, true]);
  });
});

describe("logs", () => {
  it("keep structured lines of their level in the daemon's file", async () => {
    const file = join(folder, "deep", "log");
    const { log } = await openDaemonLog(
      { consoleLevel: "quiet", fileLevel: "info", file, tag: "test" },
      new TestHost(),
    );
    log.debug("too quiet");
    log.info({ port: 4506 }, "ready");
    const lines = readFileSync(file, "utf8").trim().split("\n");
    assert.equal(lines.length, 1);
    const entry = JSON.parse(lines[0] ?? "") as { msg: string; port: number };
    assert.deepEqual([entry.msg, entry.port], ["ready", 4506]);
  });

  it("do without a file that cannot be opened, and say so", async () => {
    const host = new TestHost();
    const inTheWay = join(folder, "file");
    writeFileSync(inTheWay, "");
    const file = join(inTheWay, "log");
    const { log } = await openDaemonLog({ consoleLevel: "quiet", fileLevel: "info", file, tag: "test" }, host);
    log.info("nobody hears it");
    assert.match(host.err, /^\[WARNING \] \S+\/file\/log cannot be written/);
  });

  it("are shown by tools as Salt's tools show them", () => {
    const host = new TestHost();
    const log = openToolLog(
      { logLevel: "warning", logFile: undefined, logFileLevel: undefined },
      { log_level: "warning", log_level_logfile: null },
      host,
    );
    log.info("quiet");
    log.warn("mind this");
    log.error({ err: new Error("why") }, "broken");
    assert.equal(host.err, "[WARNING ] mind this\n[ERROR   ] broken: why\n");
  });
});
