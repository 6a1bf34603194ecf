/** Returners `postgres` and `pgjsonb`: a row of Salt's table `salt_returns` in PostgreSQL. Source: Salt 3007's returners of these names. */
import { readFile } from "node:fs/promises";
import { returnerConnectMs } from "../../../limits.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { functionOf, isSuccess, memberOf, textOf } from "../contract/fields.ts";
import { jsonOf, withTexts } from "../contract/json.ts";
import type { Passing, Returner } from "../contract/returner.ts";
import type { Options } from "../contract/settings.ts";

type Client = {
  connect(): Promise<void>;
  query(sql: string, values: readonly (string | number | boolean)[]): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): void;
};
/** What these returners use of the library. */
type PostgreSql = {
  readonly default: { readonly Client: new (options: { readonly [name: string]: unknown }) => Client };
};
type Security = false | { readonly [name: string]: unknown };

const library = { specifier: "pg", install: "pg@8" };
const connectionDefaults = { host: "localhost", user: "salt", db: "salt", port: 5432 };

export const postgresReturner: Returner = {
  name: "postgres",
  doc: describe(
    "Writes a row of Salt's table `salt_returns` in PostgreSQL, JSON as text.",
    "test.ping --return postgres",
  ),
  libraries: [library],
  returner: async (passing) => {
    const options = passing.settings.of("returner.postgres", { ...connectionDefaults, passwd: "salt" });
    const sql = "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret) VALUES ($1, $2, $3, $4, $5, $6)";
    await insert(passing, options, options.text("passwd"), "prefer", sql, rowOf(passing.ret));
  },
};

export const pgjsonbReturner: Returner = {
  name: "pgjsonb",
  doc: describe(
    "Writes a row of Salt's table `salt_returns` in PostgreSQL, JSON as `jsonb`.",
    "test.ping --return pgjsonb",
  ),
  libraries: [library],
  returner: async (passing) => {
    const options = passing.settings.of("returner.pgjsonb", {
      ...{ ...connectionDefaults, pass: "salt", connect_timeout: undefined, sslmode: "prefer" },
      ...{ sslcert: undefined, sslkey: undefined, sslrootcert: undefined, sslcrl: undefined },
    });
    const sql =
      "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret, alter_time) VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7))";
    const row = [...rowOf(passing.ret), Date.now() / 1_000];
    await insert(passing, options, options.text("pass"), options.demand("sslmode"), sql, row);
  },
};

function rowOf(ret: ValueMap): (string | number | boolean)[] {
  const full = withTexts(ret) as ValueMap;
  const value: Value = memberOf(full, "return");
  return [functionOf(ret), textOf(ret, "jid"), jsonOf(value), textOf(ret, "id"), String(isSuccess(ret)), jsonOf(full)];
}

async function insert(
  { load, signal }: Passing,
  options: Options,
  password: string | undefined,
  sslMode: string,
  sql: string,
  row: readonly (string | number | boolean)[],
): Promise<void> {
  const { Client } = (await load<PostgreSql>(library)).default;
  const timeoutMs = Number(options.text("connect_timeout") ?? 0) * 1_000;
  const open = async (ssl: Security) => {
    const client = new Client({
      ...{ host: options.demand("host"), port: options.port("port"), user: options.demand("user") },
      ...{ database: options.demand("db"), password, ssl },
      connectionTimeoutMillis: timeoutMs > 0 ? Math.min(timeoutMs, returnerConnectMs) : returnerConnectMs,
    });
    // The client repeats the error of a lost connection, which the query or `connect` reports already.
    client.on("error", () => undefined);
    await client.connect();
    return client;
  };
  const client = await connectBy(sslMode, options, open);
  const close = () => void client.end().catch(() => undefined);
  signal.addEventListener("abort", close);
  try {
    await client.query(sql, row);
  } finally {
    signal.removeEventListener("abort", close);
    await client.end();
  }
}

/**
 * PostgreSQL's modes: `prefer` and `allow` take a server without TLS. `verify-full` compares the server's name, `verify-ca` its authority, and so
 * does `require` where an authority is named.
 */
async function connectBy(mode: string, options: Options, open: (ssl: Security) => Promise<Client>): Promise<Client> {
  if (options.has("sslcrl")) throw returnerError("returner.pgjsonb.sslcrl is not built");
  if (mode === "disable") return await open(false);
  const files = await filesOf(options);
  // Without the host the client compares addresses with `localhost`.
  if (mode === "verify-full") return await open({ ...files, rejectUnauthorized: true, host: options.demand("host") });
  if (mode === "verify-ca" || (mode === "require" && files.ca !== undefined))
    return await open({ ...files, rejectUnauthorized: true, checkServerIdentity: () => undefined });
  const unverified = { ...files, rejectUnauthorized: false };
  if (mode === "require") return await open(unverified);
  if (mode !== "prefer" && mode !== "allow") throw returnerError(`returner.pgjsonb.sslmode is not a mode: ${mode}`);
  try {
    return await open(unverified);
  } catch (error) {
    if (error instanceof Error && error.message.includes("does not support SSL")) return await open(false);
    throw error;
  }
}

async function filesOf(options: Options): Promise<{ readonly [name: string]: string }> {
  const files: { [name: string]: string } = {};
  for (const [option, name] of [
    ["sslrootcert", "ca"],
    ["sslcert", "cert"],
    ["sslkey", "key"],
  ] as const) {
    const path = options.text(option);
    if (path !== undefined) files[name] = await readFile(path, "utf8");
  }
  return files;
}
