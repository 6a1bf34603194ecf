/**
 * One command's output compared with the recorded one. Values that vary between two runs of Salt itself are removed from both: job ids,
 * times, process ids, versions, folders, and the order in which minions answer.
 */
import { programVersion } from "../../../src/cli/start/version.ts";

export type Printed = { readonly stdout: string; readonly stderr: string; readonly rc: number | null };

/** Places of our run, which are replaced by their names in transcripts. */
export type Places = {
  readonly root: string;
  readonly homeDir: string;
  readonly user: string;
  /** The release of the minions, if they are Salt's. */
  readonly release: string | undefined;
};

const recordedVersion = "3007.0+2262.ge717ef70a1";

/** The mark with which a transcript shortens long texts. */
const leftOut =
  /^ *(?:\[traceback lines omitted\]|\[help text left out\]|\(documentation text of the function left out of this record\)|\[\.\.\. \d+ more characters left out\])$/m;

/** Replaces what varies from run to run in both outputs. `isOrdered`: the program decides the order of lines; otherwise the order of arrival does. */
export function comparable(
  recorded: Printed,
  ours: Printed,
  places: Places,
  isOrdered: boolean,
): { expected: Printed; actual: Printed } {
  const [stdout, actualStdout] = same(recorded.stdout, asRecorded(ours.stdout, places), isOrdered);
  const [stderr, actualStderr] = same(recorded.stderr, asRecorded(ours.stderr, places), true);
  return {
    expected: { rc: recorded.rc, stderr, stdout },
    actual: { rc: ours.rc, stderr: actualStderr, stdout: actualStdout },
  };
}

/** Replaces these places by their names in transcripts. */
export function asRecorded(text: string, { root, homeDir, user, release }: Places): string {
  const places = text
    .replaceAll(homeDir, "HOMEDIR")
    .replaceAll(root, "ROOT")
    .replace(/\bROOT\/member\d\b/g, "ROOT");
  const inPlace = release === undefined ? places : ofRelease(places, release);
  return user === "root" ? inPlace : inPlace.replace(new RegExp(`\\b${user}\\b`, "g"), "root");
}

/** Python's warnings about a release's own imports were removed from the transcripts. */
function ofRelease(text: string, release: string): string {
  return text.replaceAll(release, recordedVersion).replace(/^\S+: DeprecationWarning: .*\n {2}.*\n/gm, "");
}

function same(recorded: string, ours: string, isOrdered: boolean): [expected: string, actual: string] {
  const isBatch = /^Executing run on \[/m.test(recorded);
  const expected = withoutVarying(isBatch ? executed(recorded) : recorded);
  const actual = withoutVarying(isBatch ? executed(ours) : ours);
  if (!leftOut.test(expected)) {
    return isOrdered ? [expected, actual] : [sortArrivals(expected), sortArrivals(actual)];
  }
  const parts = expected.split(new RegExp(leftOut.source, "gm")).map((part) => literally(part).replace(/^\n/, "\n?"));
  const isSame = new RegExp(`^${parts.join("[\\s\\S]*?")}$`).test(actual);
  return [expected, isSame ? expected : actual];
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Replaces ids, times, process ids, keys and versions by the name of their kind. */
export function withoutVarying(text: string): string {
  return (
    text
      .replace(/-----BEGIN PUBLIC KEY-----(?:\\n|\n)[\s\S]*?(?:\\n|\n)-----END PUBLIC KEY-----/g, "<key>")
      .replace(/\b[\da-f]{2}(?::[\da-f]{2}){31}\b/g, "<fingerprint>")
      .replace(/^(Executing job with jid \d{20}(?:_\d+)?)\n-+$/gm, "$1\n---")
      .replace(/\b\d{20}(?:_\d+)?\b/g, "<jid>")
      .replace(/\b\d{4}, [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d\.\d{6}\b/g, "<time>")
      .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?/g, "<time>")
      .replace(/(Started: )\d\d:\d\d:\d\d\.\d+/g, "$1<time>")
      // The width before it depends on the time that it took.
      .replace(/(Duration:|Total run time:) +[\d.]+ m?s/g, "$1 <duration>")
      .replace(/("ts": )\d+/g, "$1<seconds>")
      .replace(/("?(?:__pub_)?pid"?:\s+)\d+/g, "$1<pid>")
      .replace(/^( *)\/bin\/sh: (?:line )?(\d+): (.*): (?:command )?not found$/gm, "$1/bin/sh: $2: $3: not found")
      .replace(/( at pid )\d+$/gm, "$1<pid>")
      .replaceAll(recordedVersion, "<version>")
      .replaceAll(programVersion(), "<version>")
      .replace(/\b(?:salt-master\.example\.com|member\d)_master\b/g, "<master>")
  );
}

/**
 * Minions answer in any order and are shown as they answer. A block is a line without indent with its indented lines and the brace
 * that closes it. Only the order of blocks is ignored, and the order of minions and jobs within one document.
 */
function sortArrivals(text: string): string {
  const blocks: string[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    const continues = /^[ \t}\])]/.test(line);
    if (continues && blocks.length > 0) blocks.push(`${blocks.pop()}${line}`);
    else blocks.push(line);
  }
  return blocks
    .map((block) => (/^[{[]\n/.test(block) ? sortDocument(block.split(/(?<=\n)/)).join("") : sortInline(block)))
    .sort()
    .join("");
}

/** A batch takes its first minions by chance. Compared are all minions that ran, the most at a time, and each minion's output. */
function executed(text: string): string {
  const runs = [...text.matchAll(/^Executing run on \[(.*)\]$/gm)].map(([, ids = ""]) => ids.split(", "));
  const shown = text.replace(/^\nExecuting run on \[.*\]\n\n/gm, "");
  const most = Math.max(0, ...runs.map((ids) => ids.length));
  return `executed on ${runs.flat().sort().join(" ")}, at most ${most} at once\n${shown}`;
}

/** Parts of a document in order of arrival: minions, and jobs by their ids. */
const arrivingMember =
  /^ *(?:"(?:web[12]\.example\.com|db1\.example\.com|es[12]|10\.40\.0\.9|ghost2?|<jid>|retcode|jid)"[:,\n]|\{\n +"es[12]": )/;

/** Lines of an indented JSON value, with the opening and the closing one. */
function sortDocument(lines: readonly string[]): readonly string[] {
  const [first = "", ...rest] = lines;
  const last = rest.findLastIndex((line) => /^ *[}\]]/.test(line));
  const width = /^ */.exec(rest[0] ?? "")?.[0].length ?? 0;
  if (last <= 0) return lines;
  const members: string[][] = [];
  for (const line of rest.slice(0, last)) {
    const isStart = !/^ *[}\]]/.test(line) && /^ */.exec(line)?.[0].length === width;
    if (isStart || members.length === 0) members.push([line]);
    else members.at(-1)?.push(line);
  }
  const texts = members.map((member) => sortDocument(member).join("").replace(/,?\n$/, ",\n"));
  const sorted = texts.every((text) => arrivingMember.test(text)) ? texts.sort() : texts;
  return [first, ...sorted, ...rest.slice(last)];
}

/** One line of plain values: `{"es2": true, "es1": true}` or its Python form. */
function sortInline(block: string): string {
  const line = /^\{((?:["'][\w.]+["']: \w+(?:, )?)+)\}\n$/.exec(block);
  if (line?.[1] === undefined) return block;
  return `{${line[1].split(", ").sort().join(", ")}}\n`;
}
