/** Checks one low chunk before it runs, and binds its arguments to the state's function. */
import { SaltworksError } from "../../errors.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue, typeName } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { LowChunk } from "../compile/contract.ts";
import { argumentsOf, firstOf, requisiteNames, shown } from "../compile/read.ts";
import type { StateFunction, StateTable } from "./contract.ts";

const inForms = ["onchanges_in", "onfail_in", "prereq_in", "watch_in", "require_in", "listen_in"];
/** Arguments for the compiler and the runtime. States do not get them, unless a state has a parameter of that name. */
const ownArguments: ReadonlySet<string> = new Set([
  ...requisiteNames,
  ...inForms,
  ...["fun", "state", "check_cmd", "cmd_opts_exclude", "failhard", "onlyif", "unless", "creates", "retry", "order"],
  ...["parallel", "reload_modules", "reload_grains", "reload_pillar", "runas", "runas_password", "fire_event"],
  ...["saltenv", "use", "use_in", "__env__", "__sls__", "__id__", "__sls_included_from__"],
  ...["__orchestration_jid__", "__pub_user", "__pub_arg", "__pub_jid", "__pub_fun", "__pub_tgt", "__pub_ret"],
  ...["__pub_pid", "__pub_tgt_type", "__prereq__", "__prerequired__", "__umask__"],
]);
/** Arguments of the runtime that it does not have. They would change what a state does. */
const unsupported = ["reload_grains", "reload_pillar", "provider", "aggregate"];

/** Without a `mod_watch` of its own, a module's `watch` is a `require`. */
export function watchAsRequire(low: LowChunk, states: StateTable): void {
  for (const [watch, require] of [
    ["watch", "require"],
    ["watch_any", "require_any"],
  ] as const) {
    const watched = low.get(watch);
    if (watched === undefined || states[`${strOf(low.get("state") ?? null)}.mod_watch`] !== undefined) continue;
    const required = low.get(require);
    low.delete(watch);
    if (Array.isArray(required)) required.push(...argumentsOf(watched));
    else low.set(require, watched);
  }
}

/** Salt's sentences for a chunk that cannot run. */
export function chunkFaults(low: LowChunk, states: StateTable): string[] {
  const errors: string[] = [];
  const sls = low.has("__sls__") ? strOf(low.get("__sls__") ?? null) : undefined;
  const name = low.get("name") ?? null;
  if (isTrue(name) && typeof name !== "string") {
    const place = sls === undefined ? "" : `in SLS '${sls}' `;
    return [`ID '${strOf(name)}' ${place}is not formed as a string, but is a ${typeName(name)}`];
  }
  for (const key of unsupported)
    if (isTrue(low.get(key) ?? null)) errors.push(`${key} is not supported by this program's states`);
  const umask = low.has("umask") ? strOf(low.get("umask") ?? null) : undefined;
  if (umask !== undefined && !/^(?:0o?)?[0-7]+$/.test(umask)) errors.push(`Invalid umask: ${umask}`);
  else if (umask !== undefined && low.get("state") !== "cmd")
    errors.push("umask is supported by this program's states only for cmd");
  if (hasSlot(low)) errors.push("slots (__slot__) are not supported by this program's states");
  if (errors.length > 0) return errors;
  errors.push(...functionFaults(low, states, sls));
  const key = low.has("watch") ? "watch" : "require";
  watchAsRequire(low, states);
  const declared = low.has("watch") ? "watch" : key === "watch" ? "require" : key;
  errors.push(...recursions(low, declared));
  return errors;
}

function hasSlot(low: LowChunk): boolean {
  return [...low.values()].some((value) => typeof value === "string" && value.startsWith("__slot__:"));
}

function functionFaults(low: LowChunk, states: StateTable, sls: string | undefined): string[] {
  const [module, fun] = [strOf(low.get("state") ?? null), strOf(low.get("fun") ?? null)];
  const full = `${module}.${fun}`;
  const state = states[full];
  if (state === undefined) {
    if (sls === undefined) return [`Specified state '${full}' was not found`];
    return [`State '${full}' was not found in SLS '${sls}'`, `Reason: '${full}' is not available.`];
  }
  return Object.entries(state.params).flatMap(([param, value]) =>
    value === undefined && !low.has(param) ? [`Missing parameter ${param} for state ${full}`] : [],
  );
}

function recursions(low: LowChunk, declared: string): string[] {
  const own = [strOf(low.get("name") ?? null), strOf(low.get("__id__") ?? null)];
  return argumentsOf(low.get(declared)).flatMap((requisite) => {
    const [module, pattern] = firstOf(requisite) ?? [];
    if (module !== low.get("state") || typeof pattern !== "string") return [];
    const glob = compileGlob(pattern);
    if (!own.some((name) => glob.matches(name))) return [];
    const sls = strOf(low.get("__sls__") ?? null);
    return [`Recursive require detected in SLS ${sls} for require ${shown(requisite)} in ID ${own[1]}`];
  });
}

/** @throws SaltworksError FUNCTION_ARGUMENTS for an argument that the function does not take */
export function bindArguments(state: StateFunction, low: LowChunk): ValueMap {
  const args: ValueMap = new Map();
  for (const [name, value] of Object.entries(state.params)) args.set(name, low.get(name) ?? value ?? null);
  const extra = [...low].filter(([key]) => !args.has(key) && !ownArguments.has(strOf(key)));
  if (state.takesMore === true) for (const [key, value] of extra) args.set(key, value);
  else if (extra.length > 0) {
    const full = `${strOf(low.get("state") ?? null)}.${strOf(low.get("fun") ?? null)}`;
    throw new SaltworksError("FUNCTION_ARGUMENTS", invalid(extra.map(([key]): Value => key).map(strOf), full), {
      kind: "invocation",
    });
  }
  return args;
}

function invalid(names: readonly string[], full: string): string {
  const quoted = names.map((name) => `'${name}'`);
  if (quoted.length === 1) return `${quoted[0]} is an invalid keyword argument for '${full}'`;
  return `${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)} are invalid keyword arguments for '${full}'`;
}
