/** The backend `mysql` against MariaDB: who may log in, and what names and passwords must not achieve. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { freePort } from "../../../bench/free-ports.ts";
import { checkCredential } from "../../../src/workers/credentials/backends.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { decided } from "./decided.ts";

const byHash = 'SELECT username FROM users WHERE username = "{0}" AND password = SHA2("{1}", 256)';

describe("the eauth system mysql", { skip: mariadbMissing() ?? false }, () => {
  let server: MariadbServer;

  before(async () => {
    server = await MariadbServer.start();
    server.sql(`USE salt; CREATE TABLE users (username VARCHAR(25), password VARCHAR(70));
      INSERT INTO users VALUES ('ann', SHA2('ann-1', 256)), ('o\\'brien"', SHA2('o"b\\\\-1', 256)), ('twin', SHA2('twin-1', 256)),
      ('twin', SHA2('twin-1', 256)), ('0', SHA2('zero-1', 256))`);
  });
  after(async () => await server?.remove());

  function check(username: string, password: string, changes: Readonly<Record<string, unknown>> = {}) {
    const account = { hostname: "127.0.0.1", port: server.port, username: server.user, password: server.password };
    const option = { ...account, database: "salt", auth_sql: byHash, ...changes };
    const opts = new Map<string, unknown>([["mysql_auth", option]]);
    const task = { eauth: "mysql", username, password };
    return checkCredential({ externalAuth: { mysql: {} }, isPermissive: false, opts }, task);
  }
  const isKnown = (...words: Parameters<typeof check>) => decided(check(...words));

  it("knows users of the table, by name and password as they are written", async () => {
    const plain = "SELECT 1 FROM users WHERE username = '{0}' AND password = SHA2('{1}', 256)";
    for (const changes of [{}, { auth_sql: plain }]) {
      assert.equal(await isKnown("ann", "ann-1", changes), true);
      assert.equal(await isKnown(`o'brien"`, `o"b\\-1`, changes), true);
      assert.equal(await isKnown("ann", "ann-2", changes), false);
      assert.equal(await isKnown("eve", "ann-1", changes), false);
      assert.equal(await isKnown("twin", "twin-1", changes), false, "two rows");
    }
    for (const name of ["ANN", "ann ", "ánn"]) assert.equal(await isKnown(name, "ann-1"), false, name);
  });

  it("takes a name and a password for values, whatever they hold", async () => {
    for (const words of ['" OR 1=1 LIMIT 1 -- ', "' OR '1'='1", '\\" OR 1=1 -- ', "x\\", '" OR username="ann" -- ']) {
      assert.equal(await isKnown(words, "ann-1"), false, words);
      assert.equal(await isKnown("ann", words), false, words);
    }
    assert.equal(await isKnown("ann", ""), false);
    assert.equal(await isKnown("", "zero-1"), false);
    assert.equal(server.sql("USE salt; SELECT COUNT(*) FROM users").at(-1), "5");
  });

  it("says why it cannot ask, and never with a password", async () => {
    const fault = async (changes: Readonly<Record<string, unknown>>) => {
      const { isAuthentic, fault: reason = "" } = await check("ann", "ann-1", changes);
      assert.equal(isAuthentic, false);
      assert.ok(!reason.includes("ann-1") && !reason.includes(server.password), reason);
      return reason;
    };
    assert.match(await fault({ password: "wrong" }), /Access denied/);
    assert.match(await fault({ auth_sql: undefined, database: null }), /lacks database, auth_sql/);
    assert.match(await fault({ auth_sql: `${byHash} AND nothing = 1` }), /nothing/);
    assert.match(await fault({ auth_sql: byHash.replace("{1}", "{2}") }), /not \{2\}/);
    assert.match(
      await fault({ auth_sql: "SELECT 1 FROM users WHERE '{0}' = CAST('{1}' AS UNSIGNED) + EXP(1000)" }),
      /ER_/,
    );
    assert.match(await fault({ port: await freePort() }), /ECONNREFUSED/);
  });
});
