/** Options of a chunk that say how a job reaches its minions: in a batch, or also minions that come later. */
import { durationForm, parseDuration } from "../../config/duration.ts";
import { type BatchOptions, readBatchOptions } from "../../wire/batch-options.ts";
import { plainNumber, type Value, type ValueMap } from "../../wire/values.ts";
import { ApiError } from "../http/errors.ts";

/** Salt's default for the client `local_batch`. */
const sizeDefault = "10%";
const known: ReadonlySet<Value> = new Set([
  ..."batch batch_size batch_wait batch_max_failures canary failhard deliver_within".split(" "),
  // Salt's, for its own way to run batches. They have no effect here.
  ..."batch_delay batch_presence_ping_timeout batch_presence_ping_gather_job_timeout".split(" "),
]);
/** A misspelt name of one of these would change what the job does. Other unknown members are ignored, as in Salt. */
const alike = /^(?:batch|can[ae]r|deliver|max_?fail|fail_?hard)/;

function given(fields: ValueMap, name: string): Value | undefined {
  const value = plainNumber(fields.get(name));
  return value === undefined || value === null || value === "" ? undefined : value;
}

/** The batch that a chunk asks for. Undefined if it is none. @throws ApiError 400 */
export function batchOf(client: string, fields: ValueMap): BatchOptions | undefined {
  const size = given(fields, "batch") ?? given(fields, "batch_size");
  if (client !== "local_batch" && (client !== "local_async" || size === undefined)) return undefined;
  const failhard = given(fields, "failhard") ?? false;
  const isFailHard = failhard === true || /^true$/i.test(String(failhard));
  if (!isFailHard && failhard !== false && !/^false$/i.test(String(failhard)))
    throw new ApiError("ARGUMENT_INVALID", "'failhard' is true or false");
  const [options, fault] = readBatchOptions(
    new Map<Value, Value>([
      ["size", size ?? sizeDefault],
      ["wait", given(fields, "batch_wait") ?? null],
      ["failhard", isFailHard],
      ["canary", given(fields, "canary") ?? null],
      ["max_failures", given(fields, "batch_max_failures") ?? ""],
    ]),
  );
  if (options === undefined) throw new ApiError("ARGUMENT_INVALID", fault.slice(0, 200));
  return options;
}

/** Checks that options belong together. @throws ApiError 400 with the option's name */
export function checkJobOptions(client: string, fields: ValueMap): void {
  for (const name of fields.keys())
    if (typeof name === "string" && alike.test(name) && !known.has(name))
      throw new ApiError("ARGUMENT_INVALID", `The option '${name.slice(0, 100)}' is unknown`);
  const isBatch = batchOf(client, fields) !== undefined;
  for (const name of ["canary", "batch_max_failures"])
    if (!isBatch && given(fields, name) !== undefined)
      throw new ApiError(
        "ARGUMENT_INVALID",
        `'${name}' needs a batch: the client local_batch, or local_async with 'batch'`,
      );
  const within = given(fields, "deliver_within");
  if (within === undefined) return;
  if (isBatch)
    throw new ApiError(
      "ARGUMENT_INVALID",
      "'deliver_within' cannot be combined with 'batch', which takes the minions that answer now",
    );
  if (client === "local_subset")
    throw new ApiError("ARGUMENT_INVALID", "'deliver_within' cannot be combined with the client local_subset");
  if (parseDuration(String(within)) === undefined)
    throw new ApiError(
      "ARGUMENT_INVALID",
      `'deliver_within' must be ${durationForm}, not '${String(within).slice(0, 40)}'`,
    );
}
