/** Reads the query of a request: names that the route knows, each once. */
import { ApiError } from "./errors.ts";

export type Query = { readonly [name: string]: string | readonly string[] | undefined };

/** @throws ApiError 400 for another name, or a name that comes twice */
export function textsIn<Name extends string>(query: Query, known: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const [name, value] of Object.entries(query)) {
    const isKnown = known.some((one) => one === name);
    if (!isKnown)
      throw new ApiError("ARGUMENT_INVALID", `'${name.slice(0, 100)}' is unknown here; known are ${known.join(", ")}`);
    if (typeof value !== "string") throw new ApiError("ARGUMENT_INVALID", `'${name}' is given more than once`);
    if (value !== "") found[name as Name] = value;
  }
  return found;
}

/** @throws ApiError 400 unless the text is a whole number in the bounds */
export function countIn(
  name: string,
  text: string | undefined,
  bounds: { readonly usual: number; readonly most: number },
): number {
  if (text === undefined) return bounds.usual;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > bounds.most)
    throw new ApiError("ARGUMENT_INVALID", `'${name}' is a whole number from 1 to ${bounds.most}`);
  return count;
}

/** @throws ApiError 400 for a text that is not one of the choices */
export function choiceIn<Choice extends string>(
  name: string,
  text: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  const choice = choices.find((one) => one === text);
  if (text !== undefined && choice === undefined)
    throw new ApiError("ARGUMENT_INVALID", `'${name}' is one of ${choices.join(", ")}`);
  return choice;
}
