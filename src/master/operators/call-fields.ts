/** Reads the fields of a runner or wheel request: the arguments, and the job id that a client chose. Pure. */
import type { Value, ValueMap } from "../../wire/values.ts";

export type CallArguments = { readonly args: Value[]; readonly kwargs: ValueMap };

/** A job id as the master makes it; with a process id if `unique_jid` is set. */
const jidPattern = /^\d{20}(?:_\d{1,10})?$/;
/** Set in requests for a call without a job record and without events. Only our own clients send it. */
const readMark = "__read__";
/** Fields of a wheel request that are not arguments. */
const credentialFields: readonly string[] = [
  ..."cmd fun key user client_address arg kwarg client eauth token username password".split(" "),
  ..."full_return print_event sync __notes__ __jid__ __tag__ __user__".split(" "),
  readMark,
];

export function argumentsOf(command: "runner" | "wheel", fields: ValueMap): CallArguments {
  return command === "runner" ? runnerArguments(fields) : wheelArguments(fields);
}

/** Our own client names them `arg` and `kwarg`; Salt's packs both into `kwarg`. */
function runnerArguments(fields: ValueMap): CallArguments {
  const kwarg = asMap(fields.get("kwarg"));
  const [args, kwargs] = [kwarg.get("arg"), kwarg.get("kwarg")];
  if (Array.isArray(args) && kwargs instanceof Map) return { args, kwargs: new Map(kwargs) };
  return { args: asList(fields.get("arg")), kwargs: kwarg };
}

/** A wheel function's arguments stand beside `fun` by name, or in `arg` and `kwarg`. */
function wheelArguments(fields: ValueMap): CallArguments {
  const kwarg = fields.get("kwarg");
  if (Array.isArray(fields.get("arg")) || kwarg instanceof Map)
    return { args: asList(fields.get("arg")), kwargs: asMap(kwarg) };
  const kwargs = new Map(fields);
  for (const name of credentialFields) kwargs.delete(name);
  return { args: [], kwargs };
}

/** The job id that a client chose, so that it receives the call's events from the start. */
export function givenJid(fields: ValueMap): string | undefined {
  const jid = fields.get("__jid__");
  return typeof jid === "string" && jidPattern.test(jid) ? jid : undefined;
}

/** Whether the client asks for a call without a job record and without events. */
export function isAskedToRead(fields: ValueMap): boolean {
  return fields.get(readMark) === true;
}

function asList(value: Value | undefined): Value[] {
  return Array.isArray(value) ? value : [];
}

export function asMap(value: Value | undefined): ValueMap {
  return value instanceof Map ? new Map(value) : new Map();
}
