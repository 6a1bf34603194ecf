/** The clients for jobs on minions: `local`, `local_async`, `local_subset` and `local_batch`. */
import type { JobRequest } from "../../client/job-request.ts";
import type { MasterClient } from "../../client/master-client.ts";
import type { JobEvent } from "../../client/running-job.ts";
import type { MasterConfig } from "../../config/load.ts";
import { textField } from "../../wire/fields.ts";
import { type Encodable, plainNumber, type Value, type ValueMap } from "../../wire/values.ts";
import { ApiError } from "../http/errors.ts";
import { batchOf } from "./batch-options.ts";

/** Members of a chunk that the job carries to the master, beside its target and function. */
const carried = [
  "metadata",
  "delimiter",
  "ret_config",
  "ret_kwargs",
  "module_executors",
  "executor_opts",
  "deliver_within",
] as const;

type Entry = readonly [id: string, value: Encodable];
export type OnEntry = (id: string, value: Encodable) => void;

function targetOf(fields: ValueMap): { readonly target: string | readonly string[]; readonly targetKind: string } {
  const targetKind = textField(fields, "tgt_type") ?? textField(fields, "expr_form") ?? "glob";
  const written = fields.get("tgt");
  // A list as a text stays one: minions and job records show the target as it was written, as in Salt.
  if (Array.isArray(written)) return { target: written.map(String), targetKind };
  const target = String(written ?? "");
  return { target: targetKind === "list" ? target.trim().replaceAll(/\s*,\s*/g, ",") : target, targetKind };
}

function listOf(value: Value | undefined): Value[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Arguments with the map of keywords behind them, for each of several functions. */
function argumentsOf(fields: ValueMap): Value[] {
  const args = listOf(fields.get("arg"));
  const kwarg = fields.get("kwarg");
  if (!(kwarg instanceof Map) || kwarg.size === 0) return args;
  const named: Value = new Map<Value, Value>([["__kwarg__", true], ...kwarg]);
  return Array.isArray(fields.get("fun")) ? args.map((list) => [...listOf(list), named]) : [...args, named];
}

function secondsIn(fields: ValueMap, name: string, otherwise: number): number {
  const written = plainNumber(fields.get(name));
  const value = typeof written === "string" ? Number(written) : written;
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : otherwise;
}

export function jobOf(config: MasterConfig, fields: ValueMap) {
  const fun = fields.get("fun");
  const jid = textField(fields, "jid");
  const kwargs = Object.fromEntries(carried.flatMap((name) => (fields.has(name) ? [[name, fields.get(name)]] : [])));
  return {
    ...targetOf(fields),
    fun: Array.isArray(fun) ? fun.map(String) : String(fun),
    args: argumentsOf(fields),
    ret: textField(fields, "ret") ?? "",
    ...(jid ? { jid } : {}),
    kwargs: { delimiter: ":", ...kwargs },
    follow: {
      timeoutSeconds: secondsIn(fields, "timeout", config.timeout),
      gatherTimeoutSeconds: secondsIn(fields, "gather_job_timeout", config.gather_job_timeout),
      leavesAbsent: !fields.has("deliver_within"),
    },
  } satisfies JobRequest;
}

function noReturnText(jid: string): string {
  return `Minion did not return. [No response]\nThe minions may not have all finished running and any remaining minions will return upon completion. To look up the return data for this job later, run the following command:\n\nsalt-run jobs.lookup_jid ${jid}`;
}

function entryOf(event: JobEvent, jid: string, isFull: boolean): Entry {
  if (event.kind === "silent") return [event.id, false];
  if (event.kind === "unknown") {
    const ret = noReturnText(jid);
    return [event.id, isFull ? { out: "no_return", ret, retcode: 1 } : ret];
  }
  const { id, value, retcode, outputter } = event;
  if (!isFull) return [id, value];
  return [id, { ret: value, retcode, jid, ...(outputter === undefined ? {} : { out: outputter }) }];
}

type Running<Event> = { readonly jid: string; readonly events: () => AsyncIterable<Event>; readonly close: () => void };

/** Takes events until the end of what runs. @throws ApiError 504 at the deadline, which leaves it to the master */
async function follow<Event>(
  running: Running<Event>,
  signal: AbortSignal,
  lateText: string,
  take: (event: Event) => void,
): Promise<void> {
  const end = () => running.close();
  signal.addEventListener("abort", end, { once: true });
  try {
    for await (const event of running.events()) take(event);
  } catch (error) {
    if (signal.aborted) throw new ApiError("DEADLINE_PASSED", lateText);
    throw error;
  } finally {
    signal.removeEventListener("abort", end);
    running.close();
  }
}

/** @throws ApiError 504 at the deadline; SaltworksError as `MasterClient.run` */
export async function runLocal(
  client: MasterClient,
  job: JobRequest & { readonly follow: NonNullable<JobRequest["follow"]> },
  isFull: boolean,
  signal: AbortSignal,
  onEntry: OnEntry,
): Promise<void> {
  const running = await client.run(job);
  if (running === undefined) return;
  const lateText = `The job ${running.jid} is not over: jobs.lookup_jid shows its results`;
  await follow(running, signal, lateText, (event) => onEntry(...entryOf(event, running.jid, isFull)));
}

/** Starts a job, or a batch that the master runs. @throws ApiError 400; SaltworksError as `MasterClient.publish` */
export async function startLocal(client: MasterClient, job: JobRequest, fields: ValueMap): Promise<Encodable> {
  const { follow: _follow, ...request } = job;
  const batch = batchOf("local_async", fields);
  const published = await client.publish(batch === undefined ? request : { ...request, batch });
  return published === undefined ? {} : { jid: published.jid, minions: published.minions };
}

const subsetDefault = 3;

/** A part of the target's minions, at random. @throws as `runLocal` */
export async function subsetOf(client: MasterClient, job: JobRequest, fields: ValueMap): Promise<JobRequest> {
  const size = Math.floor(secondsIn(fields, "subset", secondsIn(fields, "sub", subsetDefault)));
  const ids = [...(await client.matchTarget({ ...job, delimiter: String(job.kwargs?.delimiter ?? ":") }))];
  for (let index = ids.length - 1; index > 0; index -= 1) {
    const other = Math.floor(Math.random() * (index + 1));
    [ids[index], ids[other]] = [ids[other] ?? "", ids[index] ?? ""];
  }
  const chosen = ids.slice(0, Math.max(1, size));
  // Also where nothing matches: the master then says whether the user may call the function at all.
  return { ...job, target: chosen, targetKind: "list" };
}

/** With `raw` each value is the event of the return. @throws ApiError 400, 504 at the deadline; SaltworksError as `MasterClient.batch` */
export async function runBatch(
  client: MasterClient,
  job: JobRequest,
  fields: ValueMap,
  signal: AbortSignal,
  onEntry: OnEntry,
): Promise<void> {
  const isRaw = fields.get("raw") === true;
  const batch = batchOf("local_batch", fields);
  if (batch === undefined) return;
  const running = await client.batch({ ...job, batch });
  if (running === undefined) return;
  const lateText = `The batch ${running.jid} is not over: the master continues it`;
  await follow(running, signal, lateText, ({ entry, returned, load }) => {
    if (returned === undefined || entry.kind !== "return") return;
    const { id } = returned;
    const data = load ?? { id, jid: entry.jid, return: returned.value, retcode: entry.retcode };
    onEntry(id, isRaw ? { data, tag: `salt/job/${entry.jid}/ret/${id}` } : returned.value);
  });
}
