/** Configuration directories like operators', and the loaded values. Values of real Salt: test/config/golden/loaded.json. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { loadMasterConfig, loadMinionConfig } from "../../src/config/load.ts";
import { repositoryRoot } from "../root.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "saltworks-config-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
}

describe("a directory that real Salt has read", () => {
  const golden = JSON.parse(readFileSync(join(repositoryRoot, "test/config/golden/loaded.json"), "utf8"));
  for (const release of Object.keys(golden)) {
    it(`gives the values that Salt ${release} gave: includes, merging, root_dir, ids`, () => {
      const { files, master, minion } = golden[release];
      for (const [name, text] of Object.entries<string>(files)) put(join("conf", name), text.replaceAll("ROOT", root));
      const answer = (opts: ReadonlyMap<string, unknown>, keys: object) =>
        JSON.parse(
          JSON.stringify(Object.fromEntries(Object.keys(keys).map((key) => [key, opts.get(key)]))).replaceAll(
            root,
            "ROOT",
          ),
        );
      assert.deepEqual(answer(loadMasterConfig(join(root, "conf")).opts, master), master);
      assert.deepEqual(answer(loadMinionConfig(join(root, "conf")).opts, minion), minion);
    });
  }
});

describe("loadMasterConfig", () => {
  it("gives defaults where there is no file", () => {
    const config = loadMasterConfig(root);
    assert.equal(config.ret_port, 4506);
    assert.equal(config.pki_dir, "/etc/salt/pki/master");
    assert.equal(config.configFile, join(root, "master"));
    assert.deepEqual(config.warnings, []);
  });

  it("keeps unknown options and an operator's own, and is frozen throughout", () => {
    put("master", "mysql.host: db\nmy_own_thing: {a: [1, 2]}\nnodegroups: {web: 'L@a,b'}\n");
    const config = loadMasterConfig(root);
    assert.equal(config.opts.get("mysql.host"), "db");
    assert.deepEqual(config.opts.get("my_own_thing"), { a: [1, 2] });
    assert.equal(config.opts.get("ret_port"), 4506);
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.nodegroups));
    assert.deepEqual(config.warnings, []);
  });

  it("warns of a near miss with file and line, but not of Salt's other options", () => {
    put(
      "master",
      "a: 1\nworker_thread: 9\nopen_mod: true\ngitfs_remotes: []\nssh_user: x\nret_portt: 4\nredis.hosts: x\n",
    );
    const { warnings } = loadMasterConfig(root);
    assert.equal(warnings.length, 3);
    assert.equal(warnings[0], `${root}/master:2: "worker_thread" is not an option; did you mean "worker_threads"?`);
    assert.match(warnings[1] ?? "", /:3: "open_mod".*"open_mode"/);
    assert.match(warnings[2] ?? "", /:6: "ret_portt".*"ret_port"/);
  });

  it("names options that are set and have no effect, but not the ones left at their defaults", () => {
    put("master", "timeout: 7\nrunner_returns: false\nzmq_monitor: false\npidfile: x\nauth_mode: 2\npeer:\n");
    assert.deepEqual(loadMasterConfig(root).inert, [
      `${root}/master:2: runner_returns is kept, but nothing acts on it yet`,
      `${root}/master:5: auth_mode is kept, but nothing acts on it yet`,
    ]);
  });

  it("names in one line Salt's options that are not read, but not the ones that ask for nothing", () => {
    const files = ["log_rotate_max_bytes: 10000000", "log_granular_levels: {salt: warning}", "mworker_niceness: 5"];
    const quiet = [
      "fileserver_interval: 3600",
      "gitfs_remotes: []",
      "winrepo_branch: master",
      "tcp_pub_port:",
      "ssh_user: x",
      "rest_cherrypy: {port: 8000}",
      "log_dir: /tmp",
      "state_output_diff: true",
      "pillar_cache: true",
      "my.own: 1",
      "own: 1",
    ];
    put("master", [...files, ...quiet].join("\n"));
    put("master.d/x.conf", "cache_sreqs: false\nzmq_heartbeat_ivl: 9999999999999999999\n");
    assert.deepEqual(loadMasterConfig(root).inert, [
      "these options of Salt have no effect here: log_rotate_max_bytes, log_granular_levels, mworker_niceness, cache_sreqs, zmq_heartbeat_ivl",
    ]);
    put("master.d/x.conf", "");
    put("master", quiet.join("\n"));
    assert.deepEqual(loadMasterConfig(root).inert, []);
  });

  it("does so for a minion, whose own pillar reports options that shape it", () => {
    const lines = ["fips_mode: true", "discovery: true", "engines: []", "cache: redis", "decrypt_pillar: [a]"];
    const more = [
      "test: true",
      "multifunc_ordered: true",
      "pillar_merge_lists: true",
      "renderer: py",
      "state_queue: true",
    ];
    put("minion", [...lines, ...more].join("\n"));
    assert.deepEqual(loadMinionConfig(root).inert, [
      "these options of Salt have no effect here: fips_mode, discovery, cache, state_queue",
    ]);
  });

  it("takes True for no permission where Salt does, and nothing else for a map", () => {
    put("master", "peer: true\npeer_run: false\n");
    const { peer, peer_run } = loadMasterConfig(root);
    assert.deepEqual([peer, peer_run], [{}, {}]);
    put("master", "peer: 1\nnodegroups: true\n");
    assert.throws(() => loadMasterConfig(root), /peer: 1 is not a map\n.*nodegroups: true is not/);
  });

  it("reports every wrong value together, with file and line and what is allowed", () => {
    put("master", "ret_port: 99999\n\nauto_accept: maybe\nfile_roots: []\nhash_type: crc32\ntimeout: soon\n");
    put("master.d/x.conf", "# one\njob_cache_durability: never\n");
    const expected = [
      `${root}/master:1: ret_port: 99999 is not a whole number from 1 to 65535 (port)`,
      `${root}/master:3: auto_accept: "maybe" is not true or false`,
      `${root}/master:4: file_roots: [] is not a map`,
      `${root}/master:5: hash_type: "crc32" is not one of md5, sha1, sha224, sha256, sha384, sha512`,
      `${root}/master:6: timeout: "soon" is not a whole number from 0 to 2147483 (seconds)`,
      `${root}/master.d/x.conf:2: job_cache_durability: "never" is not one of fsync, commit, async`,
    ];
    assert.throws(
      () => loadMasterConfig(root),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, "CONFIG_INVALID");
        assert.deepEqual(error.message.split("\n"), expected);
        return true;
      },
    );
  });

  it("names misspelt options among the wrong values, so that one list shows all", () => {
    put("master", "auto_acept: true\nret_port: 0\n");
    assert.throws(() => loadMasterConfig(root), {
      message: /:1: "auto_acept" is not an option; did you mean "auto_accept"\?\n.*:2: ret_port: /,
    });
  });

  it("never shows a secret, even a wrong one", () => {
    put("master", "key_pass: [hunter2]\n");
    assert.throws(
      () => loadMasterConfig(root),
      (error: Error) => {
        assert.match(error.message, /:1: key_pass: the value \(not shown\) is not text/);
        assert.doesNotMatch(error.message, /hunter2/);
        return true;
      },
    );
  });

  it("names file and line of what is not YAML", () => {
    put("master.d/bad.conf", "a: 1\nb: [1\n");
    assert.throws(() => loadMasterConfig(root), {
      code: "CONFIG_UNREADABLE",
      message: new RegExp(`^${root}/master.d/bad.conf:\\d+: `),
    });
    put("master.d/bad.conf", "- a\n");
    assert.throws(() => loadMasterConfig(root), { code: "CONFIG_UNREADABLE", message: /must be a map/ });
  });

  it("lets the command line win over every file, and checks it too", () => {
    put("master", "timeout: 7\n");
    assert.equal(loadMasterConfig(root, { timeout: 9, user: undefined }).timeout, 9);
    assert.throws(() => loadMasterConfig(root, { timeout: "x" }), {
      code: "CONFIG_INVALID",
      message: /^command line:1: timeout/,
    });
  });

  it("takes numbers in quotes and words in any case, and null as not written", () => {
    put("master", "timeout: '7'\nhash_type: SHA512\nnodegroups:\nautosign_file:\nlog_level: Debug\n");
    const config = loadMasterConfig(root);
    assert.deepEqual([config.timeout, config.hash_type, config.log_level], [7, "sha512", "debug"]);
    assert.deepEqual([config.nodegroups, config.autosign_file], [{}, null]);
  });

  it("reads keep_jobs in hours only where keep_jobs_seconds is not written", () => {
    put("master", "keep_jobs: 2\n");
    const config = loadMasterConfig(root);
    assert.equal(config.keep_jobs_seconds, 7_200);
    assert.match(config.warnings.join(), /keep_jobs \(hours\) is old/);
    assert.equal(loadMasterConfig(root, { keep_jobs_seconds: 5 }).keep_jobs_seconds, 5);
  });

  it("folds nodegroups written as a list of maps", () => {
    put("master", "nodegroups:\n- a: x\n- b: y\n");
    assert.deepEqual(loadMasterConfig(root).nodegroups, { a: "x", b: "y" });
  });

  it("shortens a socket directory that is much longer than the cache directory, as Salt does", () => {
    put("master", "cachedir: /c\nsock_dir: /a/very/long/path/for/sockets\nroot_dir: /r\n");
    assert.equal(loadMasterConfig(root).sock_dir, "/r/c/.salt-unix");
  });

  it("warns of an include that matches nothing and stops at files that include each other", () => {
    put("master", "include: nowhere/*.conf\n");
    assert.match(loadMasterConfig(root).warnings.join(), /include "nowhere\/\*\.conf" matches no file/);
    put("master", "include: a.conf\n");
    put("a.conf", "include: b.conf\n");
    put("b.conf", "include: a.conf\n");
    assert.throws(() => loadMasterConfig(root), { code: "CONFIG_UNREADABLE", message: /without end/ });
  });
});

describe("ids", () => {
  it("a master without one is named after its host, with _master behind", () => {
    assert.match(loadMasterConfig(root, { root_dir: root }).id, /^.+_master$/);
  });

  it("a minion takes the cached name, else its host's, unless its file names one", () => {
    const own = () => loadMinionConfig(root, { root_dir: root }).id;
    assert.ok(own().startsWith(hostname().split(".")[0] ?? "") || own().includes("."), own());
    put("etc/salt/minion_id", "\uFEFFcached.example.com\n");
    assert.equal(own(), "cached.example.com");
    assert.equal(
      loadMinionConfig(root, { root_dir: root, minion_id_caching: false }).id === "cached.example.com",
      false,
    );
    put("minion", "id: written\n");
    assert.equal(own(), "written");
  });

  it("cuts and adds domains as asked", () => {
    put("etc/salt/minion_id", "web1\n");
    assert.equal(loadMinionConfig(root, { root_dir: root, append_domain: "example.com" }).id, "web1.example.com");
    assert.equal(loadMinionConfig(root, { root_dir: root, append_domain: "web1" }).id, "web1");
  });
});

describe("loadMinionConfig", () => {
  it("takes master as text or list, and only request versions that exist", () => {
    put("minion", "master:\n- one\n- two:4510\nrequest_version: 2\n");
    const config = loadMinionConfig(root);
    assert.deepEqual(config.master, ["one", "two:4510"]);
    assert.equal(config.request_version, 2);
    assert.throws(() => loadMinionConfig(root, { request_version: 1 }), {
      code: "CONFIG_INVALID",
      message: /one of 3, 2, 0/,
    });
  });
});
