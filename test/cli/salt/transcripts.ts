/** Reads transcripts of Salt's programs from test/golden, and derives from one how the minions behaved. */
import { readFileSync } from "node:fs";
import { goldenPath } from "../../golden/path.ts";

export type Transcript = {
  readonly name: string;
  readonly argv: readonly [string, ...string[]];
  readonly stdin?: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly rc: number;
};

export function readTranscripts(topic: string): Transcript[] {
  return (JSON.parse(readFileSync(goldenPath(`${topic}.json`), "utf8")) as { transcripts: Transcript[] }).transcripts;
}

export function transcript(topic: string, name: string): Transcript {
  const found = readTranscripts(topic).find((one) => one.name === name);
  if (found === undefined) throw new Error(`no transcript ${name} in ${topic}`);
  return found;
}

/** The job id in the output, if it has one. */
export function shownJid(recorded: Transcript): string | undefined {
  return shownJids(recorded)[0];
}

/** Each minion once, in the order of the output. */
export function shownJids({ stdout, stderr }: Transcript): string[] {
  return [...new Set((stdout + stderr).match(/\b20\d{18}\b/g))];
}

/** Ids in the order of the output. */
export function shownIds({ stdout }: Transcript): string[] {
  const plain = stdout.replaceAll("\x1b[0;36m", "").replaceAll("\x1b[0;0m", "");
  const ids = [...plain.matchAll(/^([\w.-]+):(?: |$)|^ {4}"([\w.-]+)": /gm)].map(
    ([, first, json]) => first ?? json ?? "",
  );
  return [...new Set(ids)].filter((id) => id !== "jid");
}
