/**
 * Makes requests of reactions: a publish of `local`, a call of `runner`, `wheel` and `caller`. Knows both forms of arguments: `args`, and the older `arg` and
 * `kwarg` or arguments beside `tgt`. Source: the reactor of Salt 3007.
 */
import { SaltworksError } from "../../errors.ts";
import { reprOf, strOf } from "../../python/repr.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { wheelFunctions } from "../../runners/wheel.ts";
import { isJid } from "../../wire/jid.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { Reaction } from "../messages/reactor.ts";

/** Members of a reaction that no function gets as an extra keyword. */
const internalNames: ReadonlySet<Value> = new Set(["__id__", "__sls__", "name", "order", "fun", "key", "state"]);
/** Parameters of Salt's publishing client; the other members travel as the job's `kwargs`. */
const publishNames: ReadonlySet<Value> = new Set([
  ...["fun", "tgt", "arg", "kwarg", "args", "tgt_type", "ret", "jid", "timeout"],
]);

type Arguments = { readonly args: readonly Value[]; readonly kwargs: ValueMap };

/**
 * @param hasPython - whether the site may have runner and wheel functions of its own
 * @throws SaltworksError FUNCTION_ARGUMENTS with the reason why the reaction cannot start
 */
export function reactionOf(chunk: ValueMap, hasPython = false): Reaction {
  const kind = strOf(chunk.get("state") ?? "");
  const [id, sls, fun] = ["__id__", "__sls__", "fun"].map((name) => strOf(chunk.get(name) ?? "")) as [
    string,
    string,
    string,
  ];
  if (kind === "local") return { kind, id, sls, fun, load: publishLoad(chunk, fun) };
  if (kind === "runner" || kind === "wheel") return { kind, id, sls, fun, load: callLoad(chunk, kind, fun, hasPython) };
  if (kind === "caller" && hasPython) return { kind, id, sls, fun, load: callerLoad(chunk) };
  if (kind === "caller") throw wrong("caller reactions need a Python with Salt (salt_python)");
  throw wrong(`there is no reaction '${kind}': local, runner, wheel and caller are`);
}

function wrong(reason: string): SaltworksError {
  return new SaltworksError("FUNCTION_ARGUMENTS", reason, { isReaction: true });
}

function publishLoad(chunk: ValueMap, fun: string): Uint8Array {
  if (!chunk.has("tgt")) throw wrong("local takes at least 2 arguments (1 given): tgt is missing");
  const { args, kwargs } = newArguments(chunk) ?? {
    args: listOf(chunk.get("arg")),
    kwargs: keywordsOf(chunk),
  };
  const arg = args.map((value) =>
    (typeof value === "number" || typeof value === "bigint") && isJid(String(value)) ? String(value) : value,
  );
  const named: ValueMap = new Map<Value, Value>([["__kwarg__", true], ...kwargs]);
  const more = [...chunk].filter(([name]) => !publishNames.has(name));
  const load = new Map<Encodable, Encodable>([
    ["cmd", "publish"],
    ["tgt", chunk.get("tgt") ?? ""],
    ["fun", fun],
    ["arg", kwargs.size > 0 ? [...arg, named] : arg],
    ["tgt_type", chunk.get("tgt_type") ?? "glob"],
    ["ret", chunk.get("ret") ?? ""],
    ["jid", chunk.get("jid") ?? ""],
    ["kwargs", new Map(more)],
    ["user", ""],
  ]);
  return encode(load, "raw");
}

function callLoad(chunk: ValueMap, kind: "runner" | "wheel", fun: string, hasPython: boolean): Uint8Array {
  const { args, kwargs } = newArguments(chunk) ?? olderArguments(chunk, kind, fun, hasPython);
  const call = kind === "runner" ? { kwarg: { arg: args, kwarg: kwargs }, sync: true } : { arg: args, kwarg: kwargs };
  return encode({ cmd: kind, fun, ...call }, "raw");
}

/** A list under `args` that holds other things than maps of one entry is the older form: arguments by their places. */
function callerLoad(chunk: ValueMap): Uint8Array {
  const written = chunk.get("args");
  const isOlder = Array.isArray(written) && !written.every((one) => one instanceof Map && one.size === 1);
  const older = { args: listOf(isOlder ? written : chunk.get("arg")), kwargs: isOlder ? new Map() : keywordsOf(chunk) };
  const { args, kwargs } = (isOlder ? undefined : newArguments(chunk)) ?? older;
  return encode({ args, kwargs }, "raw");
}

/** `args`, a map or a list of maps. Undefined without it. */
function newArguments(chunk: ValueMap): Arguments | undefined {
  const written = chunk.get("args");
  if (written === undefined) return undefined;
  const kwargs = written instanceof Map ? new Map(written) : repacked(written);
  if (kwargs === undefined || (kwargs.size === 0 && !(written instanceof Map)))
    throw wrong("incorrect argument format: args must be a list of maps with one entry each");
  return { args: [], kwargs };
}

/** A list of maps with one entry each, as one map; texts and numbers are keys without a value. */
function repacked(written: Value): ValueMap | undefined {
  if (!Array.isArray(written)) return undefined;
  const kwargs: ValueMap = new Map();
  for (const element of written) {
    if (typeof element === "string" || typeof element === "number") kwargs.set(element, null);
    else if (element instanceof Map && element.size === 1) for (const [name, value] of element) kwargs.set(name, value);
    else return undefined;
  }
  return kwargs;
}

/** `arg` with `kwarg`, or a member for each parameter. */
function olderArguments(chunk: ValueMap, kind: "runner" | "wheel", fun: string, hasPython: boolean): Arguments {
  if (chunk.has("arg") && chunk.has("kwarg")) return { args: listOf(chunk.get("arg")), kwargs: keywordsOf(chunk) };
  const found = (kind === "runner" ? runnerFunctions : wheelFunctions).get(fun);
  if (found === undefined && hasPython) return argumentsInPython(chunk);
  if (found === undefined) throw wrong("function not available");
  const left = new Map(chunk);
  const args: Value[] = [];
  const kwargs: ValueMap = new Map();
  for (const { name, isRequired } of found.parameters) {
    const value = left.get(name);
    if (value === undefined && isRequired) throw wrong(`${fun} needs the argument ${reprOf(name)}`);
    if (value === undefined) continue;
    left.delete(name);
    if (isRequired) args.push(value);
    else kwargs.set(name, value);
  }
  const extra = [...left].filter(([name]) => !internalNames.has(name));
  if (found.takes === "keywords" || found.takes === "all") for (const [name, value] of extra) kwargs.set(name, value);
  else if (extra.length > 0)
    throw wrong(`${extra.map(([name]) => reprOf(name)).join(", ")} is not an argument of ${fun}`);
  return {
    args: chunk.has("arg") ? listOf(chunk.get("arg")) : args,
    kwargs: chunk.has("kwarg") ? keywordsOf(chunk) : kwargs,
  };
}

/** The parameters of a function in Python are not known here: every member is a keyword. */
function argumentsInPython(chunk: ValueMap): Arguments {
  const own = [...chunk].filter(([name]) => !internalNames.has(name) && name !== "arg" && name !== "kwarg");
  return { args: listOf(chunk.get("arg")), kwargs: new Map([...own, ...keywordsOf(chunk)]) };
}

function listOf(value: Value | undefined): readonly Value[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function keywordsOf(chunk: ValueMap): ValueMap {
  const written = chunk.get("kwarg");
  return new Map(written instanceof Map ? written : []);
}
