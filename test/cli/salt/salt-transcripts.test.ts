import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { dispatch } from "../../../src/cli/dispatch.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { accepted, FakeMaster } from "../../client/fake-master.ts";
import { TestHost } from "../test-host.ts";
import { readTranscripts, shownIds, shownJid, shownJids, type Transcript, transcript } from "./transcripts.ts";

const fallbackJid = "20261120154650884805";

/** The behaviour of the minions. Missing parts follow from the recorded output. */
type Script = {
  /** Minions that the master expects; default: the minions in the recorded output. */
  readonly minions?: readonly string[];
  readonly missing?: readonly string[];
  readonly silent?: { readonly [id: string]: string };
  readonly value?: Encodable;
  readonly values?: { readonly [id: string]: Encodable };
  readonly retcodes?: { readonly [id: string]: number };
};

const fleet = ["db1.example.com", "es1", "es2", "web1.example.com", "web2.example.com", "10.40.0.9"];
const es2Silent: Script = { silent: { es2: "No response" } };
const es2Away: Script = { silent: { es2: "Not connected" } };
const noMatch: Script = { minions: [] };
const bothFail: Script = { value: "x", retcodes: { es1: 3, es2: 3 } };
const doc =
  "\n    Used to make sure the minion is up and responding. Not an ICMP ping.\n\n    Returns ``True``.\n\n    CLI Example:\n\n        salt '*' test.ping\n    ";

const scripts: readonly (readonly [topic: string, name: string, script: Script])[] = [
  ["timing", "all_up", {}],
  ["timing", "one_silent", es2Silent],
  ["timing", "one_silent_verbose", es2Silent],
  ["timing", "one_silent_hide", { ...es2Silent, minions: fleet }],
  ["timing", "one_silent_summary", es2Silent],
  ["timing", "one_silent_json", es2Silent],
  ["timing", "one_silent_static", { ...es2Silent, minions: fleet }],
  ["timing", "one_silent_txt", es2Silent],
  ["timing", "only_silent", es2Silent],
  ["timing", "only_silent_hide", { ...es2Silent, minions: ["es2"] }],
  ["timing", "silent_color", es2Silent],
  ["not_connected", "silent_not_connected", es2Away],
  ["not_connected", "silent_not_connected_v", es2Away],
  ["not_connected", "silent_not_connected_json", es2Away],
  ["not_connected", "silent_color", es2Away],
  ["cli_options", "verbose", {}],
  ["cli_options", "show_jid", {}],
  ["cli_options", "static", {}],
  ["cli_options", "static_verbose", {}],
  ["cli_options", "summary", {}],
  ["cli_options", "summary_verbose_fail", { minions: ["es1", "es2"], value: "", retcodes: { es2: 1 } }],
  ["cli_options", "summary_json", {}],
  ["cli_options", "async", { minions: ["es1", "es2"] }],
  ["cli_options", "async_verbose", { minions: ["es1", "es2"] }],
  ["cli_options", "async_json", { minions: ["es1", "es2"] }],
  ["cli_options", "async_nomatch", noMatch],
  ["cli_options", "doc_mod_sys", { minions: ["es1", "es2"], value: { "test.ping": doc } }],
  ["cli_options", "doc_unknown", { minions: ["es1"], value: {} }],
  ["cli_options", "doc_json", { minions: ["es1"], value: { "test.ping": doc } }],
  ["cli_options", "nomatch", noMatch],
  ["cli_options", "nomatch_out_json", noMatch],
  ["cli_options", "nomatch_v", noMatch],
  ["cli_options", "hide_timeout_nomatch", noMatch],
  ["cli_options", "list_missing", { minions: ["es1"], missing: ["ghost"] }],
  ["cli_options", "list_missing_hide", { minions: ["es1"], missing: ["ghost"] }],
  ["cli_options", "list_missing_json", { minions: ["es1"], missing: ["ghost"] }],
  ["cli_options", "list_only_missing", noMatch],
  ["cli_options", "list_trailing_comma", { missing: [""] }],
  ["cli_options", "two_target_opts", {}],
  ["cli_options", "timeout_bad", {}],
  ["cli_options", "unknown_opt", {}],
  ["cli_options", "out_bogus", {}],
  ["cli_options", "retcode_fail", bothFail],
  ["cli_options", "retcode_json", bothFail],
  ["cli_options", "retcode_static", bothFail],
  ["cli_options", "retcode_single", { value: "", retcodes: { es1: 3 } }],
  ["cli_options", "subset2", { minions: ["es1", "es2"] }],
  ["cli_options", "subset_verbose", { minions: ["web1.example.com"] }],
  ["cli_options", "subset_nofunc", { minions: fleet }],
  ["cli_options", "progress", { minions: ["es1", "es2"] }],
  ["cli_options", "metadata", {}],
  ["cli_options", "metadata_json", { minions: ["es1"] }],
  ["cli_options", "delimiter", {}],
  ["cli_options", "log_debug", {}],
  ["cli_options", "doc_func", { minions: ["es1"], value: { "test.ping": doc } }],
  ["cli_options", "doc_default_target", noMatch],
  ["cli_options", "log_quiet", { value: "'nosuch.func' is not available.", retcodes: { es1: 1 } }],
];

/** The value of all `out_*` transcripts, decoded from JSON. */
const shownValue = (
  JSON.parse(transcript("outputters", "out_json").stdout) as { readonly es1: { readonly [name: string]: Encodable } }
).es1;
const es = (...names: string[]): Script => ({ minions: names });
const arg = { minions: ["es1"], value: { args: ["a"], kwargs: { k: 1 } } };

/** Minions in the order of the output. */
const outputs: readonly (readonly [name: string, script: Script])[] = [
  ...readTranscripts("outputters")
    .filter(({ name, stderr }) => /^out_|^color_nested$/.test(name) && !stderr.includes("Traceback"))
    .filter(({ name }) => !name.startsWith("out_file"))
    .map(({ name }) => [name, { minions: ["es1"], value: shownValue }] as const),
  ["color_nested_fail", { minions: ["es1"], value: "bad", retcodes: { es1: 2 } }],
  ["color_json", es("es1")],
  ["color_ping", es("es1")],
  ...["nested", "json", "txt", "pprint", "quiet", "newline_values_only"].map(
    (name) => [`ping2_${name}`, es("es2", "es1")] as const,
  ),
  ...["yaml", "raw"].map((name) => [`ping2_${name}`, es("es1", "es2")] as const),
  ...["nested", "json", "yaml", "txt", "raw", "pprint", "quiet", "newline_values_only"].map(
    (name) => [`ping2_static_${name}`, es("es2", "es1")] as const,
  ),
  ["json_indent0", arg],
  ["json_indent2", arg],
  ["json_indent_neg", arg],
  ["json_indent_neg_two", es("es1", "es2")],
  ["json_static_neg", es("es1", "es2")],
  ["yaml_indent", { minions: ["es1"], value: { args: ["a"], kwargs: { k: [1, 2] } } }],
  ["escape", { minions: ["es1"], value: "\x1b[31mred\x1b[0m" }],
  ["trailing_ws", { minions: ["es1"], value: "tail   " }],
  ["tabs", { minions: ["es1"], value: "a\tb\r\nc" }],
];

let master: FakeMaster;

/** A master whose minions answer a publish in the recorded order. */
function play(recorded: Transcript, script: Script): Promise<FakeMaster> {
  const jids = shownJids(recorded);
  const minions = script.minions ?? shownIds(recorded);
  const silent = script.silent ?? {};
  const order = [...new Set([...shownIds(recorded), ...minions])].filter(
    (id) => minions.includes(id) && !(id in silent),
  );
  return FakeMaster.start({
    publish: (load, fake) => {
      if (minions.length === 0) return { enc: "clear", load: { jid: null, minions: [], error: "none" } };
      const jid = jids.shift() ?? fallbackJid;
      const isPing = load.get("fun") === "test.ping";
      const isListing = load.get("fun") === "sys.list_functions";
      setImmediate(() => {
        for (const id of order) {
          const value = isListing ? ["test.ping"] : isPing ? true : (script.values?.[id] ?? script.value ?? true);
          fake.fireReturn(jid, id, value, { retcode: isPing ? 0 : (script.retcodes?.[id] ?? 0) });
        }
        fake.fireDone(jid, order, silent);
      });
      return accepted(jid, minions, script.missing);
    },
  });
}

describe("saltworks salt shows what Salt showed", () => {
  afterEach(() => master.stop());

  const all = [...scripts, ...outputs.map(([name, script]) => ["outputters", name, script] as const)];
  for (const [topic, name, script] of all) {
    const recorded = transcript(topic, name);
    it(`${topic}:${name}: ${recorded.argv.join(" ")}`, async () => {
      master = await play(recorded, script);
      const host = new TestHost();
      const code = await dispatch(["salt", "-c", master.folder, ...recorded.argv.slice(1)], host);
      assert.equal(host.out, recorded.stdout);
      assert.equal(host.err, recorded.stderr);
      assert.equal(code, recorded.rc);
    });
  }

  it("timing:ctrl_c: says how to find the late returns when it is interrupted", async () => {
    const recorded = transcript("timing", "ctrl_c");
    const jid = shownJid(recorded) ?? fallbackJid;
    master = await FakeMaster.start({ publish: () => accepted(jid, ["es1", "es2"]) });
    const host = new TestHost();
    host.onWrite(() => host.interrupt());
    // Verbose, so that the test knows when the command follows the job.
    const code = await dispatch(["salt", "-c", master.folder, "-v", ...recorded.argv.slice(1)], host);
    assert.equal(host.err, recorded.stderr);
    assert.equal(code, recorded.rc);
  });

  it("is interrupted before the job is accepted, too", async () => {
    const host = new TestHost();
    master = await FakeMaster.start({
      publish: () => {
        host.interrupt();
        return undefined;
      },
    });
    assert.equal(await dispatch(["salt", "-c", master.folder, "*", "test.ping"], host), 0);
    assert.equal(host.err, "\nExiting gracefully on Ctrl-c\n");
  });
});

describe("saltworks salt without a master", () => {
  it("reports at once that no master runs", async () => {
    const folder = await mkdtemp(join(tmpdir(), "saltworks-none-"));
    await writeFile(join(folder, "master"), `cachedir: ${folder}/cache\nsock_dir: ${folder}/run\n`);
    const host = new TestHost();
    assert.equal(await dispatch(["salt", "-c", folder, "*", "test.ping"], host), 0);
    assert.equal(host.out, "The salt master could not be contacted. Is master running?\n");
    const second = new TestHost();
    assert.equal(await dispatch(["salt", "-c", folder, "--static", "*", "test.ping"], second), 1);
    assert.equal(second.err, "The salt master could not be contacted. Is master running?\n");
    await rm(folder, { recursive: true });
  });

  it("master_down:salt_ping: waits for one that does not answer, and says what to do", async () => {
    const recorded = transcript("master_down", "salt_ping");
    master = await FakeMaster.start({ publish: () => undefined });
    const host = new TestHost();
    const code = await dispatch(["salt", "-c", master.folder, "-t", "1", ...recorded.argv.slice(1)], host);
    assert.equal(host.out, recorded.stdout);
    assert.equal(host.err, recorded.stderr);
    assert.equal(code, recorded.rc);
    await master.stop();
  });

  it("ends with what to look up when the master goes away in the middle of a job", async () => {
    master = await FakeMaster.start({
      publish: (_, fake) => {
        setImmediate(() => void fake.closeBus());
        return accepted(fallbackJid, ["es1"]);
      },
    });
    const host = new TestHost();
    assert.equal(await dispatch(["salt", "-c", master.folder, "es1", "test.ping"], host), 1);
    assert.match(host.err, /event bus.*salt-run jobs\.lookup_jid 20261120154650884805\n$/s);
    await master.stop();
  });
});
