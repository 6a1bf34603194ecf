/** What the sources `mysql`, `postgres` and `sqlite3` share: queries as arguments, and rows that become maps. */

import type { SaltworksError } from "../../../errors.ts";
import { extPillarBytesMax, extPillarReceivedBytesMax } from "../../../limits.ts";
import { decode, encode } from "../../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { sourceFault } from "../../input/source-fault.ts";
import { type SqlQuery, type SqlResult, sqlQueries, sqlValues } from "./rows.ts";

type SqlArguments = ReadonlyMap<string, Value> & { readonly rest: readonly Value[] };

export function queriesOf(args: SqlArguments): readonly SqlQuery[] {
  return sqlQueries(args.rest, args);
}

export function packedResults(results: readonly SqlResult[]): Uint8Array {
  return encode(
    results.map(({ fields, rows }) => [[...fields], rows.map((row) => [...row])]),
    "bin",
  );
}

export function valuesOf(args: SqlArguments, packed: Uint8Array): ValueMap {
  const read = decode(packed) as [string[], Value[][]][];
  return sqlValues(
    queriesOf(args),
    read.map(([fields, rows]) => ({ fields, rows })),
  );
}

/** The option of that name as a map, with the driver's defaults for what it does not set. */
export function connectionOf(
  option: unknown,
  standard: { readonly port: number },
): {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
} {
  const given = (typeof option === "object" && option !== null ? option : {}) as Readonly<Record<string, unknown>>;
  const text = (name: string, fallback: string) => (name in given ? String(given[name]) : fallback);
  const port = Number(given.port ?? standard.port);
  if (!Number.isInteger(port)) throw sourceFault("the port of the database is not a number");
  return {
    host: text("host", "localhost"),
    port,
    user: text("user", "salt"),
    password: text("pass", "salt"),
    database: text("db", "salt"),
  };
}

const lookEveryMs = 20;

export function tooLargeFault(): SaltworksError {
  return sourceFault(`the server sent more than ${extPillarBytesMax} bytes`, { isFatal: true, isTooLarge: true });
}

/** A connection that answers queries. `stream`: its own at that moment, which TLS replaces. */
type AskedConnection = {
  readonly stream: () => { readonly bytesRead: number; destroy(): void };
  readonly ask: (query: string) => Promise<SqlResult>;
};

/**
 * Runs queries. Ends the connection once it has received more than `extPillarReceivedBytesMax`, because the drivers give rows only when all of a query
 * are in memory. A driver may leave a query open whose connection is closed, so that `signal` ends the wait, too. @throws SaltworksError PILLAR_FAILED
 */
async function boundedResults(
  queries: readonly string[],
  signal: AbortSignal,
  { stream, ask }: AskedConnection,
): Promise<readonly SqlResult[]> {
  let timer: NodeJS.Timeout | undefined;
  let giveUp: (() => void) | undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(sourceFault("the server did not answer in time"));
    signal.addEventListener("abort", giveUp);
    timer = setInterval(() => {
      if (stream().bytesRead <= extPillarReceivedBytesMax) return;
      reject(tooLargeFault());
      stream().destroy();
    }, lookEveryMs);
  });
  const results: SqlResult[] = [];
  try {
    for (const query of queries) results.push(await Promise.race([ended, ask(query)]));
    return results;
  } finally {
    clearInterval(timer);
    if (giveUp !== undefined) signal.removeEventListener("abort", giveUp);
  }
}

/** A database server. `place` names it in faults. `end` closes the connection at once. */
type SqlServer<Client> = {
  readonly place: string;
  readonly connect: () => Promise<Client>;
  readonly end: (client: Client) => void;
  readonly streamOf: (client: Client) => ReturnType<AskedConnection["stream"]>;
  readonly ask: (client: Client, query: string) => Promise<SqlResult>;
};

/** Connects, runs the queries and ends the connection, also at `signal`. @returns the results, packed. @throws SaltworksError PILLAR_FAILED */
export async function askServer<Client>(
  queries: readonly string[],
  signal: AbortSignal,
  server: SqlServer<Client>,
): Promise<Uint8Array> {
  let client: Client | undefined;
  const end = () => {
    if (client !== undefined) server.end(client);
  };
  signal.addEventListener("abort", end);
  try {
    client = await server.connect();
    if (signal.aborted) return new Uint8Array();
    const asked = client;
    return packedResults(
      await boundedResults(queries, signal, {
        stream: () => server.streamOf(asked),
        ask: (query) => server.ask(asked, query),
      }),
    );
  } catch (error) {
    throw serverFault(server.place, error);
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}

/** A fault of a server. Its message may quote values, so that only its code is told. */
export function serverFault(place: string, error: unknown): unknown {
  if (error instanceof Error && error.name === "SaltworksError") return error;
  const { code, message } = error as Error & { readonly code?: string };
  return Object.assign(sourceFault(`${place}: ${code ?? message}`), { cause: error });
}
