/** Options that are not built and refuse the start: which values do, and what accepting them changes. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { loadMasterConfig, refuseStart } from "../../src/config/load.ts";
import { absentStates, pillarErrors, unbuiltOptions, unbuiltWarning } from "../../src/config/options/unbuilt.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "saltworks-unbuilt-"));
  mkdirSync(join(root, "master.d"));
});
afterEach(() => rmSync(root, { recursive: true }));

const put = (text: string, name = "master") => writeFileSync(join(root, name), text);

function refusals(): string[] {
  try {
    refuseStart(loadMasterConfig(root));
    return [];
  } catch (error) {
    assert.equal((error as { code?: string }).code, "CONFIG_INVALID");
    return (error as Error).message.split("\n");
  }
}

describe("options that feed minions or guard something and are not built", () => {
  const asking: Readonly<Record<string, string>> = {
    ext_pillar: "[{cmd_yaml: cat x}, {vault: path=secret}]",
    decrypt_pillar: "['secrets:deep': nacl]",
    renderer: "mako|yaml",
    jinja_sls_env: "{trim_blocks: true, line_statement_prefix: '%'}",
    allow_undefined: "true",
    renderer_blacklist: "[jinja]",
    renderer_whitelist: "[yaml]",
    fileserver_backend: "[roots, hgfs]",
    master_tops: "{ext_nodes: /bin/nodes, cobbler: {}}",
    engines: "[{logstash: {port: 1}}]",
    event_return: "splunk",
    enable_ssh_minions: "true",
    discovery: "true",
    cache: "redis",
    "keys.cache_driver": "mmap_key",
    eauth_tokens: "rediscluster",
    "eauth_tokens.cache_driver": "rediscluster",
    "pillar.cache_driver": "mysql",
    transport: "tcp",
    transport_opts: "{tcp: {ret_port: 4606}}",
    master_job_cache: "mongo",
    syndic_master: "above",
    require_minion_sign_messages: "true",
    drop_messages_signature_fail: "true",
    request_server_aes_session: "600",
    fips_mode: "true",
    ssl: "{certfile: /etc/x.pem}",
    ipc_mode: "tcp",
    "auth.enable_expanded_auth_matching": "true",
    eauth_acl_module: "django",
  };

  it("refuse the start, each by name", () => {
    const alone = Object.keys(unbuiltOptions).filter((name) => name !== "redis.cluster_mode");
    assert.deepEqual(Object.keys(asking).toSorted(), alone.toSorted());
    for (const [name, value] of Object.entries(asking)) {
      put(`\n${name}: ${value}\n`);
      const [line, ...others] = refusals();
      assert.ok(line?.startsWith(`${root}/master:2: ${name}: not built here`), `${name}: ${line}`);
      assert.ok(line?.includes(`accept_missing: [${name}]`), line);
      assert.deepEqual(others, []);
    }
  });

  it("refuse a cluster of Redis where Redis is the job cache", () => {
    put("redis.cluster_mode: true\nmaster_job_cache: redis\n");
    assert.match(refusals().join(), /master:1: redis\.cluster_mode: not built here/);
    put("redis.cluster_mode: true\n");
    assert.deepEqual(refusals(), []);
  });

  it("start once accept_missing names them, with a warning in the log", () => {
    const names = Object.keys(asking);
    const lines = Object.entries(asking).map(([name, value]) => `${name}: ${value}`);
    put(`${lines.join("\n")}\n`);
    put(`accept_missing: [${names.join(", ")}, not_missing_any_more]\n`, "master.d/saltworks.conf");
    assert.deepEqual(refusals(), []);
    const config = loadMasterConfig(root);
    assert.deepEqual(config.unbuilt.map(({ name }) => name).toSorted(), names.toSorted());
    assert.equal(config.master_job_cache, "lmdb");
    assert.equal(config.transport, "zeromq");
    for (const setting of config.unbuilt)
      assert.ok(unbuiltWarning(setting).startsWith(`${root}/master:${setting.line}: ${setting.name}`));
    assert.deepEqual(config.inert, []);
  });

  it("start with values that ask for nothing", () => {
    const harmless: readonly [string, string][] = [
      ["pillar_source_merging_strategy", "aggregate"],
      ["renderer", "jinja | yaml"],
      ["renderer", "jinja|yaml|gpg"],
      ["decrypt_pillar", "['secrets:deep': gpg, other]"],
      ["jinja_sls_env", "{TRIM_BLOCKS: true}"],
      ["jinja_sls_env", "{keep_trailing_newline: false, line_statement_prefix: null, BLOCK_START_STRING: '{%'}"],
      ["jinja_sls_env", "{no_option_of_jinja: true}"],
      ["renderer_whitelist", "[yaml, jinja, json, py]"],
      ["fileserver_backend", "[roots, git]"],
      ["syndic_master", "masterofmasters"],
      ["cache", "localfs"],
      ["eauth_tokens", "localfs"],
      ["transport", "zeromq"],
      ["ipc_mode", "ipc"],
      ["transport_opts", "{zeromq: {}}"],
      ["master_job_cache", "local_cache"],
      ["ext_pillar", "[]"],
      ["master_tops", "{}"],
      ["master_tops", "{ext_nodes: /bin/nodes}"],
      ["ssl", "null"],
      ["fips_mode", "false"],
      ["event_return", "''"],
      ["event_return", "mysql"],
      ["event_return", "[nats, rawfile_json]"],
    ];
    for (const [name, value] of harmless) {
      put(`${name}: ${value}\n`);
      assert.deepEqual(refusals(), [], name);
    }
    put("ext_pillar: [{vault: x}, {cmd_yaml: cat x}]\nexclude_ext_pillar: [vault]\n");
    assert.deepEqual(refusals(), []);
    put("ext_pillar: [{vault: x}]\n");
    put("ext_pillar: []\n", "master.d/later.conf");
    assert.deepEqual(refusals(), []);
  });

  it("are reported beside an empty list of file sources, which accept_missing cannot accept, as in Salt", () => {
    put("x_y: 1\nfileserver_backend: []\naccept_missing: [fileserver_backend]\n");
    assert.deepEqual(refusals(), [
      `${join(root, "master")}:2: fileserver_backend: names no source of files. Write [roots], or leave it out`,
    ]);
    put("master_tops: {x: y}\nfileserver_backend: []\n");
    assert.equal(refusals().length, 2);
  });

  it("start with any jinja_env, which is for minions, and say once which of its options pillar does not obey", () => {
    const unheard = "{trim_blocks: true, no_option_of_jinja: 1, comment_start_string: '{#', line_comment_prefix: null}";
    put(`jinja_env: ${unheard}\n`);
    assert.deepEqual([refusals(), loadMasterConfig(root).inert], [[], []]);
    put("\njinja_env: {Variable_Start_String: '<<', line_statement_prefix: '%', newline_sequence: \"\\n\"}\n");
    const { unbuilt, inert } = loadMasterConfig(root);
    assert.deepEqual([refusals(), pillarErrors(unbuilt)], [[], []]);
    const names = "Variable_Start_String, line_statement_prefix";
    assert.deepEqual(inert, [
      `${root}/master:2: jinja_env: pillar top files and templates of file_tree do not obey ${names}`,
    ]);
  });

  it("count the sources of pillar that are not excluded by their first name", () => {
    put(
      "ext_pillar: [{vault: x, nacl: y}, {cmd_yaml: cat x, libvirt: []}, {mongo: {}}]\nexclude_ext_pillar: [vault, libvirt]\n",
    );
    const [line, ...others] = refusals();
    assert.match(line ?? "", /master:1: ext_pillar: not built here \(libvirt, mongo\)/);
    assert.deepEqual(others, []);
  });

  it("are all reported together, with wrong values, too, and say what they feed", () => {
    put("fips_mode: true\next_pillar: [{vault: x}, {nacl: []}]\nret_port: 0\n");
    put("# x\nmaster_tops: {cobbler: {}}\n", "master.d/a.conf");
    assert.throws(
      () => loadMasterConfig(root),
      (error: Error) => {
        const lines = error.message.split("\n");
        assert.equal(lines.length, 4);
        assert.match(lines[0] ?? "", /master:1: fips_mode: not built here\. Only algorithms/);
        assert.match(lines[1] ?? "", /master:2: ext_pillar: not built here \(vault, nacl\).*every pillar/);
        assert.match(lines[2] ?? "", /master:3: ret_port/);
        assert.match(lines[3] ?? "", /a\.conf:2: master_tops: not built here \(cobbler\).*every highstate/);
        return true;
      },
    );
  });

  it("leave a trace in every pillar or highstate that they would feed", () => {
    put(
      "ext_pillar: [{vault: x}, {vault: y}]\ndecrypt_pillar: [a: nacl]\nfileserver_backend: [hgfs, s3fs]\nssl: {a: b}\n",
    );
    const { unbuilt } = loadMasterConfig(root);
    assert.deepEqual(pillarErrors(unbuilt), [
      "ext_pillar: vault is not available on the master",
      "decrypt_pillar: nacl is not available on the master",
    ]);
    assert.deepEqual(absentStates(unbuilt), [
      "the_master_lacks_fileserver_backend_hgfs",
      "the_master_lacks_fileserver_backend_s3fs",
    ]);
  });
});
