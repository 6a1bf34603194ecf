/** The clients for jobs on minions: `local`, `local_async`, `local_subset` and `local_batch`. */
import type { JobRequest } from "../../client/job-request.ts";
import type { MasterClient } from "../../client/master-client.ts";
import type { JobEvent } from "../../client/running-job.ts";
import type { MasterConfig } from "../../config/load.ts";
import { parseShare } from "../../wire/batch-options.ts";
import { textField } from "../../wire/fields.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { ApiError } from "../http/errors.ts";

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
  if (Array.isArray(written)) return { target: written.map(String), targetKind };
  const target = String(written ?? "");
  return targetKind === "list"
    ? { target: target.split(",").map((id) => id.trim()), targetKind }
    : { target, targetKind };
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
  const written = fields.get(name);
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
    return [event.id, isFull ? { out: "no_return", ret, retcode: 1, jid } : ret];
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
    if (signal.aborted) throw new ApiError(504, lateText);
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

export async function startLocal(client: MasterClient, job: JobRequest): Promise<Encodable> {
  const { follow: _follow, ...request } = job;
  const published = await client.publish(request);
  return published === undefined ? {} : { jid: published.jid, minions: published.minions };
}

const subsetDefault = 3;

/** A part of the target's minions, at random. @throws as `runLocal` */
export async function subsetOf(
  client: MasterClient,
  job: JobRequest,
  fields: ValueMap,
): Promise<JobRequest | undefined> {
  const size = Math.floor(secondsIn(fields, "subset", secondsIn(fields, "sub", subsetDefault)));
  const ids = [...(await client.matchTarget({ ...job, delimiter: String(job.kwargs?.delimiter ?? ":") }))];
  for (let index = ids.length - 1; index > 0; index -= 1) {
    const other = Math.floor(Math.random() * (index + 1));
    [ids[index], ids[other]] = [ids[other] ?? "", ids[index] ?? ""];
  }
  const chosen = ids.slice(0, Math.max(1, size));
  return chosen.length === 0 ? undefined : { ...job, target: chosen, targetKind: "list" };
}

/** @throws ApiError 400, 501, 504 at the deadline; SaltworksError as `MasterClient.batch` */
export async function runBatch(
  client: MasterClient,
  job: JobRequest,
  fields: ValueMap,
  signal: AbortSignal,
  onEntry: OnEntry,
): Promise<void> {
  const written = fields.get("batch") ?? "10%";
  const size = String(written);
  if (parseShare(size) === undefined) throw new ApiError(400, `Invalid batch size: ${size.slice(0, 100)}`);
  if (fields.get("raw") === true) throw new ApiError(501, "'raw' of local_batch is not available in this release");
  const batch = {
    size,
    waitSeconds: secondsIn(fields, "batch_wait", 0),
    isFailHard: fields.get("failhard") === true,
    canary: Math.floor(secondsIn(fields, "canary", 0)),
    failuresMax: fields.has("max_failures") ? String(fields.get("max_failures")) : undefined,
    isStatic: false,
  };
  const running = await client.batch({ ...job, batch });
  if (running === undefined) return;
  const lateText = `The batch ${running.jid} is not over: the master continues it`;
  await follow(running, signal, lateText, ({ returned }) => {
    if (returned) onEntry(returned.id, returned.value);
  });
}
