/** A call's arguments as the function gets them, for decisions about the call: positional ones apart from named ones. */
import { keywordWord, parseWord } from "../../config/yaml/word.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";

/** Marks a map among the arguments that holds named ones. */
const keywordMark = "__kwarg__";

export type CallArguments = { readonly args: readonly Value[]; readonly kwargs: ValueMap };

/**
 * Marked maps count in any place, and a later value of a name replaces an earlier one. `readsWords`: texts such as `cwd=/srv` are named
 * arguments, as for minions. For runner and wheel functions they are texts.
 */
export function callArguments(sent: readonly Value[], named: ValueMap | undefined, readsWords: boolean): CallArguments {
  const args: Value[] = [];
  const kwargs: ValueMap = new Map(named);
  for (const value of sent) {
    const keyword = readsWords && typeof value === "string" ? keywordWord(value) : undefined;
    if (keyword !== undefined)
      kwargs.set(
        keyword.name,
        parseWord(keyword.word, (number) => new Float(number)),
      );
    else if (value instanceof Map && value.get(keywordMark) === true)
      for (const [name, member] of value) kwargs.set(name, member);
    else args.push(value);
  }
  kwargs.delete(keywordMark);
  return { args, kwargs };
}

/** The arguments as Salt's master decides about them: a marked map at the end holds the named ones, and texts are texts. */
export function argumentsAsSent(sent: readonly Value[]): CallArguments {
  const last = sent.at(-1);
  return last instanceof Map && last.has(keywordMark)
    ? { args: sent.slice(0, -1), kwargs: last }
    : { args: sent, kwargs: new Map() };
}
