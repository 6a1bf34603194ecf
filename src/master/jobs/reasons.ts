/** Explains in words why a minion has not returned, from its key, its presence and its answer to find_job. */
import { durationText } from "../../config/duration.ts";
import type { KeyState } from "../../store/keys/keys.ts";
import type { JobRecord, MinionRecord } from "./record.ts";

export type ReasonSources = {
  readonly isAccepted: (id: string) => boolean;
  readonly keyState: (id: string) => KeyState | undefined;
  readonly isConnected: (id: string) => boolean;
  /** When the minion was last heard since this master's start. */
  readonly contactMs: (id: string) => number | undefined;
  /** Whether the master holds data of the minion. */
  readonly isKnown: (id: string) => boolean;
  /** Until when the job waits for the minion; undefined if it does not wait. */
  readonly waitsUntilMs: (jid: string, id: string) => number | undefined;
  readonly startedMs: number;
};

/** @returns undefined for a minion that has returned in time */
export function reasonFor(
  job: JobRecord,
  minion: MinionRecord,
  sources: ReasonSources,
  nowMs: number,
): string | undefined {
  const { id, state } = minion;
  if (state === "returned" || state === "failed") {
    const afterMs = minion.atMs - (job.sentMs ?? job.startedMs);
    return minion.isLate ? `returned late, ${ago(afterMs)} after the job was sent` : undefined;
  }
  const reason = silenceOf(job, minion, sources, nowMs);
  const untilMs = sources.waitsUntilMs(job.jid, id);
  return untilMs === undefined ? reason : `${reason}; the job waits for it until ${utcText(untilMs)}`;
}

/** Why a name in a target is not a minion that can get a job. */
export function keyReason(id: string, sources: Pick<ReasonSources, "keyState">): string {
  const state = sources.keyState(id);
  return state === undefined || state === "accepted"
    ? "never seen: no key of that name"
    : `key not accepted (${state})`;
}

function silenceOf(job: JobRecord, minion: MinionRecord, sources: ReasonSources, nowMs: number): string {
  const { id } = minion;
  if (!sources.isAccepted(id)) return keyReason(id, sources);
  if (minion.state === "running")
    return `still running after ${ago(nowMs - (job.sentMs ?? job.startedMs))}, as it said ${ago(nowMs - minion.atMs)} ago`;
  const heard = heardText(id, sources, nowMs);
  if (minion.isDelivered && minion.state === "sent")
    return `sent again when it came back, ${ago(nowMs - minion.atMs)} ago`;
  if (minion.isFault) return "connected, but it could not answer find_job";
  if (minion.isIdle) return `connected, ${heard}: it answered find_job, does not run the job and has not returned`;
  if (minion.wasGone || !sources.isConnected(id)) return absenceOf(id, minion, sources, heard);
  if (minion.isAsked) {
    const isWaitedFor = job.overMs === undefined;
    return isWaitedFor
      ? `connected, ${heard}, asked by find_job whether it runs the job`
      : `connected, ${heard}, but silent: find_job was not answered`;
  }
  return `connected, ${heard}, not asked yet`;
}

function absenceOf(id: string, minion: MinionRecord, sources: ReasonSources, heard: string): string {
  if (sources.contactMs(id) === undefined && !sources.isKnown(id))
    return "never seen: nothing was heard since its key was accepted";
  return sources.isConnected(id) && minion.wasGone
    ? `was not connected; it is again, ${heard}`
    : `not connected, ${heard}`;
}

function heardText(id: string, sources: ReasonSources, nowMs: number): string {
  const contactMs = sources.contactMs(id);
  return contactMs === undefined
    ? `not heard since the master started ${ago(nowMs - sources.startedMs)} ago`
    : `last heard ${ago(nowMs - contactMs)} ago`;
}

function ago(ms: number): string {
  return durationText(ms / 1_000);
}

/** UTC as in Salt's output, to the second. */
function utcText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
