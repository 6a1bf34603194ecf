/** Makes one command's output comparable between two runs: removes only job ids, times, process ids and order of arrival. */
import type { Ended } from "../program.ts";

export type Comparable = { readonly stdout: string; readonly stderr: string; readonly code: number | null };

export function comparable(ended: Ended): Comparable {
  return {
    stdout: sortArrivals(withoutVarying(ended.stdout.toString())),
    stderr: withoutVarying(ended.stderr),
    code: ended.code,
  };
}

function withoutVarying(text: string): string {
  return text
    .replace(/\b\d{20}\b/g, "<jid>")
    .replace(/\b\d{4}, [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d\.\d{6}\b/g, "<time>")
    .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?/g, "<time>")
    .replace(/(["']?pid["']?:\s+)\d+/g, "$1<pid>");
}

/**
 * Minions answer in any order and are shown as they answer. A block is a line without indent with its indented lines and the brace
 * that closes it. Neighbouring blocks are sorted, so that only their order is ignored.
 */
function sortArrivals(text: string): string {
  const blocks: string[] = [];
  for (const line of text.split(/(?<=\n)/)) {
    const continues = /^([ \t}\])]|\n$)/.test(line);
    if (continues && blocks.length > 0) blocks.push(`${blocks.pop()}${line}`);
    else blocks.push(line);
  }
  return blocks.sort().join("");
}
