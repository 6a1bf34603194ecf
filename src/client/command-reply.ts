/** Reads the master's reply to an operator's clear request: a map, or the reason for a refusal. Source: docs/protocol.md sections 7.2 and 11. */
import { type ErrorCode, errorCodes, SaltworksError } from "../errors.ts";
import { boolField, listField, mapField, textField } from "../wire/fields.ts";
import { decode } from "../wire/msgpack.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { texts } from "./job-feed.ts";
import { notPermittedText } from "./texts.ts";

/** If `isSuccess` is false, `value` is the error. */
export type CommandOutcome = {
  readonly jid: string;
  readonly value: Value;
  readonly isSuccess: boolean;
  /** Of the function's error. Undefined if it succeeded, or the error has none. */
  readonly code?: ErrorCode;
  /** Remarks of the function in addition to its value. */
  readonly notes: readonly string[];
  /** The master's whole answer in Salt's form. */
  readonly data: ValueMap;
};

/** @throws SaltworksError AUTH_FAILED, REQUEST_REFUSED if the master refuses or the reply is not a map */
export function readReply(frame: Uint8Array): ValueMap {
  const reply = decode(frame);
  if (reply instanceof Map) {
    const error = reply.get("error");
    if (error !== undefined && error !== null) throw refusal(error);
    return reply;
  }
  if (reply === "" || reply === null) throw new SaltworksError("AUTH_FAILED", notPermittedText);
  throw new SaltworksError(
    "REQUEST_REFUSED",
    typeof reply === "string" ? reply : "the master's reply has an unknown form",
  );
}

function refusal(error: Value): SaltworksError {
  if (!(error instanceof Map)) return new SaltworksError("REQUEST_REFUSED", String(error));
  const name = textField(error, "name") ?? "";
  const message = textField(error, "message") ?? "";
  const isAboutUser = name.includes("Auth");
  return new SaltworksError(isAboutUser ? "AUTH_FAILED" : "REQUEST_REFUSED", message, { name });
}

function codeIn(data: ValueMap): { readonly code?: ErrorCode } {
  const code = textField(data, "code") ?? "";
  return Object.hasOwn(errorCodes, code) ? { code: code as ErrorCode } : {};
}

/** The outcome of a runner or wheel function. @throws SaltworksError REQUEST_REFUSED */
export function readOutcome(reply: ValueMap): CommandOutcome {
  const data = mapField(reply, "data");
  if (data === undefined) throw new SaltworksError("REQUEST_REFUSED", "the master answered without a result");
  return {
    jid: textField(data, "jid") ?? "",
    value: data.get("return") ?? null,
    isSuccess: boolField(data, "success") ?? false,
    ...codeIn(data),
    notes: texts(listField(data, "notes")),
    data,
  };
}
