/** Compares a recorded body with one of another fleet: what no two fleets share counts as equal if its form is the same. */

type Members = Readonly<Record<string, unknown>>;

/** Members whose numbers are times, durations or measurements. */
const measured: ReadonlySet<string> = new Set(
  "start expire duration ts pid seconds since_t days users Uptime server_id".split(" "),
);
/** Members that say something of the machine or of its clock. */
const local: ReadonlySet<string> = new Set("start_time since_iso time StartTime _stamp saltversion".split(" "));
const jid = /(?<!\d)20\d{18}(?!\d)/g;

const forms: readonly (readonly [RegExp, string])[] = [
  [jid, "<jid>"],
  [/^[0-9a-f]{64}$/, "<token>"],
  [/^[0-9a-f]{40}$/, "<session>"],
  [/^(?:[0-9a-f]{2}:){31}[0-9a-f]{2}$/, "<sha256>"],
  [/^(?:[0-9a-f]{2}:){15}[0-9a-f]{2}$/, "<md5>"],
  [/^300\d\.\d+$|^\d+\.\d+\.\d+$/, "<version>"],
  [/^-----BEGIN PUBLIC KEY-----[\s\S]*$/, "<public key>"],
  [/at pid \d+$/, "at pid <pid>"],
  // What Python says of an exception has line numbers and paths.
  [/^((?:The minion function caused an exception|Exception occurred in \w+ [\w.]+): )[\s\S]*$/, "$1<details>"],
  [/^(Passed invalid arguments to [\w.]+: [^\n<]*?)\s*(?:<|\n)[\s\S]*$/, "$1"],
];

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textForm(text: string): string {
  return forms.reduce((shown, [pattern, form]) => shown.replace(pattern, form), text);
}

/** A list of job records is compared by the members of each record. */
function isJobList(value: Members): boolean {
  const names = Object.keys(value).filter((name) => !name.startsWith("_"));
  return names.length > 1 && names.every((name) => /^20\d{18}$/.test(name));
}

function formOf(value: unknown, name: string): unknown {
  if (measured.has(name)) return typeof value === "number" ? "<number>" : value;
  if (typeof value === "string") return local.has(name) && value !== "" ? "<text>" : textForm(value);
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => formOf(item, ""));
    return items.every((item) => typeof item === "string") ? items.sort() : items;
  }
  if (!isMembers(value)) return value;
  if ("osfinger" in value && "saltversioninfo" in value) return { "<grains>": value.id };
  if ("saltgui_templates" in value)
    return Object.fromEntries(
      Object.keys(value)
        .filter((name) => !foreign.has(name))
        .map((name) => [name, true]),
    );
  if ("CherryPy Applications" in value) return { "<counters>": countersForm(value["CherryPy Applications"]) };
  if ("_html_document" in value) return { "<page>": (value._html_document as Members).title };
  if (isJobList(value)) {
    const records = Object.entries(value).filter(([key, record]) => !key.startsWith("_") && isMembers(record));
    const members = new Set(records.flatMap(([, record]) => Object.keys(record as Members)));
    // Only jobs that were started with metadata have them.
    members.delete("Metadata");
    return { "<jobs>": [...members].sort() };
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [textForm(key), formOf(member, key)]));
}

/** Options of Salt that `config.values` does not show here. */
const foreign: ReadonlySet<string> = new Set(
  "client_acl_verify cluster_id cluster_peers eauth_tokens state_output_diff".split(" "),
);

const counted = ["Current Requests", "Current Time", "Enabled", "Start Time", "Total Requests", "Uptime"];

function countersForm(value: unknown): readonly string[] {
  return isMembers(value) ? counted.filter((name) => name in value) : [];
}

/** What differs, each with its place. `_.._elided` in a recorded object stands for members that were left out. */
export function differencesOf(recorded: unknown, found: unknown): string[] {
  return [...compared(formOf(recorded, ""), formOf(found, ""), "")];
}

function* compared(recorded: unknown, found: unknown, place: string): Generator<string> {
  if (isMembers(recorded) && isMembers(found)) {
    const isPart = Object.keys(recorded).some((name) => /^_.*elided$/.test(name));
    for (const [name, member] of Object.entries(recorded)) {
      if (/^_.*elided$/.test(name)) continue;
      if (name in found) yield* compared(member, found[name], `${place}.${name}`);
      else yield `${place}.${name} is missing`;
    }
    if (!isPart)
      for (const name of Object.keys(found))
        if (!(name in recorded)) yield `${place}.${name} is new: ${shown(found[name])}`;
    return;
  }
  if (Array.isArray(recorded) && Array.isArray(found) && recorded.length === found.length) {
    // Batches answer in the order in which minions return.
    const [left, right] = [recorded, found].map((list) => list.map((item) => [JSON.stringify(item), item] as const));
    const byText = (a: readonly [string, unknown], b: readonly [string, unknown]) => (a[0] < b[0] ? -1 : 1);
    const sorted =
      place.endsWith(".return") && isOfBatch(recorded)
        ? [left?.toSorted(byText), right?.toSorted(byText)]
        : [left, right];
    for (const [index, [, item]] of (sorted[0] ?? []).entries())
      yield* compared(item, sorted[1]?.[index]?.[1], `${place}[${index}]`);
    return;
  }
  if (typeof recorded === "string" && typeof found === "string" && recorded.includes("elided>")) {
    if (!found.startsWith(recorded.slice(0, recorded.indexOf("<")))) yield `${place}: ${shown(found)}`;
    return;
  }
  if (JSON.stringify(recorded) !== JSON.stringify(found)) yield `${place}: ${shown(recorded)} became ${shown(found)}`;
}

/** Items of one minion each, or the events of their returns. */
function isOfBatch(items: readonly unknown[]): boolean {
  const forms = new Set(items.map((item) => (isMembers(item) ? Object.keys(item).sort().join() : "")));
  return items.every((item) => isMembers(item) && Object.keys(item).length === 1) || [...forms].join() === "data,tag";
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "undefined").slice(0, 300);
}
