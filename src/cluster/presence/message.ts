/** What members tell each other about their connected minions: MessagePack on one subject. Pure. */
import { pack, unpack } from "msgpackr";
import { SaltworksError } from "../../errors.ts";
import { presenceIdsOfMessageMax } from "../../limits.ts";
import { otherVersion } from "../other-version.ts";

const version = 1;
const nameCharactersMax = 255;

/** `session`: differs for each start of a member. `seq`: counts a session's messages from 1, so that a missing one is noticed. */
type Sender = { readonly by: string; readonly session: string; readonly seq: number };
export type PresenceMessage = Sender &
  (
    | { readonly kind: "change"; readonly came: readonly string[]; readonly gone: readonly string[] }
    /** A part of the whole list. Parts follow each other without a change between them. */
    | { readonly kind: "list"; readonly isFirst: boolean; readonly isLast: boolean; readonly ids: readonly string[] }
    /** Asks the others for their whole lists. */
    | { readonly kind: "ask" }
    /** The member ends. */
    | { readonly kind: "end" }
  );

export function encodePresence(message: PresenceMessage): Buffer {
  return pack({ v: version, ...message });
}

/**
 * Each version names its sender in `by`.
 *
 * @throws SaltworksError CLUSTER_REFUSED for bytes that are not a message of this version; the detail of another version's names the sender
 */
export function decodePresence(bytes: Uint8Array): PresenceMessage {
  const value = unpacked(bytes);
  const { v, by, session, seq } = value;
  if (typeof v !== "number") throw refused("it has no version");
  if (v !== version) {
    const sender = isName(by) ? by : "a member";
    throw otherVersion(`what ${sender} tells of its minions`, v, version, isName(by) ? { by } : {});
  }
  if (!isName(by) || !isName(session) || !Number.isSafeInteger(seq)) throw refused("it names no sender");
  const sender = { by, session, seq: seq as number };
  switch (value.kind) {
    case "change":
      return { ...sender, kind: "change", came: idsIn(value.came), gone: idsIn(value.gone) };
    case "list": {
      const { isFirst, isLast } = value;
      return { ...sender, kind: "list", isFirst: isFirst === true, isLast: isLast === true, ids: idsIn(value.ids) };
    }
    case "ask":
    case "end":
      return { ...sender, kind: value.kind };
    default:
      throw refused("its kind is unknown");
  }
}

function unpacked(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = unpack(bytes);
  } catch (cause) {
    throw refused("it is not MessagePack", cause);
  }
  if (typeof value !== "object" || value === null) throw refused("it is not a map");
  return value as Readonly<Record<string, unknown>>;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= nameCharactersMax;
}

function idsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > presenceIdsOfMessageMax || !value.every(isName))
    throw refused("its ids are not a list of names");
  return value;
}

function refused(reason: string, cause?: unknown): SaltworksError {
  const options = cause === undefined ? {} : { cause };
  return new SaltworksError("CLUSTER_REFUSED", `not a presence message of this version: ${reason}`, {}, options);
}
