/** Times of output lines compared with Salt's: never earlier. How much later depends on the machine and is not checked. */
import { withoutVarying } from "./compare.ts";
import type { CommandResult } from "./fleet.ts";
import type { Transcript } from "./replay.ts";

/** Salt's clock began with its interpreter's start, which took half a second. The rest is for clocks that are read late. */
const startMs = 1_500;
/** Lines before this time did not wait for anything. */
const waitedForMs = 3_000;

/** Lines that we printed earlier than Salt, although Salt had waited for them. */
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
