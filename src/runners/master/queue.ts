/** Runner `queue`: lists of items in files of SQLite below `sqlite_queue_dir`, the same as Salt's. Source: Salt 3007's runner of this name, observed. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { versions } from "node:process";
import { packageName, type SqliteRow } from "../../databases/sqlite3/client.ts";
import { SqliteFile, type SqliteStatements } from "../../databases/sqlite3/file.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { dumpJson, loadJson } from "../../python/json.ts";
import type { Item } from "../../python/values.ts";
import { encode } from "../../wire/msgpack.ts";
import { asValue, type Encodable, type Value, type ValueMap } from "../../wire/values.ts";
import { isGivenTrue, parametersOf, textArgument } from "../contract/arguments.ts";
import { progress } from "../contract/caller-events.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

const directoryMode = 0o700;
const waitSeconds = 5;
/** A name of a table that is also the name of a file. */
const namePattern = /^\w[\w-]{0,127}$/;
const suffix = ".db";

function wrong(text: string): SaltworksError {
  return new SaltworksError("FUNCTION_ARGUMENTS", text, { name: "queue" });
}

/** One queue: a file with a table of its own name. */
class Queue {
  readonly name: string;
  readonly #path: string;
  readonly #directory: string;

  constructor({ config }: RunnerContext, args: ValueMap) {
    const backend = textArgument(args, "backend", "sqlite");
    if (backend !== "sqlite") throw wrong(`queues in '${backend}' need a Python with Salt: here there is only sqlite`);
    this.name = textArgument(args, "queue");
    if (!namePattern.test(this.name)) throw wrong("a queue's name has letters, digits, '_' and '-' only");
    this.#directory = config.sqlite_queue_dir;
    this.#path = join(this.#directory, this.name + suffix);
  }

  get table(): string {
    return `"${this.name}"`;
  }

  /** Runs statements in a transaction; undefined without the file, which is made with `isMade`. */
  async within<Result>(isMade: boolean, step: (prepared: SqliteStatements) => Result): Promise<Result | undefined> {
    if (!isMade && !existsSync(this.#path)) return undefined;
    if (!isBuiltin(packageName)) {
      const text = `queues need ${packageName}, which Node.js ${versions.node} does not have, or a Python with Salt`;
      throw new SaltworksError("FUNCTION_FAILED", text, { name: "queue" });
    }
    const file = new SqliteFile({ "sqlite3.database": this.#path, "sqlite3.timeout": waitSeconds });
    try {
      mkdirSync(this.#directory, { recursive: true, mode: directoryMode });
      file.make();
      return await file.transaction((prepared) => {
        prepared(`CREATE TABLE IF NOT EXISTS ${this.table}(id INTEGER PRIMARY KEY, name TEXT UNIQUE)`).run();
        return step(prepared);
      });
    } finally {
      file.close();
    }
  }
}

/** Items as Salt's queues hold them, so that both masters find them: a map as JSON with single quotes, and quotes in lists twice. */
function itemsOf(args: ValueMap): readonly string[] {
  const items = args.get("items") ?? null;
  const all = Array.isArray(items) ? items : [items];
  return all.map((item: Value) => {
    if (typeof item === "string") return Array.isArray(items) ? item.replaceAll("'", "''") : item;
    if (item instanceof Map && !Array.isArray(items))
      return dumpJson(item as Item, { sortsKeys: false, isAscii: false, indent: undefined }).replaceAll('"', "'");
    throw wrong("items must be a text, a list of texts, or a map; quote a number to make it a text");
  });
}

async function insert(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const queue = new Queue(context, args);
  const items = itemsOf(args);
  try {
    await queue.within(true, (prepared) => {
      for (const item of items) prepared(`INSERT INTO ${queue.table}(name) VALUES(?)`).run(item);
    });
    return true;
  } catch (error) {
    if (!hasCode(error, "DATABASE_REFUSED")) throw error;
    const which = Array.isArray(args.get("items")) ? "One or more items" : "Item";
    return `${which} already exists in this queue. sqlite error: UNIQUE constraint failed: ${queue.name}.name`;
  }
}

async function remove(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const queue = new Queue(context, args);
  const items = itemsOf(args);
  await queue.within(false, (prepared) => {
    for (const item of items) prepared(`DELETE FROM ${queue.table} WHERE name = ?`).run(item);
  });
  return true;
}

async function listed(context: RunnerContext, args: ValueMap): Promise<readonly string[]> {
  const queue = new Queue(context, args);
  return (await queue.within(false, (prepared) => names(prepared(`SELECT name FROM ${queue.table}`).all()))) ?? [];
}

function names(rows: readonly SqliteRow[]): readonly string[] {
  return rows.map(({ name }) => String(name));
}

async function pop(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const queue = new Queue(context, args);
  const quantity = args.get("quantity") ?? 1;
  const count = quantity === "all" ? -1 : Number(quantity);
  if (!Number.isInteger(count) || (count < 0 && quantity !== "all"))
    throw wrong('Quantity must be an integer or "all".');
  const taken = await queue.within(false, (prepared) => {
    const found = names(prepared(`SELECT name FROM ${queue.table} LIMIT ?`).all(count));
    for (const name of found) prepared(`DELETE FROM ${queue.table} WHERE name = ?`).run(name);
    // Inside the transaction: an item that is not a runner's stays in the queue.
    return isGivenTrue(args, "is_runner")
      ? found.map((name) => asValue(loadJson(name.replaceAll("'", '"')) as Encodable))
      : found;
  });
  return (taken ?? []) as Encodable;
}

async function process(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  let items: Encodable;
  try {
    items = await pop(context, args);
  } catch (error) {
    if (!hasCode(error, "FUNCTION_ARGUMENTS")) throw error;
    await progress(context, { errors: (error as Error).message });
    return false;
  }
  const queue = textArgument(args, "queue");
  const data = { items, backend: textArgument(args, "backend", "sqlite"), queue };
  await masterOf(context).fire({ tag: `salt/queue/${queue}/process`, data: encode(data, "bin") });
  return data;
}

function queuesOf({ config }: RunnerContext): Encodable {
  const directory = config.sqlite_queue_dir;
  const files = existsSync(directory) ? readdirSync(directory) : [];
  return files
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .sort();
}

/** Backends other than SQLite are plug-ins of Salt's. Node.js 20 has no SQLite. */
function isOfPython(args: ValueMap): boolean {
  return textArgument(args, "backend", "sqlite") !== "sqlite" || !isBuiltin(packageName);
}

const functions: readonly (readonly [string, Omit<RunnerFunction, "runsInPython" | "parameters">, ...string[]])[] = [
  [
    "insert",
    { doc: "Adds an item, or a list of items, to a queue.", isOffline: true, run: insert },
    "queue!",
    "items!",
  ],
  [
    "delete",
    { doc: "Removes an item, or a list of items, from a queue.", isOffline: true, run: remove },
    "queue!",
    "items!",
  ],
  ["list_queues", { doc: "The names of the queues.", isOffline: true, run: queuesOf }],
  ["list_items", { doc: "The items of a queue.", isOffline: true, run: listed }, "queue!"],
  [
    "list_length",
    {
      doc: "The number of items in a queue.",
      isOffline: true,
      run: async (...asked) => (await listed(asked[0], asked[1])).length,
    },
    "queue!",
  ],
  [
    "pop",
    { doc: "Takes items out of a queue: `quantity` of them, or all.", isOffline: true, run: pop },
    "queue!",
    "quantity",
  ],
  [
    "process_queue",
    { doc: "Takes items out of a queue, and fires them as the event salt/queue/QUEUE/process.", run: process },
    "queue!",
    "quantity",
  ],
];

const afterBackend: Readonly<Record<string, readonly string[]>> = { pop: ["is_runner"], process_queue: ["is_runner"] };

export const queueRunner: ReadonlyMap<string, RunnerFunction> = new Map(
  functions.map(([name, described, ...before]) => [
    `queue.${name}`,
    {
      ...described,
      parameters: parametersOf(...before, "backend", ...(afterBackend[name] ?? [])),
      runsInPython: isOfPython,
    },
  ]),
);
