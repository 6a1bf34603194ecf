/** The package `redis`, as far as it is used here. It is optional, so it is loaded when a server is first connected to. */
import { createRequire } from "node:module";

export const packageName = "redis";

/** Commands that the server runs together, between MULTI and EXEC. */
export type RedisBatch = {
  hSet(key: string, fields: Readonly<Record<string, string>> | ReadonlyMap<string, string>): RedisBatch;
  hSetNX(key: string, field: string, value: string): RedisBatch;
  expire(key: string, seconds: number): RedisBatch;
  set(key: string, value: string, options: RedisSetOptions): RedisBatch;
  sAdd(key: string, members: readonly string[]): RedisBatch;
  exec(): Promise<readonly unknown[]>;
};
/** `EX`: seconds after which the key leaves. `NX`: a key that is there stays as it is, and the answer is null. */
type RedisSetOptions = { readonly EX?: number; readonly NX?: true };

export type RedisClient = {
  on(event: "error", listener: (error: Error) => void): void;
  connect(): Promise<unknown>;
  ping(): Promise<string>;
  sendCommand(words: readonly string[]): Promise<unknown>;
  multi(): RedisBatch;
  get(key: string): Promise<string | null>;
  mGet(keys: readonly string[]): Promise<readonly (string | null)[]>;
  hGet(key: string, field: string): Promise<string | null>;
  hKeys(key: string): Promise<readonly string[]>;
  hmGet(key: string, fields: readonly string[]): Promise<readonly (string | null)[]>;
  scan(cursor: string, options: { readonly MATCH: string; readonly COUNT: number }): Promise<RedisScanned>;
  readonly isOpen: boolean;
  destroy(): void;
};
export type RedisScanned = { readonly cursor: string; readonly keys: readonly string[] };

export type RedisOptions = {
  readonly socket: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly connectTimeout: number;
    readonly reconnectStrategy: false;
  };
  readonly database: number;
  readonly password?: string;
  /** 2: the protocol of all releases of Redis. */
  readonly RESP: 2;
  readonly disableOfflineQueue: true;
};

type RedisPackage = { readonly createClient: (options: RedisOptions) => RedisClient };

/** Opens no connection yet. @throws Error with the code MODULE_NOT_FOUND if the package is not installed */
export function createRedisClient(options: RedisOptions): RedisClient {
  const require = createRequire(import.meta.url);
  return (require(packageName) as RedisPackage).createClient(options);
}
