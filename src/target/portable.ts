/**
 * The form of a compound target that minions of every release since 2014.1 read alike. Source: docs/protocol.md section 12.3: old ones lose a parenthesis that
 * stands first, take no `not` at the start or behind a parenthesis, and take no list of words. `* and` in front of it says the same to all.
 */
import { SaltworksError } from "../errors.ts";
import { targetTermsMax } from "../limits.ts";
import { wordsOf } from "./nodegroups.ts";

/**
 * Only what older minions would read differently is changed: all else goes out as it was asked for.
 *
 * @throws SaltworksError TARGET_INVALID where that makes it longer than minions take
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
