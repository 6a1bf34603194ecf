/** Runs one chunk through its client. The master checks every permission. */
import type { Login, Sender } from "../../client/credentials.ts";
import { MasterClient } from "../../client/master-client.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { ApiError } from "../http/errors.ts";
import { WrittenOnce } from "../http/json-text.ts";
import type { Api } from "../sessions/context.ts";
import type { Chunk } from "./chunk.ts";
import type { Deadline } from "./deadline.ts";
import { jobOf, type OnEntry, runBatch, runLocal, startLocal, subsetOf } from "./local.ts";
import { runRunner, runWheel, startRunner, startWheel } from "./master-calls.ts";

/** `sender` tells the master of the HTTP client's address; a token needs none. */
export type Caller = { readonly proof: Login; readonly sender?: Sender };
export type CallersChunk = Caller & { readonly chunk: Chunk };

export function clientFor(api: Api, caller: Caller): MasterClient {
  return MasterClient.sharing(api.config, { user: "", ...caller }, api.shared);
}

/** Wheel functions that only read. */
const reading: ReadonlySet<Value | undefined> = new Set(["key.list_all", "minions.connected", "config.values"]);

/** Equal calls of one session from one address share their answer, with its job id. */
async function wheelOf(api: Api, client: MasterClient, fields: ValueMap, { proof, sender }: Caller) {
  const fun = fields.get("fun");
  const call = () => runWheel(client, fields);
  // `client` and `fun` alone: no arguments.
  if (!("token" in proof) || fields.size !== 2 || !reading.has(fun)) return await call();
  const shared = async () => new WrittenOnce(Object.entries(await call()));
  return await api.wheelCalls.ask(`${sender?.client_address} ${fun} ${proof.token}`, shared);
}

/** The items of the answer: one, except for `local_batch`. @throws ApiError, 504 if `deadline` has passed; SaltworksError */
export async function runChunk(
  api: Api,
  { client: name, fields }: Chunk,
  caller: Caller,
  deadline: Deadline,
  onEntry?: OnEntry,
): Promise<Encodable[]> {
  if (deadline.isPassed)
    throw new ApiError("DEADLINE_PASSED", "The request has ended before all of its commands began");
  const client = clientFor(api, caller);
  const isFull = fields.get("full_return") === true;
  const found = new Map<string, Encodable>();
  const take: OnEntry = (id, value) => {
    found.set(id, value);
    onEntry?.(id, value);
  };
  switch (name) {
    case "local":
      await runLocal(client, jobOf(api.config, fields), isFull, deadline.signal, take);
      return [found];
    case "local_subset": {
      const asked = jobOf(api.config, fields);
      const job = await subsetOf(client, asked, fields);
      await runLocal(client, { ...job, follow: asked.follow }, isFull, deadline.signal, take);
      return [found];
    }
    case "local_batch":
      await runBatch(client, jobOf(api.config, fields), fields, deadline.signal, take);
      return [...found].map(([id, value]) => (fields.get("raw") === true ? value : new Map([[id, value]])));
    case "local_async":
      return [await startLocal(client, jobOf(api.config, fields), fields)];
    case "runner":
      return [await runRunner(client, fields, deadline.signal)];
    case "runner_async":
      return [await startRunner(client, fields)];
    case "wheel":
      return [await wheelOf(api, client, fields, caller)];
    case "wheel_async":
      return [await startWheel(client, fields)];
  }
}
