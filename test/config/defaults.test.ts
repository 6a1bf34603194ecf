/** Our option tables against the defaults of Salt 3006, 3007 and 3008, recorded by test/config/golden/make_golden.py. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { checkValue } from "../../src/config/check-value.ts";
import type { OptionTable } from "../../src/config/options/option.ts";
import { masterOptions, minionOptions } from "../../src/config/schema.ts";
import { repositoryRoot } from "../root.ts";

/** Options of Salt with another default here; docs/compatibility.md, "Defaults that differ", explains each. */
const differing: Record<string, readonly string[]> = {
  master: ["master_job_cache", "ipc_write_buffer"],
  minion: [],
};
/** Options of Salt that are not in its table of defaults: if they are absent, Salt behaves as with our value. */
const withoutSaltDefault: Record<string, readonly string[]> = {
  master: [
    "api_logfile",
    "api_pidfile",
    "append_domain",
    "autoreject_file",
    "autosign_file",
    "autosign_grains_dir",
    "autosign_timeout",
    "batch_safe_limit",
    "batch_safe_size",
    "cluster_join_timeout",
    "event_return_queue_max_seconds",
    "exclude_ext_pillar",
    "ext_pillar_first",
    "fileserver_events",
    "fileserver_list_cache_time",
    "gpg_keydir",
    "id",
    "include",
    "mine_get",
    // Their defaults are in Salt's returner.
    "mysql.db",
    "mysql.host",
    "mysql.pass",
    "mysql.port",
    "mysql.ssl_ca",
    "mysql.ssl_cert",
    "mysql.ssl_key",
    "mysql.user",
    "output",
    "peer_run",
    "pillar_raise_on_missing",
    "pillarenv_from_saltenv",
    "presence_events",
    "rawfile_json.filename",
    "redis.db",
    "redis.host",
    "redis.password",
    "redis.port",
    "redis.unix_socket_path",
    "rest_cherrypy",
    "rest_timeout",
    "returner.pgjsonb.connect_timeout",
    "returner.pgjsonb.db",
    "returner.pgjsonb.host",
    "returner.pgjsonb.pass",
    "returner.pgjsonb.port",
    "returner.pgjsonb.sslcert",
    "returner.pgjsonb.sslcrl",
    "returner.pgjsonb.sslkey",
    "returner.pgjsonb.sslmode",
    "returner.pgjsonb.sslrootcert",
    "returner.pgjsonb.user",
    "returner.postgres.db",
    "returner.postgres.host",
    "returner.postgres.passwd",
    "returner.postgres.port",
    "returner.postgres.user",
    "sqlite3.database",
    "sqlite3.timeout",
  ],
  minion: ["append_domain", "autosign_grains", "beacons", "include", "mine_functions", "output", "return"],
};
/** If releases differ, our default is 3007's; these are the defaults of the others. */
const otherReleases: Record<string, Record<string, unknown>> = {
  "3006 master": { gpg_decrypt_must_succeed: false },
  "3006 minion": { master_tries: 1, zmq_monitor: false },
  "3008 master": { master_pubkey_signature: null },
};
const golden = JSON.parse(readFileSync(join(repositoryRoot, "test/config/golden/defaults.json"), "utf8"));
const tables: Record<string, OptionTable> = { master: masterOptions, minion: minionOptions };

for (const [role, table] of Object.entries(tables)) {
  describe(`defaults of the ${role}`, () => {
    for (const release of Object.keys(golden)) {
      it(`are those of Salt ${release}`, () => {
        const salt: Record<string, unknown> = golden[release][role];
        const found: Record<string, unknown> = {};
        const expected: Record<string, unknown> = {};
        for (const [name, option] of Object.entries(table)) {
          if (option.isOurs || !(name in salt) || differing[role]?.includes(name)) continue;
          found[name] = option.default;
          expected[name] = salt[name];
        }
        assert.deepEqual(
          Object.fromEntries(Object.keys(otherReleases[`${release} ${role}`] ?? {}).map((name) => [name, salt[name]])),
          otherReleases[`${release} ${role}`] ?? {},
        );
        for (const name of Object.keys(otherReleases[`${release} ${role}`] ?? {})) expected[name] = found[name];
        assert.deepEqual(found, expected);
        assert.ok(Object.keys(found).length > 60, "most options must have been compared");
      });
    }

    it("are marked as ours where no release of Salt has the option", () => {
      const known = new Set(Object.keys(golden).flatMap((release) => Object.keys(golden[release][role])));
      const unknown = Object.keys(table)
        .filter((name) => !known.has(name) && table[name]?.isOurs !== true)
        .sort();
      assert.deepEqual(unknown, withoutSaltDefault[role]);
    });

    it("are values that the options themselves allow", () => {
      for (const [name, option] of Object.entries(table)) {
        if (option.isNullable) continue;
        assert.deepEqual(checkValue(option, option.default as string), { value: option.default }, name);
      }
    });
  });
}
