/**
 * Writes compound targets in a form that minions of every release since 2014.1 read alike. Source: docs/protocol.md section 12.3. Old
 * minions lose a leading parenthesis, and reject `not` at the start or after a parenthesis, and lists of words. `* and` in front of the
 * expression means the same to all releases.
 */
import { SaltworksError } from "../errors.ts";
import { targetTermsMax } from "../limits.ts";
import { wordsOf } from "./nodegroups.ts";

/**
 * Changes only what older minions would read differently.
 *
 * @throws SaltworksError TARGET_INVALID if the result has more than `targetTermsMax` words
 */
export function portableCompound(expression: string | readonly string[]): string {
  const written: string[] = [];
  for (const word of wordsOf(expression)) {
    const before = written.at(-1);
    const isFirst = before === undefined;
    if ((word === "(" && isFirst) || (word === "not" && (isFirst || before === "("))) written.push("*", "and");
    written.push(word.startsWith("L@") ? withoutRepeats(word) : word);
  }
  if (written.length <= targetTermsMax) return written.join(" ");
  throw new SaltworksError("TARGET_INVALID", `more than ${targetTermsMax} words in the form that old minions read`, {
    isRefused: true,
  });
}

function withoutRepeats(word: string): string {
  const names = word.slice(2).split(",");
  const distinct = new Set(names);
  return distinct.size === names.length ? word : `L@${[...distinct].join(",")}`;
}
