/** The settings of the drivers `postgres` and `pgjsonb`, which have options of their own. */
import { databaseConnectMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { libraryConnectMs } from "../contract/deadline.ts";
import { tlsFileBytes } from "../sql/tls-file.ts";
import type { PostgresOptions, PostgresTls } from "./client.ts";

export type PostgresName = "postgres" | "pgjsonb";

export type PostgresSettings = {
  readonly name: PostgresName;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly connectMs: number;
  readonly tlsMode: string;
  /** Paths of files by the names of TLS options. */
  readonly tlsFiles: Readonly<Partial<Record<"ca" | "cert" | "key" | "crl", string | null>>>;
};

const asText = { getTypeParser: () => (text: string) => text };

export function settingsOf(config: DatabaseConfig, name: PostgresName): PostgresSettings {
  if (name === "postgres")
    return {
      name,
      host: config["returner.postgres.host"],
      port: config["returner.postgres.port"],
      user: config["returner.postgres.user"],
      password: config["returner.postgres.passwd"],
      database: config["returner.postgres.db"],
      connectMs: databaseConnectMs,
      tlsMode: config["returner.postgres.sslmode"],
      tlsFiles: { ca: config["returner.postgres.sslrootcert"] },
    };
  const seconds = config["returner.pgjsonb.connect_timeout"] ?? 0;
  return {
    name,
    host: config["returner.pgjsonb.host"],
    port: config["returner.pgjsonb.port"],
    user: config["returner.pgjsonb.user"],
    password: config["returner.pgjsonb.pass"],
    database: config["returner.pgjsonb.db"],
    connectMs: seconds > 0 ? seconds * 1_000 : databaseConnectMs,
    tlsMode: config["returner.pgjsonb.sslmode"],
    tlsFiles: {
      ca: config["returner.pgjsonb.sslrootcert"],
      cert: config["returner.pgjsonb.sslcert"],
      key: config["returner.pgjsonb.sslkey"],
      crl: config["returner.pgjsonb.sslcrl"],
    },
  };
}

/** The address without a password. */
export function placeOf({ name, host, port, database }: PostgresSettings): string {
  return `${name}://${host}:${port}/${database}`;
}

export function optionsOf(settings: PostgresSettings, ssl: PostgresTls | false): PostgresOptions {
  const { host, port, user, password, database } = settings;
  const names = { application_name: "saltworks", client_encoding: "UTF8", sslnegotiation: "postgres" };
  const times = { connectionTimeoutMillis: libraryConnectMs(settings.connectMs) };
  return { host, port, user, password, database, ...names, ...times, ssl, types: asText };
}

/**
 * What is tried, in this order. `prefer` and `allow` take a server without TLS. Without a file of certificates `require` does not verify the server,
 * as in PostgreSQL's own library.
 */
export function tlsOf({ host, tlsMode, tlsFiles }: PostgresSettings): readonly (PostgresTls | false)[] {
  if (tlsMode === "disable" || host.startsWith("/")) return [false];
  const files = Object.fromEntries(
    Object.entries(tlsFiles).flatMap(([name, path]) =>
      path === null || path === "" ? [] : [[name, tlsFileBytes(path)] as const],
    ),
  );
  if (tlsMode === "verify-full") return [{ ...files, rejectUnauthorized: true }];
  if (tlsMode === "verify-ca" || (tlsMode === "require" && files.ca !== undefined))
    return [{ ...files, rejectUnauthorized: true, checkServerIdentity: () => undefined }];
  const unverified = { ...files, rejectUnauthorized: false };
  return tlsMode === "require" ? [unverified] : [unverified, false];
}
