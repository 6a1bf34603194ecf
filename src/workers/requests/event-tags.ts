/**
 * Which tags a minion's events may carry: none that the master itself fires, unless it is about that minion. Reactors, tools and command lines
 * take such an event for the master's word. docs/protocol.md section 10.3.
 */
import { minionEventTagBytesMax } from "../../limits.ts";
import { isJid } from "../../wire/jid.ts";

/** `strict`: every tag that the master fires is refused. `salt`: Salt's shorter list. */
export type TagRules = "strict" | "salt";

/** What the master, its runners, its API and its cluster fire below `salt/`, each with everything under it. */
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
/** Below `salt/`, with the minion's id in the next part: a minion speaks for itself. */
const minionsBelowSalt = new Set(["beacon", "minion", "proxy", "syndic"]);
/** First parts under which everything is the master's. */
const mastersFirst = new Set(["cluster", "key", "new_job", "rotate_cluster_aes_key", "saltworks"]);
/** What minions of older releases fire as they start, with their id in the data alone. */
const legacyStarts = new Set(["minion_start", "proxy_start", "syndic_start"]);
/** What `state_events` make a minion fire: `salt/job/JID/prog/ID/NUMBER`. */
const progressParts = 6;
const runNumber = /^[0-9]{1,10}$/;

/** Salt's list. Its `*` takes slashes, too. */
const saltsList =
  /^(?:salt\/job\/.*\/(?:publish|new|return)|salt\/key|salt\/(?:cloud|run|cluster)\/.*|salt\/wheel\/.*\/(?:new|return)|saltworks\/.*)$/s;

/** A line feed in a tag would end it for every reader of the event, and the rest would be taken for its data. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
const controlCharacter = /[\u0000-\u001f\u007f]/;

/** Parts of a tag as a reader sees them: empty ones count for nothing. */
function partsOf(tag: string): string[] {
  return tag.split("/").filter((part) => part !== "");
}

/**
 * `free`: a tag of the operator's own choice. `own`: one of Salt's about the minion `id`. `progress`: about its part of a job, where command
 * lines that follow the job look. `refused`: the master's, another minion's, or not a tag.
 */
export type TagKind = "free" | "own" | "progress" | "refused";

export function kindOfTag(tag: string, id: string, rules: TagRules): TagKind {
  if (tag.length === 0 || Buffer.byteLength(tag) > minionEventTagBytesMax || controlCharacter.test(tag))
    return "refused";
  const parts = partsOf(tag);
  if (rules === "salt") return [tag, parts.join("/")].some((form) => saltsList.test(form)) ? "refused" : "free";
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
