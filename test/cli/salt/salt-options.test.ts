import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { dispatch } from "../../../src/cli/dispatch.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { accepted, FakeMaster } from "../../client/fake-master.ts";
import { TestHost } from "../test-host.ts";

let master: FakeMaster;
afterEach(() => master.stop());

type Answer = (id: string, load: ValueMap) => Encodable;

/** A master whose minions all answer every job, in this order; jobs are numbered from 1. */
async function startMaster(ids: readonly string[], answer: Answer, retcodes: { [id: string]: number } = {}) {
  let jobCount = 0;
  master = await FakeMaster.start({
    publish: (load, fake) => {
      jobCount += 1;
      const jid = `2026112015000000000${jobCount}`;
      const target = load.get("tgt");
      const reached = Array.isArray(target) ? ids.filter((id) => target.includes(id)) : ids;
      setImmediate(() => {
        fake.fire(`salt/job/${jid}/prog/${reached[0]}/0`, { data: { ret: { result: true } } });
        for (const id of reached) fake.fireReturn(jid, id, answer(id, load), { retcode: retcodes[id] ?? 0 });
        fake.fireDone(jid, reached);
      });
      return accepted(jid, reached);
    },
  });
}

async function salt(words: readonly string[], host = new TestHost()): Promise<TestHost & { code?: number }> {
  const code = await dispatch(["salt", "-c", master.folder, ...words], host);
  return Object.assign(host, { code });
}

/** What was published last. */
function published(index = -1): ValueMap {
  return master.requests.at(index) ?? new Map();
}

/** A terminal of 120 columns that keeps its output. */
function terminal(): { stream: NodeJS.WriteStream; text: () => string } {
  const stream = new PassThrough();
  let drawn = "";
  stream.on("data", (chunk) => {
    drawn += String(chunk);
  });
  const shape = { isTTY: true, columns: 120, cursorTo: () => true, clearLine: () => true };
  return { stream: Object.assign(stream, shape) as unknown as NodeJS.WriteStream, text: () => drawn };
}

describe("salt sends what its options say", () => {
  it("returners, executors and metadata, beside Salt's own fields and in Salt's order", async () => {
    await startMaster(["es1"], () => true);
    const words = ["--return=redis,mysql", "--return_config=alt", "--return_kwargs={host: db1}"];
    const more = [
      "--module-executors=[sudo, direct_call]",
      "--executor-opts={user: ann}",
      "--metadata={ticket: OPS-7}",
    ];
    assert.equal((await salt([...more, ...words, "es1", "test.ping"])).code, 0);
    assert.equal(published().get("ret"), "redis,mysql");
    const kwargs = published().get("kwargs") as ValueMap;
    const sent = [...kwargs].filter(([name]) => name !== "follow");
    assert.deepEqual(sent, [
      ["show_timeout", true],
      ["show_jid", false],
      ["delimiter", ":"],
      ["ret_config", "alt"],
      ["ret_kwargs", new Map([["host", "db1"]])],
      ["module_executors", ["sudo", "direct_call"]],
      ["executor_opts", new Map([["user", "ann"]])],
      ["metadata", new Map([["ticket", "OPS-7"]])],
    ]);
  });

  it("nothing for a value that has to be a map and is not: the message names it", async () => {
    await startMaster(["es1"], () => true);
    for (const option of ["--metadata", "--return_kwargs", "--executor-opts"]) {
      const { code, err } = await salt([`${option}=text`, "es1", "test.ping"]);
      assert.equal(code, 64);
      assert.match(err, new RegExp(`error: option ${option}: 'text' is not a map; write one in YAML`));
    }
    assert.match((await salt(["--module-executors={a: 1}", "es1", "test.ping"])).err, /is not a list of names/);
    assert.equal(master.requests.length, 0);
  });

  it("sys.doc for -d, of all minions where no target is given", async () => {
    await startMaster(["es1"], () => ({ "test.ping": "text" }));
    await salt(["-d"]);
    assert.deepEqual([published().get("tgt"), published().get("fun"), published().get("arg")], ["*", "sys.doc", []]);
    const { out } = await salt(["es1", "-d", "test.ping"]);
    assert.deepEqual([published().get("tgt"), published().get("arg")], ["es1", ["test.ping"]]);
    assert.equal(out, "test.ping:\ntext\n\n");
  });
});

describe("salt --subset", () => {
  const functions: Answer = (id, load) =>
    load.get("fun") === "sys.list_functions" ? (id === "web1" ? [] : ["test.ping", "test.echo"]) : true;

  it("sends the job to the given number of minions with the function, and asks only for its module before", async () => {
    await startMaster(["web1", "es1", "es2", "es3"], functions);
    const { out, code } = await salt(["--subset=2", "*", "test.ping", "--out=txt"]);
    assert.equal(code, 0);
    assert.deepEqual([published(0).get("fun"), published(0).get("arg")], ["sys.list_functions", ["test"]]);
    const chosen = published().get("tgt") as string[];
    assert.equal(chosen.length, 2);
    assert.ok(!chosen.includes("web1"));
    assert.equal(published().get("tgt_type"), "list");
    assert.equal(out.split("\n").filter((line) => line.endsWith(": True")).length, 2);
  });

  it("wants every one of several functions", async () => {
    await startMaster(["web1", "es1"], functions);
    await salt(["--subset=5", "*", "test.ping,test.echo", ","]);
    assert.deepEqual(published().get("tgt"), ["es1"]);
    const none = await salt(["--subset=5", "*", "test.ping,test.nosuch", ","]);
    assert.equal(none.code, 2);
    assert.match(none.err, /ERROR: No return received\n$/);
    assert.equal(published().get("fun"), "sys.list_functions");
  });

  it("holds for --async and --static, too", async () => {
    await startMaster(["web1", "es1"], functions);
    const later = await salt(["--async", "--subset=1", "*", "test.ping"]);
    assert.equal(later.out, "Executed command with job ID: 20261120150000000002\n");
    assert.deepEqual(published().get("tgt"), ["es1"]);
    const together = await salt(["--static", "--subset=1", "*", "test.echo", "x", "--out=json", "--out-indent=-1"]);
    assert.equal(together.out, '{"es1": true}\n');
  });
});

describe("salt --progress", () => {
  const failing = { es2: 3 };

  it("draws a bar on standard error of a terminal, and shows the summary in place of returns", async () => {
    await startMaster(["es1", "es2"], () => "x", failing);
    const host = new TestHost();
    const { stream, text } = terminal();
    host.errorTerminal = stream;
    const { code, out } = await salt(["-p", "*", "test.ping"], host);
    assert.match(text(), /targeted 2 {2}running 2 {2}returned 0 {2}failed 0/);
    assert.match(text(), /100% {2}targeted 2 {2}running 0 {2}returned 2 {2}failed 1 {2}states 1/);
    assert.ok(!text().includes("\x1b[?"), "no mode of the terminal is changed that a killed command would leave");
    assert.match(out, /^\n\n-+\nSummary\n-+\n# of minions targeted: 2\n/);
    assert.equal(code, 1);
  });

  it("shows returns, too, where an outputter is asked for", async () => {
    await startMaster(["es1", "es2"], () => "x", failing);
    const host = new TestHost();
    host.errorTerminal = terminal().stream;
    assert.equal((await salt(["-p", "--out=txt", "*", "test.ping"], host)).out, "es1: x\nes2: x\n");
  });

  it("shows nothing in a pipe, as Salt without its library", async () => {
    await startMaster(["es1", "es2"], () => "x", failing);
    const { out, err, code } = await salt(["-p", "*", "test.ping"]);
    assert.deepEqual([out, err, code], ["", "ERROR: Minions returned with non-zero exit code\n", 1]);
  });
});

describe("salt shows", () => {
  const coloured = "\x1b[0;36mes1\x1b[0;0m:\n    \x1b[0;1;33mTrue\x1b[0;0m\n";
  const plain = "es1:\n    True\n";

  it("colours on a terminal, unless NO_COLOR, the configuration or an option is against it", async () => {
    await startMaster(["es1"], () => true);
    const shown = async (words: string[], environment = {}, isTerminal = true) => {
      const host = Object.assign(new TestHost(), { isTerminal, environment });
      return (await salt([...words, "es1", "test.ping"], host)).out;
    };
    assert.equal(await shown([]), coloured);
    assert.equal(await shown([], {}, false), plain);
    assert.equal(await shown([], { NO_COLOR: "1" }), plain);
    assert.equal(await shown([], { NO_COLOR: "" }), coloured);
    assert.equal(await shown(["--force-color"], { NO_COLOR: "1" }, false), coloured);
    assert.equal(await shown(["--no-color"]), plain);
    writeFileSync(join(master.folder, "master"), `${readFileSync(join(master.folder, "master"))}color: False\n`);
    assert.equal(await shown([]), plain);
  });

  it("what the configuration says about outputters", async () => {
    await startMaster(["es1"], () => [{ b: 1, a: 2 }]);
    const file = join(master.folder, "master");
    writeFileSync(
      file,
      `${readFileSync(file)}output_indent: -1\nout.table.separate_rows: False\nout.table.prefix: ''\n`,
    );
    assert.equal((await salt(["--out=json", "es1", "test.ping"])).out, '{"es1": [{"b": 1, "a": 2}]}\n');
    const table = "es1:\n----------\n    A | B |\n    -------\n    2 | 1 |\n";
    assert.equal((await salt(["--out=table", "es1", "test.ping"])).out, table);
  });

  it("the configuration as it is understood with --config-dump, and asks no master", async () => {
    await startMaster([], () => true);
    const { out, code } = await salt(["--config-dump"]);
    assert.equal(code, 0);
    assert.match(out, /^cachedir: .*\/cache$/m);
    assert.match(out, /^timeout: 1$/m);
    assert.match(out, /^state_output: full$/m);
    assert.equal(master.requests.length, 0);
  });

  it("where an error came from with --hard-crash", async () => {
    await startMaster([], () => true);
    const words = ["--config-dir=/no/such", "es1", "test.ping"];
    const gentle = await salt(words);
    assert.doesNotMatch(gentle.err, /\n {4}at /);
    assert.equal(gentle.code, 0);
    const crash = await salt(["--hard-crash", ...words]);
    assert.match(crash.err, /SaltworksError: .*\n {4}at /);
    assert.equal(crash.code, 1);
  });

  it("at once and with exit code 1 that --async finds no master, with a login and with the local key", {
    timeout: 10_000,
  }, async () => {
    await startMaster(["es1"], () => true);
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    const file = join(master.folder, "master");
    writeFileSync(file, readFileSync(file, "utf8").replace(/^ret_port:.*$/m, `ret_port: ${port}`));
    const login = ["--auth=pam", "--username=ann", "--password=secret"];
    for (const words of [[], login, ["-b", "1"], [...login, "-b", "1"]]) {
      const { out, err, code } = await salt([...words, "--async", "es1", "test.ping"]);
      const shown = { out, err, code };
      assert.deepEqual(shown, {
        out: "",
        err: "The salt master could not be contacted. Is master running?\n",
        code: 1,
      });
    }
    assert.equal(master.requests.length, 0);
  });

  it("no line of the log at level quiet, such as that of an unknown outputter", async () => {
    await startMaster(["es1"], () => true);
    const words = ["--out=bogus", "es1", "test.ping"];
    assert.equal((await salt(words)).err, "[ERROR   ] Invalid outputter bogus specified, fall back to nested\n");
    const quiet = await salt(["-l", "quiet", ...words]);
    assert.deepEqual([quiet.err, quiet.out], ["", plain]);
  });

  it("each return of a job in the log at level debug", async () => {
    await startMaster(["es1"], () => true);
    const { err } = await salt(["-l", "debug", "es1", "test.ping"]);
    assert.match(err, /^\[DEBUG {3}\] jid 20261120150000000001 return from es1$/m);
  });
});
