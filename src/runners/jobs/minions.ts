/** Runner function `jobs.minions`: a job's minions page by page, each with its state and the reason why it is missing. */
import { SaltworksError } from "../../errors.ts";
import { listedPageMinions } from "../../limits.ts";
import { startTimeText } from "../../wire/jid.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type {
  JobStatus,
  JobStatusQuestion,
  MinionStatus,
  RunnerContext,
  RunnerFunction,
} from "../contract/contract.ts";
import { firstById, minionFilter } from "../contract/minion-pages.ts";
import { findStatus, minionStates, shownMinion, timeText, unknownJob } from "./status.ts";
import { fieldsOf } from "./stored-body.ts";

/** A name in the target without an accepted key. */
const unknownState = "unknown";

async function minions(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = textArgument(args, "jid");
  // Before the states are read: a change in between is then told again, not lost.
  const nowMs = Date.now();
  const question = questionOf(jid, args);
  const found = (await isVisible(context, jid)) ? await findStatus(context, question) : undefined;
  if (found === undefined) return { Error: unknownJob };
  const names = context.caller?.isOwnOnly === true ? withoutReasons(found) : found;
  const { page, next } = pageOf(names, question);
  const waits = found.waitsUntilMs;
  return new Map<string, Encodable>([
    ["Function", found.fun],
    ["StartTime", startTimeText(jid)],
    ["Over", found.overMs !== undefined],
    ...(waits === undefined ? [] : [["Waits-until", timeText(waits)] as const]),
    ["Counts", new Map(Object.entries({ ...found.counts, [unknownState]: found.unknown.size }))],
    ["Minions", new Map(page.map(shownMinion))],
    ["Now", nowMs],
    ["Next", next ?? null],
  ]);
}

/** @throws SaltworksError FUNCTION_ARGUMENTS */
function questionOf(jid: string, args: ValueMap): JobStatusQuestion {
  const textIn = (name: string) => textArgument(args, name) || undefined;
  const state = textIn("state");
  if (state !== undefined && ![...minionStates, unknownState].includes(state))
    throw new SaltworksError("FUNCTION_ARGUMENTS", `a state is one of ${minionStates.join(", ")}, ${unknownState}`);
  const { usual, most } = listedPageMinions;
  const countMax = numberIn(args.get("limit"), usual);
  if (!(countMax >= 1 && countMax <= most))
    throw new SaltworksError("FUNCTION_ARGUMENTS", `a page has 1 to ${most} minions`);
  const sinceMs = args.get("since_ms") === undefined ? undefined : numberIn(args.get("since_ms"), 0);
  return { jid, minion: textIn("minion"), state, countMax, after: textArgument(args, "after"), sinceMs };
}

function numberIn(value: Value | undefined, otherwise: number): number {
  const count = value === undefined || value === null ? otherwise : Number(value);
  return Number.isSafeInteger(count) ? count : Number.NaN;
}

/** A caller without a grant for this function sees its own jobs only; another's job is to it as one that does not exist. */
async function isVisible({ caller, jobs }: RunnerContext, jid: string): Promise<boolean> {
  if (caller?.isOwnOnly !== true) return true;
  const load = await jobs.request(jid);
  return load !== undefined && fieldsOf(load).get("user") === caller.user;
}

/** The state of a key is not for a restricted user, which may name any minion in a target. */
function withoutReasons(found: JobStatus): JobStatus {
  return { ...found, unknown: new Map([...found.unknown].map(([name]) => [name, ""])) };
}

function pageOf(
  { minions: known, omitted, unknown }: JobStatus,
  question: JobStatusQuestion,
): { readonly page: readonly MinionStatus[]; readonly next: string | undefined } {
  const isWanted = minionFilter({ ...question, sinceMs: undefined });
  const names = question.sinceMs ? [] : [...unknown];
  const others = names
    .map(([id, reason]): MinionStatus => ({ id, state: unknownState, atMs: 0, reason: reason || undefined }))
    .filter(isWanted);
  const all = [...known, ...others];
  const page = firstById(all, question.countMax);
  return { page, next: omitted > 0 || all.length > page.length ? page.at(-1)?.id : undefined };
}

export const jobMinionsRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "jobs.minions",
    {
      parameters: parametersOf("jid!", "state", "minion", "limit", "after", "since_ms"),
      doc: "A job's minions in order of their ids, each with its state, since when, and why it is missing. state=STATE and minion=GLOB choose some; limit=N gives N of them, after=ID those after that one; since_ms gives the minions that changed at or after that time. A restricted user without this grant sees its own jobs.",
      isOffline: true,
      run: minions,
    },
  ],
]);
