/** Reads the master's reply to an operator's clear request: a map, or the reason for a refusal. Source: docs/protocol.md sections 7.2 and 11. */
import { SaltworksError } from "../errors.ts";
import { textField } from "../wire/fields.ts";
import { decode } from "../wire/msgpack.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { notPermittedText } from "./texts.ts";

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
