/** TLS to MariaDB and PostgreSQL with certificates of an authority of the test's own: our returners, and the master. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { loadLibrary } from "../../../src/minion/returners/contract/library.ts";
import { mustPass, passTo } from "../../minion/returners/passing.ts";
import { type Certificates, makeCertificates } from "../../services/certificates.ts";
import { powerless, type Service, skipWithout, startMariaDb, startPostgreSql } from "../../services/service.ts";

type MySql = {
  createConnection(options: object): Promise<{
    query(sql: string): Promise<[Record<string, unknown>[]]>;
    end(): Promise<void>;
  }>;
};
type Pg = {
  readonly default: {
    readonly Client: new (
      options: object,
    ) => {
      connect(): Promise<void>;
      query(sql: string): Promise<{ readonly rows: Record<string, unknown>[] }>;
      end(): Promise<void>;
    };
  };
};

let certificates: Certificates;
let service: Service | undefined;

async function whyOf(name: string, options: Parameters<typeof passTo>[1]): Promise<string> {
  return (await passTo([name], options)).failures.get(name) ?? "no failure";
}

describe("TLS to MariaDB", { skip: skipWithout("mariadbd", "openssl"), timeout: 120_000 }, () => {
  before(async () => {
    certificates = makeCertificates(powerless);
    const { ca, server } = certificates;
    service = await startMariaDb(`--ssl-ca=${ca}`, `--ssl-cert=${server.cert}`, `--ssl-key=${server.key}`);
  });
  after(async () => {
    await service?.close();
    certificates.remove();
  });

  it("is used by the master and by the returner, which show their certificate and check the server's", async () => {
    const { ca, otherCa, client } = certificates;
    const port = service?.port ?? 0;
    const { createConnection } = await loadLibrary<MySql>({ specifier: "mysql2/promise", install: "" });
    const admin = await createConnection({ host: "127.0.0.1", port, user: "root" });
    await admin.query("CREATE DATABASE salt CHARACTER SET utf8mb4");
    await admin.query("CREATE USER 'salt'@'%' IDENTIFIED BY 'pw' REQUIRE X509");
    await admin.query("GRANT ALL ON salt.* TO 'salt'@'%'");
    const plain = { host: "127.0.0.1", port, user: "salt", pass: "pw", db: "salt" };
    const files = { ssl_ca: ca, ssl_cert: client.cert, ssl_key: client.key };
    const masterOf = (more: object) => {
      const options = Object.entries({ ...plain, ...more }).map(([name, value]) => [`mysql.${name}`, value]);
      const config = loadMasterConfig("/nonexistent", {
        root_dir: "/nonexistent",
        id: "m",
        ...Object.fromEntries(options),
      });
      return openDatabase(config, "mysql");
    };
    const master = masterOf(files);
    assert.deepEqual(await master.createSchema(), ["jids", "salt_returns", "salt_events"]);
    await master.close();
    await mustPass(["mysql"], { mysql: { ...plain, ...files } });
    const [[row]] = await admin.query("SELECT COUNT(*) AS count FROM salt.salt_returns");
    assert.equal(Number(row?.count), 1);
    const isRefused = /Access denied/;
    const isStranger = /self-signed certificate|unable to verify|unable to get|certificate/;
    assert.match(await whyOf("mysql", { mysql: plain }), isRefused);
    assert.match(await whyOf("mysql", { mysql: { ...plain, ssl_ca: ca } }), isRefused);
    assert.match(await whyOf("mysql", { mysql: { ...plain, ...files, ssl_ca: otherCa } }), isStranger);
    for (const [more, why] of [
      [{}, isRefused],
      [{ ...files, ssl_ca: otherCa }, isStranger],
    ] as const) {
      const wrong = masterOf(more);
      await assert.rejects(wrong.createSchema(), why);
      await wrong.close();
    }
    await admin.end();
  });
});

describe("TLS to PostgreSQL", { skip: skipWithout("postgres", "openssl"), timeout: 120_000 }, () => {
  let folder = "";
  before(async () => {
    certificates = makeCertificates(powerless);
    folder = mkdtempSync(join(tmpdir(), "sw-tls-"));
    chmodSync(folder, 0o755);
    // Only over TLS, and only with a certificate of the user's name.
    writeFileSync(join(folder, "hba"), "hostssl all all 127.0.0.1/32 cert\n");
    const { ca, server } = certificates;
    const settings = { ssl: "on", ssl_ca_file: ca, ssl_cert_file: server.cert, ssl_key_file: server.key };
    const more = Object.entries({ ...settings, hba_file: join(folder, "hba") });
    service = await startPostgreSql({ settings: Object.fromEntries(more) });
  });
  after(async () => {
    await service?.close();
    certificates.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it("follows the modes of PostgreSQL's own library", async () => {
    const { ca, otherCa, client } = certificates;
    const port = service?.port ?? 0;
    const pem = { cert: readFileSync(client.cert), key: readFileSync(client.key), rejectUnauthorized: false };
    const { Client } = (await loadLibrary<Pg>({ specifier: "pg", install: "" })).default;
    const admin = new Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres", ssl: pem });
    await admin.connect();
    await admin.query(
      "CREATE TABLE salt_returns (fun varchar(50), jid varchar(255), return jsonb, full_ret jsonb, id varchar(255), success varchar(10), alter_time timestamp with time zone)",
    );
    const where = { host: "127.0.0.1", port, user: "postgres", db: "postgres" };
    const files = { sslcert: client.cert, sslkey: client.key };
    const attempt = (more: object) => whyOf("pgjsonb", { "returner.pgjsonb": { ...where, ...files, ...more } });
    for (const mode of ["allow", "prefer", "require"]) assert.equal(await attempt({ sslmode: mode }), "no failure");
    for (const mode of ["require", "verify-ca", "verify-full"]) {
      assert.equal(await attempt({ sslmode: mode, sslrootcert: ca }), "no failure", mode);
      assert.match(await attempt({ sslmode: mode, sslrootcert: otherCa }), /certificate/, mode);
    }
    assert.match(await attempt({ host: "localhost", sslmode: "verify-full", sslrootcert: ca }), /altnames/);
    assert.match(await attempt({ sslmode: "disable" }), /no pg_hba\.conf entry/);
    assert.match(await whyOf("pgjsonb", { "returner.pgjsonb": where }), /certificate/);
    const { rows } = await admin.query("SELECT COUNT(*) AS count FROM salt_returns");
    assert.equal(Number(rows[0]?.count), 6);
    await admin.end();
  });
});
