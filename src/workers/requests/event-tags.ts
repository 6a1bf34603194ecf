/**
 * Decides which tags a minion's events may carry. A tag under which the master fires is refused unless it is about the minion itself, because
 * reactors, tools and command lines would take the event for the master's. docs/protocol.md section 10.3.
 */
import { minionEventTagBytesMax } from "../../limits.ts";
import { isJid } from "../../wire/jid.ts";

/** `strict`: every tag that the master fires is refused. `salt`: Salt's shorter list. */
export type TagRules = "strict" | "salt";

/** Second parts of tags that begin with `salt/` and that only the master, its runners, its API and its cluster fire. */
const mastersBelowSalt = new Set([
  "auth",
  "batch",
  "cloud",
  "cluster",
  "event_listen",
  "fileserver",
  "key",
  "netapi",
  "presence",
  "queue",
  "reactors",
  "run",
  "stats",
  "wheel",
]);
/** Second parts of tags that begin with `salt/` and whose third part must be the sender's id. */
const minionsBelowSalt = new Set(["beacon", "minion", "proxy", "syndic"]);
/** First parts of the master's own tags. Minions of ours fire `saltworks/minion/ID/...`. */
const mastersFirst = new Set(["cluster", "key", "new_job", "rotate_cluster_aes_key", "saltworks"]);
/** Tags of older minions' start events. They name the minion only in the data. */
const legacyStarts = new Set(["minion_start", "proxy_start", "syndic_start"]);
/** Number of parts of a progress event's tag (`state_events`): `salt/job/JID/prog/ID/NUMBER`. */
const progressParts = 6;
const runNumber = /^[0-9]{1,10}$/;

/** Salt's list of refused tags. Its `*` also matches slashes. */
const saltsList =
  /^(?:salt\/job\/.*\/(?:publish|new|return)|salt\/key|salt\/(?:cloud|run|cluster)\/.*|salt\/wheel\/.*\/(?:new|return)|saltworks\/.*)$/s;

/** Readers of events end the tag at a line feed and take the rest for data. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
const controlCharacter = /[\u0000-\u001f\u007f]/;

/** Whether Salt's master refuses the tag, with or without its empty parts. */
export function isOnSaltsList(tag: string): boolean {
  return [tag, partsOf(tag).join("/")].some((form) => saltsList.test(form));
}

/** The parts of a tag without empty parts, which readers skip. */
function partsOf(tag: string): string[] {
  return tag.split("/").filter((part) => part !== "");
}

/**
 * `free`: a tag that operators chose. `own`: Salt's tag about the sender. `progress`: the tag of the sender's progress in a job, for command
 * lines that follow the job. `refused`: the master's tag, another minion's, or an invalid one.
 */
export type TagKind = "free" | "own" | "progress" | "refused";

export function kindOfTag(tag: string, id: string, rules: TagRules): TagKind {
  if (tag.length === 0 || Buffer.byteLength(tag) > minionEventTagBytesMax || controlCharacter.test(tag))
    return "refused";
  const parts = partsOf(tag);
  if (parts[0] === "saltworks" && parts[1] === "minion") return parts[2] === id ? "own" : "refused";
  if (rules === "salt") return isOnSaltsList(tag) ? "refused" : "free";
  const [first = "", second = "", third = ""] = parts;
  if (first === "" || mastersFirst.has(first)) return "refused";
  if (parts.length === 1)
    return first === "salt" || isJid(first) ? "refused" : legacyStarts.has(first) ? "own" : "free";
  if (first === "minion" && second === "refresh") return third === id && parts.length === 3 ? "own" : "refused";
  if (first === "syndic") return second === id ? "free" : "refused";
  if (first !== "salt") return "free";
  if (second === "job") return isProgress(parts, id) ? "progress" : "refused";
  if (mastersBelowSalt.has(second)) return "refused";
  if (minionsBelowSalt.has(second)) return third === id ? "own" : "refused";
  return "free";
}

function isProgress(parts: readonly string[], id: string): boolean {
  const [, , , kind, sender, run = ""] = parts;
  return parts.length === progressParts && kind === "prog" && sender === id && runNumber.test(run);
}
