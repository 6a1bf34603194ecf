/** One connection to Redis: it is opened at the first command, closed at the first fault, and opened anew by the next command. */
import { databaseConnectMs, databaseStatementMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { deadline, libraryConnectMs } from "../contract/deadline.ts";
import { createRedisClient, type RedisClient, type RedisOptions } from "./client.ts";
import { isAnswer, redisError } from "./errors.ts";

export class RedisSession {
  readonly place: string;
  readonly #config: DatabaseConfig;
  #opening: Promise<RedisClient> | undefined;

  constructor(config: DatabaseConfig) {
    this.#config = config;
    this.place = placeOf(config);
  }

  /** Sends one command, or several that the server runs together. @throws SaltworksError DATABASE_FAILED, DATABASE_REFUSED */
  async run<Answer>(send: (client: RedisClient) => Promise<Answer>): Promise<Answer> {
    const client = await this.#connected();
    try {
      return await deadline(send(client), databaseStatementMs, () => undefined);
    } catch (error) {
      if (!isAnswer(error)) this.#drop(client);
      throw redisError(error, this.place);
    }
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    destroy(await opening?.catch(() => undefined));
  }

  #connected(): Promise<RedisClient> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw redisError(error, this.place);
    });
    return this.#opening;
  }

  async #open(): Promise<RedisClient> {
    const client = createRedisClient(optionsOf(this.#config));
    // An error between two commands. The next command connects anew.
    client.on("error", () => this.#drop(client));
    try {
      await deadline(client.connect(), databaseConnectMs, () => destroy(client));
    } catch (error) {
      destroy(client);
      throw error;
    }
    return client;
  }

  #drop(client: RedisClient): void {
    destroy(client);
    this.#opening = undefined;
  }
}

/** The package refuses to end a connection that has ended. */
function destroy(client: RedisClient | undefined): void {
  if (client?.isOpen === true) client.destroy();
}

export function placeOf(config: DatabaseConfig): string {
  const { "redis.unix_socket_path": path, "redis.db": database } = config;
  return isSet(path)
    ? `redis:${path}/${database}`
    : `redis://${config["redis.host"]}:${config["redis.port"]}/${database}`;
}

function optionsOf(config: DatabaseConfig): RedisOptions {
  const { "redis.unix_socket_path": path, "redis.password": password } = config;
  const address = isSet(path) ? { path } : { host: config["redis.host"], port: config["redis.port"] };
  return {
    socket: { ...address, connectTimeout: libraryConnectMs(databaseConnectMs), reconnectStrategy: false },
    database: config["redis.db"],
    ...(isSet(password) ? { password } : {}),
    RESP: 2,
    disableOfflineQueue: true,
  };
}

function isSet(text: string | null): text is string {
  return text !== null && text !== "";
}
