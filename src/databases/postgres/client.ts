/** The package `pg`, as far as it is used here. It is optional, so it is loaded when a database is first connected to. */
import { createRequire } from "node:module";

export const packageName = "pg";

export type PostgresOptions = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly application_name: string;
  readonly client_encoding: string;
  readonly sslnegotiation: string;
  readonly connectionTimeoutMillis: number;
  readonly ssl: PostgresTls | false;
  /** How columns are read: all as the text that the server sends, because a number of JSON may not fit JavaScript's. */
  readonly types: { readonly getTypeParser: () => (text: string) => string };
};
export type PostgresTls = {
  readonly rejectUnauthorized: boolean;
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly crl?: Buffer;
  readonly checkServerIdentity?: () => undefined;
};
export type PostgresValue = string | number | null | readonly string[];
export type PostgresRow = Readonly<Record<string, string | null>>;
export type PostgresAnswer = { readonly rows: readonly PostgresRow[]; readonly rowCount: number | null };
/** A statement with a name is prepared once for each connection. */
type PostgresQuery = { readonly name?: string; readonly text: string; readonly values: readonly PostgresValue[] };

export type PostgresClient = {
  connect(): Promise<unknown>;
  query(query: PostgresQuery | string): Promise<PostgresAnswer>;
  on(event: "error", listener: (error: Error) => void): void;
  readonly connection: { readonly stream: { readonly bytesRead: number; destroy(): void } };
};

type PostgresPackage = { readonly Client: new (options: PostgresOptions) => PostgresClient };

/** Whether a connection failed only because the server has no TLS. */
export function isWithoutTls(error: unknown): boolean {
  return (error as Error).message === "The server does not support SSL connections";
}

/** @throws Error with the code MODULE_NOT_FOUND if the package is not installed */
export function newPostgresClient(options: PostgresOptions): PostgresClient {
  const require = createRequire(import.meta.url);
  const { Client } = require(packageName) as PostgresPackage;
  return new Client(options);
}
