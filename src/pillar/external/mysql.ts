/** Source `mysql`: the rows of queries in MariaDB or MySQL. The option `mysql` is Salt's. Source: Salt 3007's module of that name, observed. */
import { connectMysql, type MysqlClient, type MysqlTls, packageName } from "../../databases/mysql/client.ts";
import { requirePackage } from "../../databases/packages.ts";
import { tlsFileBytes } from "../../databases/sql/tls-file.ts";
import { Float, type Value } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import type { ExternalSource } from "./contract.ts";
import { withPlaceholder } from "./sql/placeholder.ts";
import type { SqlResult } from "./sql/rows.ts";
import { askServer, connectionOf, queriesOf, valuesOf } from "./sql/source.ts";

const standardPort = 3_306;
/** Column types of the protocol whose whole numbers are floats. */
const floatTypes = [4, 5];
const bigintType = 8;
const tlsFiles = ["ca", "cert", "key"];

type Column = { readonly name: string; readonly columnType: number };

function tlsOf(option: unknown): MysqlTls | undefined {
  const { ssl = null } = (option ?? {}) as { readonly ssl?: unknown };
  if (ssl === null || ssl === false) return undefined;
  const files = typeof ssl === "object" ? Object.entries(ssl).filter(([name]) => tlsFiles.includes(name)) : [];
  // An operator who asks for TLS must not get a connection without it.
  if (files.length === 0)
    throw sourceFault("`ssl` of the option mysql has to name a file: ca, cert or key", { isFatal: true });
  return Object.fromEntries(files.map(([name, path]) => [name, tlsFileBytes(String(path))]));
}

function cellOf(value: unknown, { columnType }: Column): Value {
  if (typeof value === "number" && floatTypes.includes(columnType) && Number.isInteger(value)) return new Float(value);
  // A whole number beyond JavaScript's comes as text.
  if (typeof value === "string" && columnType === bigintType) return BigInt(value);
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  return (value ?? null) as Value;
}

async function resultOf(client: MysqlClient, sql: string, id: string): Promise<SqlResult> {
  const [answer, columns] = (await client.execute(sql, [id])) as unknown as [unknown[][], Column[]];
  if (!Array.isArray(answer)) return { fields: [], rows: [] };
  return {
    fields: columns.map(({ name }) => name),
    rows: answer.map((row) => row.map((cell, index) => cellOf(cell, columns[index] ?? { name: "", columnType: 0 }))),
  };
}

export const mysql: ExternalSource = {
  parameters: [],
  requiredCount: 0,
  takes: "all",
  // A minion that may ask for this source could choose the query.
  isForMinions: false,
  packageName,
  ask: async (args, { id, option, timeoutMs, signal }) => {
    requirePackage("ext_pillar: mysql", packageName);
    const queries = queriesOf(args).map(({ query }) => withPlaceholder(query, "?"));
    const connection = connectionOf(option("mysql"), { port: standardPort });
    const ssl = tlsOf(option("mysql"));
    return await askServer(queries, signal, {
      place: `${connection.host}:${connection.port}`,
      connect: async () => {
        const client = await connectMysql({
          ...connection,
          connectTimeout: timeoutMs,
          charset: "utf8mb4",
          dateStrings: true,
          maxPreparedStatements: 1,
          rowsAsArray: true,
          supportBigNumbers: true,
          jsonStrings: true,
          ...(ssl === undefined ? {} : { ssl }),
        });
        // Between statements an error has no listener of its own; the statement fails.
        client.on("error", () => undefined);
        return client;
      },
      end: (client) => client.destroy(),
      streamOf: (client) => client.connection.stream,
      ask: (client, query) => resultOf(client, query, id),
    });
  },
  read: ({ reply }, args) => valuesOf(args, reply()),
};
