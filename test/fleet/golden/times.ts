/** When lines were printed, beside when Salt printed them: never earlier. How much later is the machine's affair. */
import { withoutVarying } from "./compare.ts";
import type { CommandResult } from "./fleet.ts";
import type { Transcript } from "./replay.ts";

/** Salt's clock began with its interpreter's start, which took half a second; the rest is for clocks that are read late. */
const startMs = 1_500;
/** Lines that came before this were not waited for. */
const waitedForMs = 3_000;

/** Lines that we printed before Salt did, for which it had waited. */
export function earlyLines(transcript: Transcript, result: CommandResult): string[] {
  const texts = result.lines.map(({ text }) => withoutVarying(text).trimEnd());
  return (transcript.stdout_timed ?? []).flatMap(([seconds, line]) => {
    const wantedMs = seconds * 1_000 - startMs;
    if (seconds * 1_000 < waitedForMs) return [];
    const at = texts.lastIndexOf(withoutVarying(line).trimEnd());
    const atMs = result.lines[at]?.atMs;
    if (atMs === undefined || atMs >= wantedMs) return [];
    return [`${line} after ${Math.round(atMs)} ms, Salt: ${seconds} s`];
  });
}
