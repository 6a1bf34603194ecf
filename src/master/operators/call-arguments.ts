/** Splits a call's arguments into positional and named ones, as the function will get them, for decisions about the call. */
import { keywordWord } from "../../config/yaml/word.ts";
import { wordValue } from "../../python/word.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** A map with this key among the arguments holds named arguments. */
const keywordMark = "__kwarg__";

export type CallArguments = { readonly args: readonly Value[]; readonly kwargs: ValueMap };

/**
 * Marked maps count in any place, and a later value of a name replaces an earlier one. `readsWords`: texts such as `cwd=/srv` are named
 * arguments, as in minions. In runner and wheel functions they are plain texts.
 */
export function callArguments(sent: readonly Value[], named: ValueMap | undefined, readsWords: boolean): CallArguments {
  const args: Value[] = [];
  const kwargs: ValueMap = new Map(named);
  for (const value of sent) {
    const keyword = readsWords && typeof value === "string" ? keywordWord(value) : undefined;
    if (keyword !== undefined) kwargs.set(keyword.name, wordValue(keyword.word));
    else if (value instanceof Map && value.get(keywordMark) === true)
      for (const [name, member] of value) kwargs.set(name, member);
    else args.push(value);
  }
  kwargs.delete(keywordMark);
  return { args, kwargs };
}

/** The arguments as Salt's master reads them for its decisions: only a marked map at the end holds named ones, and texts are texts. */
export function argumentsAsSent(sent: readonly Value[]): CallArguments {
  const last = sent.at(-1);
  return last instanceof Map && last.has(keywordMark)
    ? { args: sent.slice(0, -1), kwargs: last }
    : { args: sent, kwargs: new Map() };
}
