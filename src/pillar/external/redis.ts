/** Source `redis`: the value of the key that is the minion's id. The options `redis.*` are Salt's. Source: Salt 3007's module `redismod`, observed. */
import { requirePackage } from "../../databases/packages.ts";
import { createRedisClient, packageName, type RedisClient } from "../../databases/redis/client.ts";
import { SaltworksError } from "../../errors.ts";
import { extPillarBytesMax, extPillarReceivedBytesMax } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import { readJson } from "../jinja/values/json.ts";
import { dataOf } from "../jinja/values/objects.ts";
import type { ExternalSource, SourceArguments } from "./contract.ts";
import { serverFault, tooLargeFault } from "./sql/source.ts";

const standardPort = 6_379;
const functions = ["key_value", "key_json"];

/** Commands that answer the whole value of a key, by the key's kind. */
const readers: Readonly<Record<string, readonly string[]>> = {
  string: ["GET"],
  hash: ["HGETALL"],
  list: ["LRANGE", "0", "-1"],
  set: ["SMEMBERS"],
  zset: ["ZRANGE", "0", "-1"],
};

function functionOf(args: SourceArguments): string {
  const name = strOf(args.get("function") ?? null);
  if (!functions.includes(name)) throw sourceFault(`the function ${name} is not available here`);
  const unknown = [...args.keys()].find((key) => key !== "function" && key !== "pillar_key");
  if (unknown !== undefined) throw sourceFault(`${name}() got an unexpected keyword argument '${unknown}'`);
  return name;
}

/** Commands that answer the length of a key's value: bytes of a text, members of the others. */
const lengths: Readonly<Record<string, string>> = {
  string: "STRLEN",
  hash: "HLEN",
  list: "LLEN",
  set: "SCARD",
  zset: "ZCARD",
};

/** The client gives a value only when all of it is in memory. @throws SaltworksError PILLAR_FAILED for a key whose value would be too large */
async function refuseLarge(client: RedisClient, kind: string, id: string): Promise<void> {
  const length = Number(await client.sendCommand([lengths[kind] ?? "STRLEN", id]));
  // A member is at least a byte of the answer.
  if (length > extPillarBytesMax) throw tooLargeFault();
  if (kind === "string") return;
  try {
    const bytes = Number(await client.sendCommand(["MEMORY", "USAGE", id, "SAMPLES", "0"]));
    if (bytes > extPillarReceivedBytesMax) throw tooLargeFault();
  } catch (error) {
    // A user without the right to this command still reads the key.
    if (error instanceof SaltworksError || !/^(?:NOPERM|ERR) /.test((error as Error).message)) throw error;
  }
}

/** `[kind, value]`. */
async function keyedValue(client: RedisClient, name: string, id: string): Promise<[string, Value]> {
  if (name === "key_json") {
    await refuseLarge(client, "string", id);
    return ["string", (await client.sendCommand(["GET", id])) as Value];
  }
  const kind = String(await client.sendCommand(["TYPE", id]));
  const [command, ...rest] = Object.hasOwn(readers, kind) ? (readers[kind] ?? []) : [];
  if (command === undefined) return [kind, null];
  await refuseLarge(client, kind, id);
  const value = (await client.sendCommand([command, id, ...rest])) as Value;
  return [kind, value];
}

function pairs(list: readonly Value[]): ValueMap {
  const map: ValueMap = new Map();
  for (let at = 0; at + 1 < list.length; at += 2) map.set(list[at] ?? null, list[at + 1] ?? null);
  return map;
}

/** Members of a set in sorted order, so that a set always gives the same pillar. */
function shaped(kind: string, value: Value): Value {
  if (!Array.isArray(value)) return value;
  if (kind === "hash") return pairs(value);
  return kind === "set" ? value.toSorted() : value;
}

function keyValue(args: SourceArguments, kind: string, value: Value): ValueMap {
  const isEmptyList = Array.isArray(value) && value.length === 0;
  if (!Object.hasOwn(readers, kind) || isEmptyList) return new Map();
  return new Map([[args.get("pillar_key") ?? "redis_pillar", shaped(kind, value)]]);
}

function keyJson(args: SourceArguments, text: Value): ValueMap {
  if (typeof text !== "string" || text === "") return new Map();
  let data: Value;
  try {
    data = dataOf(readJson(text));
  } catch (error) {
    // Without the reader's message, which may quote a secret.
    throw Object.assign(sourceFault("JSON data of the key failed to parse"), { cause: error });
  }
  const key = args.get("pillar_key") ?? null;
  if (isTrue(key)) return new Map([[key, data]]);
  return data instanceof Map ? data : new Map([["redis_pillar", data]]);
}

export const redis: ExternalSource = {
  parameters: ["function"],
  requiredCount: 1,
  takes: "keywords",
  // A minion that may ask for this source gets nothing but its own key, but under a name that it chooses.
  isForMinions: false,
  packageName,
  ask: async (args, { id, option, timeoutMs, signal }) => {
    requirePackage("ext_pillar: redis", packageName);
    const name = functionOf(args);
    const host = strOf((option("redis.host") ?? "localhost") as Value);
    const port = Number(option("redis.port") ?? standardPort);
    const password = option("redis.password");
    const client = createRedisClient({
      socket: { host, port, connectTimeout: timeoutMs, reconnectStrategy: false },
      database: Number(option("redis.db") ?? 0),
      ...(typeof password === "string" && password !== "" ? { password } : {}),
      RESP: 2,
      disableOfflineQueue: true,
    });
    client.on("error", () => undefined);
    const end = () => {
      if (client.isOpen) client.destroy();
    };
    signal.addEventListener("abort", end);
    try {
      await client.connect();
      return encode(await keyedValue(client, name, id), "bin");
    } catch (error) {
      throw serverFault(`${host}:${port}`, error);
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  },
  read: ({ reply }, args) => {
    const [kind, value] = decode(reply()) as [string, Value];
    return functionOf(args) === "key_json" ? keyJson(args, value) : keyValue(args, kind, value);
  },
};
