/** Returner `mongo`: a document of Salt's collection `saltReturns` in MongoDB. Source: Salt 3007's `mongo_future_return`. */
import { returnerConnectMs } from "../../../limits.ts";
import { printedOf, strOf } from "../../../python/repr.ts";
import { Ext, Float, type Value, type ValueMap } from "../../../wire/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { memberOf } from "../contract/fields.ts";
import type { Returner } from "../contract/returner.ts";
import type { Options } from "../contract/settings.ts";

type Collection = {
  insertOne(document: { readonly [field: string]: unknown }): Promise<unknown>;
  createIndex(field: string): Promise<unknown>;
};
type Client = {
  connect(): Promise<unknown>;
  db(name: string): { collection(name: string): Collection };
  close(): Promise<void>;
};
/** What this returner uses of the library. */
type MongoDb = {
  readonly MongoClient: new (uri: string, options: { readonly [name: string]: unknown }) => Client;
  readonly Double: new (value: number) => object;
  readonly Long: { fromNumber(value: number): object };
};

const library = { specifier: "mongodb", install: "mongodb@7" };
/** What Salt makes with `mongo.indexes`: `jobs` and `events` too, which other programs fill. */
const indexes = [
  ["saltReturns", "minion"],
  ["saltReturns", "jid"],
  ["jobs", "jid"],
  ["events", "tag"],
] as const;

export const mongoReturner: Returner = {
  name: "mongo",
  doc: describe("Stores the return as a document of MongoDB.", "test.ping --return mongo"),
  libraries: [library],
  returner: async ({ ret, settings, load, signal }) => {
    const options = settings.of("mongo", {
      ...{ host: undefined, port: undefined, db: undefined, user: undefined, password: undefined },
      ...{ indexes: undefined, uri: undefined },
    });
    const { uri, database, ...login } = placeOf(options);
    const driver = await load<MongoDb>(library);
    const client = new driver.MongoClient(uri, {
      ...timeoutsBeside(uri),
      ...login,
      maxPoolSize: 1,
      retryWrites: false,
    });
    const close = () => void client.close().catch(() => undefined);
    signal.addEventListener("abort", close);
    try {
      await client.connect();
      const db = client.db(database);
      if (options.isOn("indexes")) {
        for (const [collection, field] of indexes) await db.collection(collection).createIndex(field);
      }
      await db.collection("saltReturns").insertOne(documentOf(ret, driver));
    } finally {
      signal.removeEventListener("abort", close);
      await client.close();
    }
  },
};

/** Without the timeouts that the address sets itself. */
function timeoutsBeside(uri: string): { readonly [name: string]: number } {
  const names = ["serverSelectionTimeoutMS", "connectTimeoutMS"].filter((name) => !uri.includes(`${name}=`));
  return Object.fromEntries(names.map((name) => [name, returnerConnectMs]));
}

type Place = {
  readonly uri: string;
  readonly database: string;
  readonly auth?: { readonly username: string; readonly password: string };
};

function placeOf(options: Options): Place {
  const uri = options.text("uri");
  if (uri !== undefined) {
    if (options.has("host")) throw returnerError("mongo.uri and mongo.host are both set");
    const database = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(uri)?.[1];
    if (database === undefined) throw returnerError("mongo.uri names no database");
    return { uri, database: decodeURIComponent(database) };
  }
  const host = options.text("host") ?? "localhost";
  const place = { uri: `mongodb://${host}:${options.port("port", 27_017)}`, database: options.demand("db") };
  const [username, password] = [options.text("user"), options.text("password")];
  return username === undefined || password === undefined ? place : { ...place, auth: { username, password } };
}

function documentOf(ret: ValueMap, driver: MongoDb): { readonly [field: string]: unknown } {
  const stored = (value: Value) => bsonOf(value instanceof Map ? withoutDots(value) : value, driver);
  return {
    minion: stored(memberOf(ret, "id")),
    jid: stored(memberOf(ret, "jid")),
    return: stored(memberOf(ret, "return")),
    fun: stored(memberOf(ret, "fun")),
    full_ret: stored(ret),
    ...(ret.has("out") ? { out: stored(memberOf(ret, "out")) } : {}),
  };
}

/** Dots in names become dashes, except in maps that are members of lists. */
function withoutDots(map: ValueMap): ValueMap {
  const members = Array.from(map, ([key, member]): [Value, Value] => {
    const name = typeof key === "string" ? key : strOf(key);
    return [name.replaceAll(".", "-"), member instanceof Map ? withoutDots(member) : member];
  });
  return new Map(members);
}

const int32Max = 2 ** 31 - 1;
const int64Max = 2n ** 63n - 1n;

/** Integers and floats as BSON's types for them: the library would store 1.0 as an integer, and 2^40 as a float. */
function bsonOf(value: Value, driver: MongoDb): unknown {
  if (value instanceof Float) return new driver.Double(value.value);
  if (value instanceof Map) {
    return new Map(Array.from(value, ([key, member]) => [printedOf(key), bsonOf(member, driver)]));
  }
  if (Array.isArray(value)) return value.map((member) => bsonOf(member, driver));
  if (typeof value === "number") {
    const isLarge = Number.isInteger(value) && (value > int32Max || value < -int32Max - 1);
    return isLarge ? driver.Long.fromNumber(value) : value;
  }
  if (typeof value === "bigint" && (value > int64Max || value < -int64Max - 1n)) {
    throw returnerError(`MongoDB has no integer as large as ${value}`);
  }
  if (value instanceof Ext) throw returnerError("a value of the return has no form in BSON");
  return value;
}
