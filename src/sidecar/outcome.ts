/** Answers of the sidecar as they travel between threads, where errors lose their codes. */
import { type ErrorCode, SaltworksError } from "../errors.ts";
import { decode, encode } from "../wire/msgpack.ts";
import type { Encodable, Value } from "../wire/values.ts";
import type { SidecarRequest } from "./contract.ts";

/** A question with its deadline. */
export type AskedTask = { readonly kind: "ask"; readonly request: SidecarRequest; readonly timeoutMs: number };

/** A question on a line, and its answer: `serial` tells which belong together, because an answer may come after its asker has given up. */
export type LineTask = AskedTask & { readonly serial: number };
export type LineAnswer = { readonly serial: number; readonly outcome: AskOutcome };

export type AskFailure = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: SaltworksError["detail"];
};
/** `value`: packed in the new flavour. */
export type AskOutcome = { readonly value: Uint8Array } | { readonly failure: AskFailure };

export function outcomeOf(value: Encodable): AskOutcome {
  return { value: encode(value, "bin") };
}

export function failureOf(error: unknown): AskOutcome {
  if (error instanceof SaltworksError)
    return { failure: { code: error.code, message: error.message, detail: { ...error.detail } } };
  return { failure: { code: "SIDECAR_FAILED", message: (error as Error).message, detail: {} } };
}

/** @throws SaltworksError with the failure's code */
export function answerIn(outcome: AskOutcome): Value {
  if ("value" in outcome) return decode(outcome.value);
  const { code, message, detail } = outcome.failure;
  throw new SaltworksError(code, message, detail);
}
