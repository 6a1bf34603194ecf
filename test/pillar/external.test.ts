/** External sources of pillar: merged as in Salt; sources that fail, hang or never end; and sources that a minion asks for. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { promisify } from "node:util";
import type { Overrides } from "../../src/config/load.ts";
import { builtPillarSources } from "../../src/config/options/unbuilt.ts";
import type { ConfigMap } from "../../src/config/yaml/values.ts";
import { extPillarBytesMax, fileTreeDepthMax } from "../../src/limits.ts";
import { type CompiledPillar, PillarCompiler, type PillarRequest } from "../../src/pillar/compile.ts";
import { shellOf } from "../../src/pillar/external/commands.ts";
import { CommandLauncher } from "../../src/pillar/external/programs/launcher.ts";
import { runSources } from "../../src/pillar/external/run-sources.ts";
import { externalSources } from "../../src/pillar/external/sources.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";
import { needsRoot } from "../fleet/ordinary-user.ts";
import { plainJson } from "../plain.ts";
import { answersOf, corpusOf } from "./corpus.ts";
import { processEnded } from "./process-end.ts";
import { grains, settingsOf, valueFrom, writeBelow } from "./rendering.ts";

type Case = {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly roots?: Readonly<Record<string, readonly string[]>>;
  readonly master: ConfigMap;
  readonly minion?: {
    readonly override?: object;
    readonly extra?: object;
    readonly ext?: object;
    readonly saltenv?: string;
    readonly pillarenv?: string;
  };
};
type Answer = { readonly pillar?: string };

const run = promisify(execFile);
const strangerUid = 65_534;
const launcher = new CommandLauncher();

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "external-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string) => writeBelow(root, path, text);

/** As the master does it: commands first, then the pillar. */
async function compiled(
  options: Overrides,
  asked: Partial<PillarRequest> & { readonly id?: string } = {},
  timeoutMs = 30_000,
): Promise<CompiledPillar & { readonly counts: Readonly<Record<string, number>> }> {
  const settings = settingsOf({ pillar_roots: { base: [join(root, "base")] }, ...options });
  const { id = "web1.example.org" } = asked;
  const minion = { id, grains: grains().set("id", id) };
  const all = { ...minion, ...asked };
  const { outcomes, counts } = await runSources(settings, all, process.env, timeoutMs, (...words) =>
    launcher.run(...words),
  );
  const request = { minion, saltenv: undefined, pillarenv: undefined, override: new Map(), ...asked, outcomes };
  return { ...new PillarCompiler(settings).compile(request), counts };
}

const errorsOf = ({ pillar }: CompiledPillar) => pillar.get("_errors");

describe("external sources give what they give in Salt", () => {
  const answers = answersOf<Answer>("external");
  for (const given of corpusOf<readonly Case[]>("external")) {
    it(given.name, async () => {
      for (const [path, text] of Object.entries(given.files)) write(path, text);
      const master = JSON.parse(JSON.stringify(given.master).replaceAll("@ROOT@", root)) as ConfigMap;
      const roots = Object.entries(given.roots ?? { base: ["base"] });
      const { override = {}, extra = {}, ext, saltenv, pillarenv } = given.minion ?? {};
      const { pillar } = await compiled(
        {
          ...master,
          pillar_roots: Object.fromEntries(roots.map(([name, below]) => [name, below.map((at) => join(root, at))])),
        },
        {
          override: valueFrom(override) as ValueMap,
          extraData: valueFrom(extra) as ValueMap,
          onDemand: ext && valueFrom(ext),
          saltenv,
          pillarenv,
        },
      );
      const theirs = decode(Buffer.from(answers[given.name]?.pillar ?? "", "base64")) as ValueMap;
      assert.deepEqual(pillar, theirs);
      // Salt takes files in the file system's order.
      if (given.name.startsWith("file_tree")) return;
      assert.ok(encode(pillar, "bin").equals(encode(theirs, "bin")), "keys in another order");
    });
  }
});

describe("the options that pillar_opts adds", () => {
  it("hold no password of a source, of its server, or of a login", async () => {
    const header_dict = { "X-Token": "hunter2" };
    const { pillar } = await compiled({
      pillar_opts: true,
      mysql: { user: "salt", pass: "hunter2" },
      postgres: { user: "salt", pass: "hunter2" },
      ext_pillar: [{ http_json: { url: "http://127.0.0.1:1/", password: "hunter2", header_dict } }],
      external_auth: { oidc: { "^client_id": "saltworks", "^client_secret": "hunter2", ada: ["test.*"] } },
    });
    const master = pillar.get("master") as ValueMap;
    const text = JSON.stringify(plainJson(master));
    assert.doesNotMatch(text, /hunter2/);
    assert.match(text, /"\^client_id":"saltworks".*"ada":\["test\.\*"\]/);
  });
});

describe("commands of external sources", () => {
  it("that fail leave an error, and the other sources their data", async () => {
    write("base/top.sls", "base: {'*': [a]}\n");
    write("base/a.sls", "a: 1\n");
    const result = await compiled({
      ext_pillar: [
        { cmd_json: "echo {secret" },
        { cmd_yaml: "echo oops >&2; exit 7" },
        { cmd_json: "/no/such/program" },
        { cmd_yaml: "echo just text" },
        { cmd_json: "echo 'open" },
        { cmd_yaml: "echo 'b: 2'" },
      ],
    });
    assert.deepEqual(errorsOf(result), [
      "Failed to load ext_pillar cmd_json: JSON data of the command failed to parse",
      "Failed to load ext_pillar cmd_yaml: the command ended with 7 and wrote nothing",
      "Failed to load ext_pillar cmd_json: the command could not be started: ENOENT",
      "Failed to load ext_pillar cmd_yaml: the data is not a map",
      "Failed to load ext_pillar cmd_json: No closing quotation",
    ]);
    assert.deepEqual([result.pillar.get("a"), result.pillar.get("b")], [1, 2]);
    // The program's stderr goes to the master's log only; its output goes nowhere.
    assert.ok(result.faults.includes("ext_pillar cmd_yaml: the command ended with 7: oops"));
    assert.doesNotMatch(result.faults.join() + String(errorsOf(result)), /secret/);
    assert.deepEqual(result.counts, { ended: 3, failed: 3, timeout: 0, tooLarge: 0 });
  });

  it("that succeed without output give nothing, and no error", async () => {
    const { pillar } = await compiled({ ext_pillar: [{ cmd_json: "true" }, { cmd_yaml: "echo" }] });
    assert.deepEqual(pillar, new Map());
  });

  it("are ended at the deadline with all their processes, and it is one deadline for all", async () => {
    const pidFile = join(root, "pids");
    const started = performance.now();
    const result = await compiled(
      {
        ext_pillar: [
          { cmd_yaml: `echo $$ > ${pidFile}; sleep 600 & echo $! >> ${pidFile}; wait` },
          { cmd_yaml: "echo 'a: 1'" },
        ],
      },
      {},
      5_000,
    );
    assert.ok(performance.now() - started < 30_000);
    const late = "Failed to load ext_pillar cmd_yaml: the commands took longer than ext_pillar_timeout (5 seconds)";
    assert.deepEqual(errorsOf(result), [late, late]);
    assert.equal(result.counts.timeout, 2);
    const pids = readFileSync(pidFile, "utf8").trim().split("\n").map(Number);
    assert.equal(pids.length, 2);
    for (const pid of pids) await processEnded(pid);
    // The output is not used, even with `ignore`: Salt would have waited.
    const ignoring = await compiled(
      { ext_pillar_failures: "ignore", ext_pillar: [{ cmd_yaml: "sleep 600" }] },
      {},
      100,
    );
    assert.equal((errorsOf(ignoring) as Value[]).length, 1);
  });

  it("of another user, which cannot be ended, are left to themselves", { skip: needsRoot }, async () => {
    const pidFile = join(root, "pid");
    const options = { ext_pillar: [{ cmd_yaml: `echo $$ > ${pidFile}; exec sleep 600` }] };
    const { stdout, stderr } = await run(process.execPath, [
      ...["--input-type=module", "--eval"],
      `import { runSources } from ${JSON.stringify(import.meta.resolve("../../src/pillar/external/run-sources.js"))};
      import { settingsOf } from ${JSON.stringify(import.meta.resolve("./rendering.js"))};
      const asked = runSources(settingsOf(${JSON.stringify(options)}), { id: "web1", grains: new Map() }, process.env, 3_000);
      // As with sudo: the command runs as root, the master as another user, who may not end it.
      process.setuid(${strangerUid});
      process.stdout.write(JSON.stringify(await asked));
      process.exit();`,
    ]);
    process.kill(Number(readFileSync(pidFile, "utf8")), "SIGKILL");
    assert.match(stdout, /ext_pillar_timeout \(3 seconds\); it could not be ended: EPERM/, stderr);
  });

  it("end when they write more than extPillarBytesMax", async () => {
    const result = await compiled({ ext_pillar: [{ cmd_yaml: "yes 'a: 1'" }] });
    assert.deepEqual(errorsOf(result), [
      `Failed to load ext_pillar cmd_yaml: the command wrote more than ${extPillarBytesMax} bytes`,
    ]);
    assert.equal(result.counts.tooLarge, 1);
  });

  it("never see an id that means something to a shell or a program", async () => {
    const hostile = [
      "a;touch $MARK",
      "a$(touch $MARK)",
      "a`touch $MARK`",
      "a' 'b",
      'a"b',
      "a b",
      "-rf",
      "a\nb",
      "a|b",
      "a&b",
      "~",
      "a*",
    ];
    const mark = join(root, "touched");
    for (const id of hostile.map((text) => text.replace("$MARK", mark))) {
      for (const ext_pillar_failures of ["errors", "ignore"]) {
        const result = await compiled(
          { ext_pillar_failures, ext_pillar: [{ cmd_yaml: `echo "a: '%s'"` }, { cmd_json: "echo [%s]" }] },
          { id },
        );
        const refused = (name: string) =>
          `Failed to load ext_pillar ${name}: the minion's id holds characters that a command must not be given`;
        assert.deepEqual(errorsOf(result), [refused("cmd_yaml"), refused("cmd_json")], id);
      }
    }
    assert.throws(() => symlinkSync("x", join(mark, "y")), { code: "ENOENT" });
    // A command that does not ask for the id runs for every minion.
    assert.equal((await compiled({ ext_pillar: [{ cmd_yaml: "echo 'a: 1'" }] }, { id: "a;b" })).pillar.get("a"), 1);
    for (const id of ["web-1.example.org", "web_1", "db@2:x", "größe"]) {
      const result = await compiled({ ext_pillar: [{ cmd_yaml: `echo "a: '%s'"` }] }, { id });
      assert.equal(result.pillar.get("a"), id);
    }
  });

  it("run in a shell of the environment if it is one", () => {
    assert.equal(shellOf({ SHELL: "/bin/bash" }), "/bin/bash");
    assert.equal(shellOf({ SHELL: "/usr/sbin/nologin" }), "/bin/sh");
    assert.equal(shellOf({ SHELL: "bash" }), "/bin/sh");
    assert.equal(shellOf({}), "/bin/sh");
  });
});

describe("file_tree", () => {
  it("follows links to directories where asked, and ends in a circle", async () => {
    write("tree/hosts/web1.example.org/a", "x\n");
    write("outside/b", "y");
    symlinkSync(join(root, "outside"), join(root, "tree/hosts/web1.example.org/link"));
    const source = { root_dir: join(root, "tree") };
    const read = async (more: ConfigMap) => {
      const result = await compiled({ ext_pillar: [{ file_tree: { ...source, ...more } }] });
      return { result, keys: [...((result.pillar.get("link") as ValueMap | undefined) ?? [])].map(([key]) => key) };
    };
    assert.deepEqual((await read({})).keys, []);
    assert.deepEqual((await read({ follow_dir_links: true })).keys, ["b"]);
    symlinkSync(".", join(root, "outside", "circle"));
    const { result } = await read({ follow_dir_links: true });
    assert.match(String(errorsOf(result)), new RegExp(`deeper than ${fileTreeDepthMax} directories`));
  });

  it("leaves out files that cannot be read, and returns the rest", async () => {
    write("tree/hosts/web1.example.org/a", "x");
    symlinkSync("circle", join(root, "tree/hosts/web1.example.org/circle"));
    symlinkSync("hosts", join(root, "tree/hosts/hosts"));
    const sources = { ext_pillar: [{ file_tree: { root_dir: join(root, "tree") } }] };
    const result = await compiled(sources);
    assert.deepEqual([...result.pillar.keys()], ["a"]);
    assert.match(result.faults.join(), /circle: ELOOP/);
    symlinkSync("nodegroups", join(root, "tree/nodegroups"));
    assert.deepEqual([...(await compiled({ ...sources, nodegroups: { all: "*" } })).pillar.keys()], ["a"]);
  });

  it("reads nothing for an id that leads elsewhere, and a template that fails is an error", async () => {
    write("tree/hosts/a", "{{ nothere }}\n");
    write("tree/secret", "x\n");
    const sources = { ext_pillar: [{ file_tree: { root_dir: join(root, "tree") } }] };
    for (const id of ["..", ".", "../..", "a/b"]) assert.deepEqual((await compiled(sources, { id })).pillar, new Map());
    write("tree/hosts/web1.example.org/a", "{{ nothere }}\n");
    const failing = await compiled({
      ext_pillar: [{ file_tree: { root_dir: join(root, "tree"), template: true, render_default: "jinja" } }],
    });
    assert.match(String(errorsOf(failing)), /^Failed to load ext_pillar file_tree: /);
  });
});

describe("what a minion asks for itself", () => {
  const ask = async (options: Overrides, ext: unknown) => await compiled(options, { onDemand: valueFrom(ext) });

  it("is refused by name unless on_demand_ext_pillar names it", async () => {
    write("base/top.sls", "base: {'*': [a]}\n");
    write("base/a.sls", "a: 1\n");
    const result = await ask({}, { git: ["master x"], extra_minion_data_in_pillar: "*" });
    assert.deepEqual(plainJson(result.pillar), {
      a: 1,
      _errors: ["git", "extra_minion_data_in_pillar"].map(
        (name) => `The ext_pillar module ${name} is not allowed for on-demand pillar data (on_demand_ext_pillar)`,
      ),
    });
    assert.deepEqual(errorsOf(await ask({}, ["x"])), ["On-demand pillar is not formatted as a dictionary"]);
    assert.deepEqual(errorsOf(await ask({}, {})), undefined);
  });

  it("never runs a command or reads a directory that the minion chose, and refuses unknown sources", async () => {
    const names = ["cmd_yaml", "cmd_json", "file_tree", "virtkey"];
    for (const name of names) {
      const result = await ask({ on_demand_ext_pillar: names }, { [name]: `touch ${join(root, "touched")}` });
      assert.deepEqual(errorsOf(result), [`The ext_pillar module ${name} cannot be asked for on demand`]);
    }
  });
});

describe("the table of external sources", () => {
  it("names what is not in it: once, whether a master accepted it as missing or not", async () => {
    const accepted = await compiled({ ext_pillar: [{ vault: "x" }, { cmd_yaml: "echo 'a: 1'" }] });
    assert.deepEqual(errorsOf(accepted), ["ext_pillar: vault is not available on the master"]);
    assert.equal(accepted.pillar.get("a"), 1);
    // Without such a list the source itself reports it.
    const settings = { ...settingsOf({ ext_pillar: [{ vault: "x" }] }), errors: [] };
    const minion = { id: "web1", grains: grains() };
    const request = { minion, saltenv: undefined, pillarenv: undefined, override: new Map() };
    const result = new PillarCompiler(settings).compile(request);
    assert.deepEqual(errorsOf(result), ["Failed to load ext_pillar vault: it is not available here"]);
  });

  it("is the one that the configuration knows", () => {
    assert.deepEqual([...externalSources.keys()], builtPillarSources);
  });
});
