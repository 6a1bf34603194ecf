/** Source `postgres`: the rows of queries in PostgreSQL. The option `postgres` is Salt's. Source: Salt 3007's module of that name, observed. */
import { requirePackage } from "../../databases/packages.ts";
import {
  isWithoutTls,
  newPostgresClient,
  type PostgresClient,
  type PostgresOptions,
  packageName,
} from "../../databases/postgres/client.ts";
import { Float, type Value } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import { readJson } from "../jinja/values/json.ts";
import { dataOf } from "../jinja/values/objects.ts";
import type { ExternalSource } from "./contract.ts";
import { withPlaceholder } from "./sql/placeholder.ts";
import type { SqlResult } from "./sql/rows.ts";
import { askServer, connectionOf, queriesOf, valuesOf } from "./sql/source.ts";

const standardPort = 5_432;

type Column = { readonly name: string; readonly dataTypeID: number };
type ArrayAnswer = { readonly fields: readonly Column[]; readonly rows: readonly (readonly (string | null)[])[] };

/** By the type's number in `pg_type`. Types that are not listed stay text: dates, numerics, UUIDs. */
const readers: ReadonlyMap<number, (text: string) => Value> = new Map<number, (text: string) => Value>([
  [16, (text) => text === "t"],
  ...[20, 21, 23, 26].map((type): [number, (text: string) => Value] => [type, integerOf]),
  ...[700, 701].map((type): [number, (text: string) => Value] => [type, floatOf]),
  ...[114, 3802].map((type): [number, (text: string) => Value] => [type, (text) => dataOf(readJson(text))]),
]);
/** Types of arrays of common types. */
const arrayTypes: ReadonlySet<number> = new Set([
  199, 1000, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1231, 3807,
]);

function integerOf(text: string): Value {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function floatOf(text: string): Value {
  const value = Number(text);
  return Number.isInteger(value) ? new Float(value) : value;
}

function cellOf(text: string | null, { name, dataTypeID }: Column): Value {
  if (arrayTypes.has(dataTypeID)) throw sourceFault(`the column ${name} is an array, which is not supported`);
  return text === null ? null : (readers.get(dataTypeID)?.(text) ?? text);
}

async function resultOf(client: PostgresClient, text: string, id: string): Promise<SqlResult> {
  const asked = { text, values: [id], rowMode: "array" } as const;
  const { fields, rows } = (await client.query(asked)) as unknown as ArrayAnswer;
  return {
    fields: fields.map(({ name }) => name),
    rows: rows.map((row) => row.map((cell, index) => cellOf(cell, fields[index] ?? { name: "", dataTypeID: 0 }))),
  };
}

/** As PostgreSQL's own library does it: with TLS if the server has it, whatever its certificate. A socket in the file system has none. */
async function connected(options: Omit<PostgresOptions, "ssl">, signal: AbortSignal): Promise<PostgresClient> {
  const connect = async (ssl: PostgresOptions["ssl"]) => {
    const client = newPostgresClient({ ...options, ssl });
    // Between statements an error has no listener of its own; the statement fails.
    client.on("error", () => undefined);
    const end = () => client.connection.stream.destroy();
    signal.addEventListener("abort", end);
    try {
      await client.connect();
      return client;
    } catch (error) {
      end();
      throw error;
    } finally {
      signal.removeEventListener("abort", end);
    }
  };
  if (options.host.startsWith("/")) return await connect(false);
  try {
    return await connect({ rejectUnauthorized: false });
  } catch (error) {
    if (!isWithoutTls(error) || signal.aborted) throw error;
    return await connect(false);
  }
}

export const postgres: ExternalSource = {
  parameters: [],
  requiredCount: 0,
  takes: "all",
  // A minion that may ask for this source could choose the query.
  isForMinions: false,
  packageName,
  ask: async (args, { id, option, timeoutMs, signal }) => {
    requirePackage("ext_pillar: postgres", packageName);
    const queries = queriesOf(args).map(({ query }) => withPlaceholder(query, "$1"));
    const connection = connectionOf(option("postgres"), { port: standardPort });
    const options = {
      ...connection,
      application_name: "saltworks",
      client_encoding: "UTF8",
      sslnegotiation: "postgres",
      connectionTimeoutMillis: timeoutMs,
      types: { getTypeParser: () => (text: string) => text },
    };
    return await askServer(queries, signal, {
      place: `${connection.host}:${connection.port}`,
      connect: async () => await connected(options, signal),
      end: (client) => client.connection.stream.destroy(),
      streamOf: (client) => client.connection.stream,
      ask: (client, query) => resultOf(client, query, id),
    });
  },
  read: ({ reply }, args) => valuesOf(args, reply()),
};
