/** The members of a return that its destinations store in columns or keys. */
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { returnerError } from "./errors.ts";

export function memberOf(ret: ValueMap, name: string): Value {
  return ret.get(name) ?? null;
}

export function textOf(ret: ValueMap, name: "id" | "jid"): string {
  return strOf(memberOf(ret, name));
}

/** @throws SaltworksError RETURNER_FAILED for a job of several functions, which these returners do not store */
export function functionOf(ret: ValueMap): string {
  const fun = memberOf(ret, "fun");
  if (typeof fun === "string") return fun;
  throw returnerError("a job of several functions cannot be stored");
}

export function isSuccess(ret: ValueMap): boolean {
  return isTrue(memberOf(ret, "success"));
}
