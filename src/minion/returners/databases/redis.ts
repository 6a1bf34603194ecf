/** Returner `redis`: Salt's keys `ret:JID`, `MINION:FUNCTION` and `minions`. Source: Salt 3007's `redis_return`. */
import { returnerConnectMs } from "../../../limits.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { functionOf, textOf } from "../contract/fields.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";
import type { ReturnerSettings } from "../contract/settings.ts";

type Batch = {
  hSet(key: string, field: string, value: string): Batch;
  expire(key: string, seconds: number): Batch;
  set(key: string, value: string, options: { readonly EX: number }): Batch;
  sAdd(key: string, member: string): Batch;
  execAsPipeline(): Promise<unknown>;
};
type Client = {
  on(event: "error", listener: (error: Error) => void): void;
  connect(): Promise<unknown>;
  multi(): Batch;
  close(): Promise<void>;
  destroy(): void;
};
/** What this returner uses of the library. */
type Redis = { createClient(options: { readonly [name: string]: unknown }): Client };

const library = { specifier: "redis", install: "redis@6" };

export const redisReturner: Returner = {
  name: "redis",
  aliases: ["redis_return"],
  doc: describe("Keeps the return in Redis, with Salt's keys, for `keep_jobs_seconds`.", "test.ping --return redis"),
  libraries: [library],
  returner: async ({ ret, settings, load, signal }) => {
    const options = settings.of("redis", {
      ...{ host: "localhost", port: 6379, unix_socket_path: undefined, db: 0, password: undefined },
      cluster_mode: undefined,
    });
    if (options.isOn("cluster_mode")) throw returnerError("redis.cluster_mode is not built");
    const [minion, jid, fun] = [textOf(ret, "id"), textOf(ret, "jid"), functionOf(ret)];
    const path = options.text("unix_socket_path");
    const { createClient } = await load<Redis>(library);
    const client = createClient({
      socket: {
        ...(path === undefined ? { host: options.demand("host"), port: options.port("port") } : { path }),
        connectTimeout: returnerConnectMs,
        reconnectStrategy: false,
      },
      database: Number(options.demand("db")),
      password: options.text("password"),
    });
    // The library repeats here what `connect` and the commands throw.
    client.on("error", () => undefined);
    const seconds = keptSeconds(settings);
    await client.connect();
    const close = () => client.destroy();
    signal.addEventListener("abort", close);
    try {
      const batch = client.multi().hSet(`ret:${jid}`, minion, jsonOf(ret)).expire(`ret:${jid}`, seconds);
      await batch.set(`${minion}:${fun}`, jid, { EX: seconds }).sAdd("minions", minion).execAsPipeline();
      await client.close();
    } finally {
      signal.removeEventListener("abort", close);
    }
  },
};

const defaultSeconds = 86_400;
const defaultHours = 24;

/** `keep_jobs_seconds`, or the older `keep_jobs` in hours. */
function keptSeconds(settings: ReturnerSettings): number {
  const seconds = Number(settings.option("keep_jobs_seconds") || defaultSeconds);
  const hours = Number(settings.option("keep_jobs") || defaultHours);
  return seconds === defaultSeconds && hours !== defaultHours ? hours * 3_600 : seconds;
}
