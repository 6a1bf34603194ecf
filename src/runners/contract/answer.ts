/** A finished call's value in the encodings that its readers need. */
import { SaltworksError } from "../../errors.ts";
import { runnerAnswerBytesMax, runnerEventBytesMax, storedResultBytesMax } from "../../limits.ts";
import { nothing } from "../../wire/edit.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { trimData, trimmedText } from "../../wire/return.ts";
import { type Encodable, Packed } from "../../wire/values.ts";

/** `value`: for the job cache and the event. `reply`: for the caller; empty if the caller reads the event. `event`: the part that an event shows. */
export type PackedAnswer = { readonly value: Uint8Array; readonly reply: Uint8Array; readonly event?: Uint8Array };

/** Smaller answers, bytes, are not checked: their decoding never exceeds a bound. */
const checkedAnswerBytes = 1024 * 1024;
/** The lists around an answer, one byte each, while its depth is checked: a reply and a stored call have it two levels deep. */
const answerLevels = 2;

/**
 * Prepares the answer for the caller, the event and the job cache. The main thread, on which minions wait, decodes no answer: a minion may have made it.
 *
 * @throws SaltworksError FUNCTION_FAILED for an answer that is too large for any caller, WIRE_TOO_DEEP for one that its readers could not decode
 */
export function packedAnswer(value: Encodable, isByEvent: boolean, eventBytesMax: number): PackedAnswer {
  const answer = encode([[value]], "bin").subarray(answerLevels);
  if (answer.byteLength >= checkedAnswerBytes) checkSize(answer);
  const isStored = answer.byteLength <= Math.max(storedResultBytesMax, eventBytesMax);
  return {
    value: isStored ? answer : encode(trimmedText, "bin"),
    reply: isByEvent ? nothing : encode(value, "raw"),
    ...eventOf(answer, eventBytesMax),
  };
}

/** @throws SaltworksError FUNCTION_FAILED */
function checkSize(answer: Uint8Array): void {
  const tooLarge = (cause?: unknown) =>
    new SaltworksError(
      "FUNCTION_FAILED",
      `the answer of ${answer.byteLength} bytes is too large: ask for less at a time`,
      {},
      { cause },
    );
  if (answer.byteLength > runnerAnswerBytesMax) throw tooLarge();
  try {
    decode(answer);
  } catch (error) {
    throw tooLarge(error);
  }
}

/** Estimate of an event's bytes beside the value: tag, function, arguments and times. Long arguments make a longer event. */
const eventRestBytes = 512;
/** Bytes of the head and the key of the map `{return: …}`, in which a value is trimmed. */
const returnHeadBytes = 8;

/**
 * The value in the call's last event, for which Salt's clients wait. In a map that exceeds `max_event_size`, each large member is cut, as in Salt;
 * other values stay whole. `GET /jobs` of Salt's API lists ten thousand jobs in one event. A value over `runnerEventBytesMax` is replaced by a text.
 */
function eventOf(answer: Uint8Array, eventBytesMax: number): Pick<PackedAnswer, "event"> {
  if (answer.byteLength + eventRestBytes <= eventBytesMax) return {};
  if (answer.byteLength > runnerEventBytesMax) return { event: encode(trimmedText, "bin") };
  const data = encode(new Map([["return", new Packed(answer)]]), "bin");
  return { event: trimData(data, eventBytesMax - eventRestBytes).subarray(returnHeadBytes) };
}
