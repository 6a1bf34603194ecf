/** Backend `mysql`: a table of users in MariaDB or MySQL. The option `mysql_auth` is Salt's. */
import { readFileSync } from "node:fs";
import { isConfigMap } from "../../../config/yaml/values.ts";
import { connectMysql, type MysqlClient, type MysqlOptions, packageName } from "../../../databases/mysql/client.ts";
import { requirePackage } from "../../../databases/packages.ts";
import { within } from "../../../deadline.ts";
import { mysqlLoginMs } from "../../../limits.ts";
import {
  authentic,
  type CredentialConfig,
  type CredentialResult,
  type CredentialTask,
  faulty,
  refused,
} from "../contract/credential.ts";
import { type AuthSql, readAuthSql } from "./auth-sql.ts";

type MysqlAuth = { readonly place: string; readonly options: MysqlOptions; readonly statement: AuthSql };

const names = ["hostname", "username", "password", "database", "auth_sql"] as const;
const standardPort = 3_306;

export async function checkMysql({ opts }: CredentialConfig, task: CredentialTask): Promise<CredentialResult> {
  if (task.username === "" || task.password === "") return refused;
  let auth: MysqlAuth;
  try {
    requirePackage("external_auth:mysql", packageName);
    auth = readMysqlAuth(opts.get("mysql_auth"));
  } catch (error) {
    return faulty(`external_auth:mysql: ${(error as Error).message}`);
  }
  let client: MysqlClient | undefined;
  const ask = async () => {
    client = await connectMysql(auth.options);
    // Between statements an error has no listener of its own; the statement fails.
    client.on("error", () => undefined);
    return await isKnown(client, auth.statement, task);
  };
  try {
    const late = () => {
      throw new Error(`no answer within ${mysqlLoginMs} ms`);
    };
    return (await within(ask(), mysqlLoginMs, late)) ? authentic : refused;
  } catch (error) {
    return faulty(`external_auth:mysql: ${auth.place}: ${reasonOf(error as ServerError)}`);
  } finally {
    client?.destroy();
  }
}

type ServerError = Error & { readonly code?: string; readonly sqlMessage?: string };

/** Errors of a server whose messages quote no value. */
const plainErrors: ReadonlySet<string> = new Set([
  "ER_ACCESS_DENIED_ERROR",
  "ER_BAD_DB_ERROR",
  "ER_BAD_FIELD_ERROR",
  "ER_DBACCESS_DENIED_ERROR",
  "ER_NO_SUCH_TABLE",
  "ER_PARSE_ERROR",
  "ER_TABLEACCESS_DENIED_ERROR",
]);

/** A server may quote the password in its message. */
function reasonOf({ code = "", sqlMessage, message }: ServerError): string {
  return sqlMessage === undefined || plainErrors.has(code) ? message || code : code;
}

/** @throws Error with the reason why nothing can be asked */
function readMysqlAuth(option: unknown): MysqlAuth {
  const members = isConfigMap(option) ? option : {};
  const missing = names.filter((name) => members[name] === undefined || members[name] === null);
  if (missing.length > 0) throw new Error(`the option mysql_auth lacks ${missing.join(", ")}`);
  const [host, user, password, database, template] = names.map((name) => String(members[name])) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const port = Number(members.port ?? standardPort);
  const ca = typeof members.ssl_ca === "string" ? readFileSync(members.ssl_ca) : undefined;
  const options = {
    host,
    port,
    user,
    password,
    database,
    connectTimeout: mysqlLoginMs,
    charset: "utf8mb4",
    dateStrings: true,
    maxPreparedStatements: 1,
    ...(ca === undefined ? {} : { ssl: { ca } }),
  };
  return { place: `${host}:${port}`, options, statement: readAuthSql(template) };
}

/** As in Salt the statement has to find exactly one row. */
async function isKnown(client: MysqlClient, { sql, values }: AuthSql, task: CredentialTask): Promise<boolean> {
  const parameters = values.map((value) => (value === 0 ? task.username : task.password));
  const [rows] = await client.execute(sql, parameters);
  const [row, ...others] = Array.isArray(rows) ? rows : [];
  return row !== undefined && others.length === 0 && isSpelledSo(Object.values(row), task.username);
}

/**
 * Databases ignore case, accents and spaces at the end, and permissions do not: a name that the row shows has to be spelled as the user spells it. A
 * row without the name tells nothing.
 */
function isSpelledSo(columns: readonly unknown[], username: string): boolean {
  const texts = columns.filter((column) => typeof column === "string");
  const isAlike = (text: string) =>
    text.trimEnd().localeCompare(username.trimEnd(), "en", { sensitivity: "base" }) === 0;
  return texts.includes(username) || !texts.some(isAlike);
}
