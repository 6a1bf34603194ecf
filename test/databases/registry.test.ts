/** A configuration that names a database is refused by name if the database's package is not installed. */
import assert from "node:assert/strict";
import Module from "node:module";
import { describe, it } from "node:test";
import { loadMasterConfig, type Overrides, refuseStart } from "../../src/config/load.ts";
import { checkEventPackages } from "../../src/databases/events/registry.ts";
import { checkDatabasePackages } from "../../src/databases/registry.ts";

type Resolver = { _resolveFilename: (request: string, ...rest: unknown[]) => string };

describe("the package of a database", () => {
  it("is asked for only by a configuration that names the database", (context) => {
    const resolver = Module as unknown as Resolver;
    const real = resolver._resolveFilename;
    context.mock.method(resolver, "_resolveFilename", (request: string, ...rest: unknown[]) => {
      if (request === "mysql2") throw Object.assign(new Error("not installed"), { code: "MODULE_NOT_FOUND" });
      return real.call(Module, request, ...rest);
    });
    const config = (more: Readonly<Record<string, string | string[]>>) =>
      loadMasterConfig("/nowhere", { id: "m", ...more });
    checkDatabasePackages(config({}));
    checkEventPackages(config({ event_return: "rawfile_json" }));
    assert.throws(() => checkEventPackages(config({ event_return: ["rawfile_json", "mysql"] })), {
      code: "PACKAGE_MISSING",
      message:
        /^event_return: mysql needs the package mysql2, which is not installed: npm --prefix \/\S+ install --no-save mysql2$/,
    });
    for (const name of ["master_job_cache", "ext_job_cache"]) {
      assert.throws(() => checkDatabasePackages(config({ [name]: "mysql" })), {
        code: "PACKAGE_MISSING",
        message:
          /^mysql as a job cache needs the package mysql2, which is not installed: npm --prefix \/\S+ install --no-save mysql2$/,
      });
    }
  });
});

describe("options of a database", () => {
  it("refuse the start where a driver could not work with them, and only that driver", () => {
    const start = (more: Overrides) => refuseStart(loadMasterConfig("/nowhere", { id: "m", ...more }));
    const cluster = { "redis.cluster_mode": true };
    start(cluster);
    start({ master_job_cache: "redis", "redis.cluster_mode": false });
    start({ master_job_cache: "redis", ...cluster, accept_missing: ["redis.cluster_mode"] });
    start({ master_job_cache: "sqlite3", "sqlite3.database": "/srv/salt.db" });
    for (const name of ["master_job_cache", "ext_job_cache"]) {
      assert.throws(() => start({ [name]: "redis", ...cluster }), {
        code: "CONFIG_INVALID",
        message: /redis\.cluster_mode: not built here/,
      });
      assert.throws(() => start({ [name]: "sqlite3" }), {
        code: "CONFIG_INVALID",
        message: new RegExp(`${name}: sqlite3 needs sqlite3\\.database, the path of its file$`),
      });
    }
  });
});
