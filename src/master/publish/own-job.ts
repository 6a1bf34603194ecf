/** Jobs of the master itself, in the form of a user's publish. */
import type { Encodable } from "../../wire/values.ts";
import type { Job } from "./publisher.ts";

/** Makes a job that the master publishes for itself: find_job, a presence ping, a runner's job. */
export function ownJob(
  fun: string,
  arg: Encodable[],
  target: string | readonly string[],
  targetKind: string,
  user: string,
  isQuiet = false,
): Job {
  const load = new Map<Encodable, Encodable>([
    ["cmd", "publish"],
    ["tgt", target],
    ["fun", fun],
    ["arg", arg],
    ["tgt_type", targetKind],
    ["ret", ""],
    ["jid", ""],
    ["user", user],
  ]);
  return {
    fun,
    arg,
    target,
    targetKind,
    delimiter: ":",
    ret: "",
    user,
    jid: undefined,
    load,
    publishFields: new Map(),
    isQuiet,
  };
}
