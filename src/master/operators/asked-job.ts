/** Reads a publish request: what the job is, without the credentials that came with it. */
import type { Encodable, ValueMap } from "../../wire/values.ts";
import type { Job } from "../publish/publisher.ts";
import { syndicFieldNames } from "../publish/syndic-fields.ts";
import { asMap } from "./call-fields.ts";

/** Fields of a publish request's kwargs that the minions see, in Salt's order. */
const forwardedKwargs = ["ret_config", "metadata", "module_executors", "executor_opts", "ret_kwargs"] as const;
/** Credentials, in a publish's `kwargs` or beside the job. They are neither kept nor passed on. */
const credentialNames = ["key", "token", "eauth", "username", "password", "client_address"] as const;
/** Set in requests of our own clients, which read more fields of a reply than Salt's. */
const ownMark = "__notes__";

/** The job that a publish request or a stored load asks for. */
export function toJob(fields: ValueMap, user: string): Job {
  const kwargs = asMap(fields.get("kwargs"));
  kwargs.delete("follow");
  const load = new Map<Encodable, Encodable>(fields);
  load.delete(ownMark);
  for (const name of credentialNames) {
    kwargs.delete(name);
    load.delete(name);
  }
  if (load.has("user")) load.set("user", user);
  if (load.has("kwargs")) load.set("kwargs", kwargs);
  const publishFields = new Map<string, Encodable>();
  for (const name of syndicFieldNames) if (fields.has(name)) publishFields.set(name, fields.get(name));
  for (const name of forwardedKwargs) if (kwargs.has(name)) publishFields.set(name, kwargs.get(name));
  const target = fields.get("tgt");
  const delimiter = kwargs.get("delimiter");
  const jid = fields.get("jid");
  return {
    fun: fields.get("fun") ?? "",
    arg: fields.get("arg") ?? [],
    target: Array.isArray(target) ? target.map(String) : String(target ?? ""),
    targetKind: String(fields.get("tgt_type") ?? "glob"),
    delimiter: typeof delimiter === "string" && delimiter !== "" ? delimiter : ":",
    ret: fields.get("ret") ?? "",
    user,
    jid: typeof jid === "string" && jid !== "" ? jid : undefined,
    load,
    publishFields,
    isQuiet: false,
  };
}

/** Whether the client reads notes beside a function's value. */
export function isOwnClient(fields: ValueMap): boolean {
  return fields.get(ownMark) === true;
}
